"""Whether the process has more calls than its media clock can serve. Pure.

The ticks of all calls have to fit into the time, with room for what else runs in the process: the voices that are
fetched, the turns, Asterisk's events. When that room is gone voices starve, so it is watched and not the harm itself.
Ticks that had to be left out are watched too, for the machine may be what is too slow.

Both have to last, for one stall is no overload, and the way back is longer and begins lower than the way in, for a
process that has just got rid of a call shall not take the next one at once.

A burst of new calls is over before their load is seen. So a newcomer is also weighed beforehand: what the running calls
take, and for each one that has come since as much as a call has been seen to take.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

# of the time: the ticks took so much, ticks of so much were left out
BUSY_FROM, BUSY_BELOW = 0.75, 0.6
SKIPPED_FROM, SKIPPED_BELOW = 0.10, 0.01
# looked at once a second: so many in a row
BUSY_FOR, SKIPPED_FOR, CALM_FOR = 3, 5, 5


# what a call takes is told from so many at least: a few carry the clock's own wake-ups among themselves
FEWEST_CALLS = 8
# whatever else the machine does adds to what is measured and never takes away: the least of so many seconds is right
SECONDS_KEPT = 5
# of the time, until it is known: benchmarks/results/media.md
USUAL_SHARE = 0.004


@dataclass(frozen=True, slots=True)
class Load:
    """Of the media clock within a second or so: both are shares of the time, 0 to 1. `calls`: how many it had, on
    average.
    """

    busy: float
    skipped: float
    calls: float = 0.0


def _is_busy(load: Load) -> bool:
    return load.busy >= BUSY_FROM


def _is_late(load: Load) -> bool:
    return load.skipped >= SKIPPED_FROM


def _is_calm(load: Load) -> bool:
    return load.busy < BUSY_BELOW and load.skipped < SKIPPED_BELOW


def _is_whole(load: Load) -> bool:
    """What was left out took no time: such a second looks cheaper than it is."""
    return load.skipped < SKIPPED_BELOW


class Overload:
    """`observe` the load once a second."""

    def __init__(self) -> None:
        self._latest: deque[Load] = deque(maxlen=max(BUSY_FOR, SKIPPED_FOR, CALM_FOR, SECONDS_KEPT))
        self._shares: deque[float] = deque(maxlen=SECONDS_KEPT)
        self.on = False
        """The calls that run are too many, or just were."""

    def has_room(self, calls: int) -> bool:
        """Whether one more may come to `calls` that were taken and have not ended, measured or not."""
        return not self.on and self.expected(calls + 1) < BUSY_FROM

    def expected(self, calls: int) -> float:
        """The share of the time that so many would take."""
        share = min(self._shares, default=USUAL_SHARE)
        latest = list(self._latest)[-SECONDS_KEPT:]
        whole = [load for load in latest if _is_whole(load)]

        def with_newcomers(load: Load) -> float:
            return load.busy + (calls - load.calls) * share

        # where each second was cut short, the most that was seen is still too little
        return (
            min(map(with_newcomers, whole)) if whole else max(calls * share, *map(with_newcomers, latest), 0)
        )

    def observe(self, load: Load) -> bool:
        """True if `on` has changed."""
        self._latest.append(load)
        if load.calls >= FEWEST_CALLS and _is_whole(load):
            self._shares.append(load.busy / load.calls)
        before = self.on
        if self.on:
            self.on = not self._all(CALM_FOR, _is_calm)
        else:
            self.on = self._all(BUSY_FOR, _is_busy) or self._all(SKIPPED_FOR, _is_late)
        return self.on != before

    def _all(self, seconds: int, holds: Callable[[Load], bool]) -> bool:
        latest = list(self._latest)[-seconds:]
        return len(latest) == seconds and all(map(holds, latest))
