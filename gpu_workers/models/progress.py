"""Lines that tell how far a download is."""

from collections.abc import Callable

_STEP_PERCENT = 10


class Progress:
    """Says a line at every tenth of `total` bytes."""

    def __init__(self, what: str, total: int, say: Callable[[str], None]) -> None:
        self._what = what
        self._total = max(total, 1)
        self._say = say
        self._told = 0

    def reached(self, done: int) -> None:
        """`done` bytes of the total are here by now; it may be called as often as one likes."""
        percent = min(100, done * 100 // self._total)
        if percent >= self._told + _STEP_PERCENT:
            self._told = percent - percent % _STEP_PERCENT
            self._say(
                f"{self._what}: {megabytes(min(done, self._total))} of {megabytes(self._total)} ({percent} %)"
            )


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 10_000_000 else f"{size / 1e6:.0f} MB"
