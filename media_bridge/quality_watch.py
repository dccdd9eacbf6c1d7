"""A call's quality over its whole time, and in its worst moment. Pure."""

from collections import deque
from dataclasses import dataclass, replace

from media_bridge.quality import Quality, quality
from media_bridge.settings import Codec
from media_bridge.stats import TransportStats

SAMPLE_S = 1.0
"""So often a call is looked at."""
_WINDOW = 10
# less sound than this in a window says nothing: 2 s of it
_LEAST_DUE = 100


@dataclass(frozen=True, slots=True)
class CallQuality:
    """`whole` is of the whole call, its delay the mean; `worst` is of its worst 10 s, the whole call if it was shorter.

    `jitter_ms` is the mean of the samples, over RTP only, and `most_jitter_ms` the greatest.
    """

    whole: Quality
    worst: Quality
    jitter_ms: float
    most_jitter_ms: float


class QualityWatch:
    """`sample` a call's counts every second from when the caller is heard on; `result` at its end."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._latest: deque[TransportStats] = deque([TransportStats()], maxlen=_WINDOW + 1)
        self._samples = 0
        self._delay_sum = 0.0
        self._jitter_sum = 0.0
        self._most_jitter_ms = 0.0
        self._worst: Quality | None = None

    def sample(self, stats: TransportStats) -> None:
        """The counts since the call began."""
        self._samples += 1
        self._delay_sum += stats.delay_ms
        self._jitter_sum += stats.jitter_ms
        self._most_jitter_ms = max(self._most_jitter_ms, stats.jitter_ms)
        self._latest.append(stats)
        if len(self._latest) > _WINDOW:
            self._worst = _worse(self._worst, self._rate_window())

    def result(self, stats: TransportStats) -> CallQuality | None:
        """None when nothing was heard."""
        samples = max(1, self._samples)
        delay_ms = self._delay_sum / samples if self._samples else stats.delay_ms
        whole = quality(replace(stats, delay_ms=delay_ms), self._codec)
        if whole is None:
            return None
        jitter_ms = self._jitter_sum / samples if self._samples else stats.jitter_ms
        worst = _worse(whole, self._worst) or whole
        return CallQuality(whole, worst, jitter_ms, max(self._most_jitter_ms, jitter_ms))

    def _rate_window(self) -> Quality | None:
        first, last = self._latest[0], self._latest[-1]
        due = last.due - first.due
        if due < _LEAST_DUE:
            return None
        within = [stats.delay_ms for stats in self._latest][1:]
        window = TransportStats(
            packets_in=last.packets_in,
            due=due,
            # a packet that was out of order when the window began may have come since
            missed=max(0, last.missed - first.missed),
            missed_runs=max(0, last.missed_runs - first.missed_runs),
            delay_ms=sum(within) / len(within),
        )
        return quality(window, self._codec)


def _worse(one: Quality | None, other: Quality | None) -> Quality | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda rated: rated.rating)
