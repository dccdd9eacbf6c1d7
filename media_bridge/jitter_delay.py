"""How long a packet has to be able to wait for the ones before it.

A packet's *transit* is its arrival minus its timestamp. The least of the last seconds is the network at its
best; what nearly all packets needed beyond that is what the target rises to.
"""

from bisect import bisect_left, insort
from collections import deque

from media_bridge.settings import JitterSettings

# transits are remembered this long: what the target needs to fall back after a calm
_WINDOW_S = 5.0
_MAX_TRANSITS = 1024
# so many are remembered longer: in a long pause the last few would else be all there is to go by
_MIN_TRANSITS = 50
# one packet in so many may come too late
_ALLOWED_LATE = 150
# the playhead may be this much too early before it slips
_MARGIN_S = 0.010


class DelayTarget:
    """All times in seconds; only differences between transits mean anything."""

    def __init__(self, settings: JitterSettings) -> None:
        self._min_s = settings.min_ms / 1000
        self.max_s = max(settings.min_ms, settings.max_ms) / 1000
        self.target_s = self._min_s
        self.best_transit_s: float | None = None
        self._transits: deque[tuple[float, float]] = deque()
        # the same transits by size: kept, not made anew for each aim
        self._ordered: list[float] = []

    def remember(self, transit_s: float, now: float) -> None:
        """A packet arrived at `now`, however late."""
        if len(self._transits) >= _MAX_TRANSITS:
            self._forget(self._transits.popleft())
        self._transits.append((now, transit_s))
        insort(self._ordered, transit_s)
        if self.best_transit_s is None or transit_s < self.best_transit_s:
            self.best_transit_s = transit_s

    def forget_since(self, since: float) -> None:
        """The packets from this instant on were measured against a time base that no longer holds."""
        while self._transits and self._transits[-1][0] >= since:
            self._forget(self._transits.pop())

    def aim(self, now: float) -> None:
        """Set the target by what the window needed; without packets it stays."""
        while len(self._transits) > _MIN_TRANSITS and self._transits[0][0] < now - _WINDOW_S:
            self._forget(self._transits.popleft())
        if not self._transits:
            return
        ordered = self._ordered
        self.best_transit_s = ordered[0]
        by_nearly_all = self._limited(ordered[-1 - len(ordered) // _ALLOWED_LATE] - ordered[0])
        by_all = self._limited(ordered[-1] - ordered[0])
        # it rises by what nearly all need and falls when none needs it: with a few late ones every few seconds it would
        # else go up and down, and each way up costs a concealed frame
        self.target_s = min(max(self.target_s, by_nearly_all), by_all)

    def _limited(self, needed_s: float) -> float:
        return min(max(needed_s + _MARGIN_S, self._min_s), self.max_s)

    def _forget(self, remembered: tuple[float, float]) -> None:
        del self._ordered[bisect_left(self._ordered, remembered[1])]
