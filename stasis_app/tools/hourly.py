"""So many in any hour, and no more. Pure: the time is an argument."""

from collections import deque
from collections.abc import Hashable

_HOUR_S = 3600.0


class Hourly:
    """Counts what was done, and what is about to be."""

    def __init__(self) -> None:
        self._done: deque[float] = deque()
        self._held: set[Hashable] = set()

    def hold(self, who: Hashable, most: int, now: float) -> bool:
        """A place for `who`, until `done` or `let_go`; False when there is none."""
        while self._done and now - self._done[0] >= _HOUR_S:
            self._done.popleft()
        if who not in self._held and len(self._done) + len(self._held) >= most:
            return False
        self._held.add(who)
        return True

    def done(self, who: Hashable, now: float) -> None:
        self._held.discard(who)
        self._done.append(now)

    def let_go(self, who: Hashable) -> None:
        """It came to nothing. Does nothing for one that holds no place."""
        self._held.discard(who)
