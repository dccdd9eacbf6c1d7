"""Which recordings have been kept long enough. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of one call: its name, the size of its files, and when the last of them was written [s]."""

    name: str
    size: int
    written: float


LIVE_S = 60.0
"""One that was written to so short a time ago is of a call that goes on, of this process or another: it stays."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What is over any of the three goes, the oldest first, but none of a call that goes on."""

    max_calls: int
    max_age_s: float
    max_bytes: int

    def over(self, kept: Iterable[Kept], now: float) -> list[str]:
        """Names of those to remove at `now`, on the clock of `written`."""
        gone: list[str] = []
        size = 0
        for number, one in enumerate(sorted(kept, key=lambda one: one.written, reverse=True), 1):
            size += one.size
            old_s = now - one.written
            if old_s > LIVE_S and (
                number > self.max_calls or size > self.max_bytes or old_s > self.max_age_s
            ):
                gone.append(one.name)
        return gone

    def is_full(self, kept: Iterable[Kept], now: float) -> bool:
        """Whether the calls that go on leave no room for another one."""
        live = [one for one in kept if now - one.written <= LIVE_S]
        return len(live) >= self.max_calls or sum(one.size for one in live) >= self.max_bytes
