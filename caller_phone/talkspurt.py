"""Where in a stream of packets somebody is heard. Pure.

Sound is judged in frames of 10 ms. The threshold follows the line's own noise: 10 dB above the quietest tenth of what
was heard lately, never below -48 dBFS (the corpus under test has a floor of -66 dBFS, speech at -20) and never above
-38 dBFS, so neither comfort noise nor a bot that never pauses fools it.
"""

import math
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from caller_phone.g711 import Samples
from caller_phone.rtp import SAMPLE_RATE

FRAME_SAMPLES = 80
JOIN_MS = 300.0
_LOWEST_DBFS = -48.0
_HIGHEST_DBFS = -38.0
_ABOVE_NOISE_DB = 10.0
_NOISE_PERCENTILE = 10.0
_SILENT_POWER = 1e-10
_FULL_SCALE = 32768.0
# less sound than this is a click, not speech
_MIN_SOUND_MS = 40.0
# how much of the past tells the noise of a live call, and how often it is judged anew
_LIVE_FRAMES = 500
_LIVE_STEP = 50


@dataclass(slots=True)
class Talkspurt:
    """First and last audible sample; pauses shorter than the join time are inside."""

    start_s: float
    end_s: float
    sound_ms: float


def levels_dbfs(samples: Samples) -> list[float]:
    """The RMS level of each 10 ms frame; a last shorter frame counts as one."""
    whole = len(samples) // FRAME_SAMPLES * FRAME_SAMPLES
    frames = samples[:whole].astype(np.float64).reshape(-1, FRAME_SAMPLES)
    powers: list[float] = (np.einsum("ij,ij->i", frames, frames) / FRAME_SAMPLES).tolist()
    if whole < len(samples):
        rest = samples[whole:].astype(np.float64)
        powers.append(float(rest @ rest) / len(rest))
    return [10 * math.log10(max(power / _FULL_SCALE**2, _SILENT_POWER)) for power in powers]


def audible_dbfs(levels: Collection[float]) -> float:
    """The level from which a frame is heard as sound, among these frames."""
    if not levels:
        return _LOWEST_DBFS
    noise = float(np.percentile(np.fromiter(levels, np.float64), _NOISE_PERCENTILE))
    return min(max(_LOWEST_DBFS, noise + _ABOVE_NOISE_DB), _HIGHEST_DBFS)


def voiced_bounds(samples: Samples) -> tuple[int, int] | None:
    """First and last audible sample of a recording (indices, both inside); None for silence."""
    # also a click counts here: it is what the caller sends
    finder = TalkspurtFinder(math.inf, min_sound_ms=0.0)
    levels = levels_dbfs(samples)
    finder.hear(0.0, samples, levels, audible_dbfs(levels))
    if not finder.spurts:
        return None
    spurt = finder.spurts[0]
    return round(spurt.start_s * SAMPLE_RATE), round(spurt.end_s * SAMPLE_RATE)


class TalkspurtFinder:
    """Takes sound in the order it is heard and keeps the talkspurts."""

    def __init__(self, join_ms: float = JOIN_MS, min_sound_ms: float = _MIN_SOUND_MS) -> None:
        self._join_s = join_ms / 1000
        self._min_sound_ms = min_sound_ms
        self._spurts: list[Talkspurt] = []

    @property
    def spurts(self) -> list[Talkspurt]:
        return [spurt for spurt in tuple(self._spurts) if spurt.sound_ms >= self._min_sound_ms]

    def hear(self, at_s: float, samples: Samples, levels: Iterable[float], threshold_dbfs: float) -> None:
        """`samples` are heard from the instant `at_s` on; `levels` are theirs."""
        amplitude = 10 ** (threshold_dbfs / 20) * _FULL_SCALE
        for index, level in enumerate(levels):
            if level < threshold_dbfs:
                continue
            start = index * FRAME_SAMPLES
            frame = samples[start : start + FRAME_SAMPLES]
            # a frame at the threshold has at least one sample as loud as its RMS (a hair less after rounding)
            loud = np.flatnonzero(np.abs(frame.astype(np.int32)) >= amplitude - 1)
            first, last = (start + int(loud[0])), (start + int(loud[-1]))
            self._add(at_s + first / SAMPLE_RATE, at_s + last / SAMPLE_RATE, 1000 * len(frame) / SAMPLE_RATE)

    def _add(self, start_s: float, end_s: float, sound_ms: float) -> None:
        if self._spurts and start_s - self._spurts[-1].end_s < self._join_s:
            spurt = self._spurts[-1]
            spurt.end_s = max(spurt.end_s, end_s)
            spurt.sound_ms += sound_ms
            return
        if self._spurts and self._spurts[-1].sound_ms < self._min_sound_ms:
            self._spurts.pop()
        self._spurts.append(Talkspurt(start_s, end_s, sound_ms))


class LiveEar:
    """The same judgement while the call runs: the noise is that of the last five seconds."""

    def __init__(self) -> None:
        self._finder = TalkspurtFinder()
        self._recent: deque[float] = deque(maxlen=_LIVE_FRAMES)
        self._threshold = _LOWEST_DBFS
        self._unjudged = 0

    def hear(self, at_s: float, samples: Samples) -> None:
        levels = levels_dbfs(samples)
        self._recent.extend(levels)
        self._unjudged += len(levels)
        if self._unjudged >= _LIVE_STEP:
            self._unjudged = 0
            self._threshold = audible_dbfs(self._recent)
        self._finder.hear(at_s, samples, levels, self._threshold)

    def last_audible_s(self) -> float | None:
        spurts = self._finder.spurts
        return spurts[-1].end_s if spurts else None

    def audible_after(self, since_s: float, began_after_s: float) -> float | None:
        """The first instant after `since_s` with sound of a talkspurt that began after `began_after_s`; None so far."""
        return next(
            (
                max(spurt.start_s, since_s)
                for spurt in self._finder.spurts
                if spurt.end_s > since_s and spurt.start_s > began_after_s
            ),
            None,
        )
