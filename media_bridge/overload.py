"""Whether the process has more calls than its media clock can serve. Pure.

The ticks of all calls have to fit into the time, with room for what else runs in the process: the voices that are
fetched, the turns, Asterisk's events. When that room is gone voices starve, so it is watched and not the harm itself.
Ticks that had to be left out are watched too, for the machine may be what is too slow.

Both have to last, for one stall is no overload, and the way back is longer and begins lower than the way in, for a
process that has just got rid of a call shall not take the next one at once.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

# of the time: the ticks took so much, ticks of so much were left out
BUSY_FROM, BUSY_BELOW = 0.75, 0.6
SKIPPED_FROM, SKIPPED_BELOW = 0.10, 0.01
# looked at once a second: so many in a row
BUSY_FOR, SKIPPED_FOR, CALM_FOR = 3, 5, 5


@dataclass(frozen=True, slots=True)
class Load:
    """Of the media clock within a second or so: both are shares of the time, 0 to 1."""

    busy: float
    skipped: float


def _is_busy(load: Load) -> bool:
    return load.busy >= BUSY_FROM


def _is_late(load: Load) -> bool:
    return load.skipped >= SKIPPED_FROM


def _is_calm(load: Load) -> bool:
    return load.busy < BUSY_BELOW and load.skipped < SKIPPED_BELOW


class Overload:
    """`observe` the load once a second."""

    def __init__(self) -> None:
        self._latest: deque[Load] = deque(maxlen=max(BUSY_FOR, SKIPPED_FOR, CALM_FOR))
        self.on = False
        """No further call should be taken."""

    def observe(self, load: Load) -> bool:
        """True if `on` has changed."""
        self._latest.append(load)
        before = self.on
        if self.on:
            self.on = not self._all(CALM_FOR, _is_calm)
        else:
            self.on = self._all(BUSY_FOR, _is_busy) or self._all(SKIPPED_FOR, _is_late)
        return self.on != before

    def _all(self, seconds: int, holds: Callable[[Load], bool]) -> bool:
        latest = list(self._latest)[-seconds:]
        return len(latest) == seconds and all(map(holds, latest))
