"""Which recordings have been kept long enough. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of one call: its name, the size of its files, and when the last of them was written [s]."""

    name: str
    size: int
    written: float


@dataclass(frozen=True, slots=True)
class Retention:
    """What is over any of the three goes, the oldest first."""

    max_calls: int
    max_age_s: float
    max_bytes: int

    def over(self, kept: Iterable[Kept], now: float) -> list[str]:
        """Names of those to remove at `now`, on the clock of `written`."""
        gone: list[str] = []
        size = 0
        for number, one in enumerate(sorted(kept, key=lambda one: one.written, reverse=True), 1):
            size += one.size
            if number > self.max_calls or size > self.max_bytes or now - one.written > self.max_age_s:
                gone.append(one.name)
        return gone
