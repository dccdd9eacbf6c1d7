"""Packet loss concealment after ITU-T G.711 Appendix I: repeat the last pitch period and let it fade.

Unlike the Appendix it adds no delay. That keeps 3.75 ms back to smooth the last good samples; here the step
from the last good sample to the repetition is carried on and fades over 3.75 ms.
"""

import numpy as np
from numpy.typing import NDArray

FRAME_SAMPLES = 160

_Samples = NDArray[np.float32]

# pitch of 66 to 200 Hz at 8 kHz (Appendix I, I.2.2)
_MIN_PITCH = 40
_MAX_PITCH = 120
_CORRELATED = 160
_OVERLAP = 30
_HISTORY = 3 * _MAX_PITCH + _OVERLAP
_HISTORY_BYTES = 2 * _HISTORY

# full for 10 ms, nothing after 60 ms
_FADE_FROM = 80
_FADE_UNTIL = 480
# the way back is blended over 3.75 ms, and 4 ms more for each 10 ms lost, 10 ms at most
_RETURN_STEP = 32
_RETURN_MAX = 80


class Concealer:
    """One for each direction of a call: every frame of 20 ms goes through `good` or `lost`."""

    def __init__(self) -> None:
        self._history = b""
        self._lost_samples = 0
        self._history_at_loss: _Samples = np.zeros(0, np.float32)
        self._pitch = _MIN_PITCH

    def good(self, pcm: bytes) -> bytes:
        """A frame that arrived, as it is; blended at its start if it is the first after a loss."""
        if self._lost_samples:
            pcm = self._blend_in(pcm)
            self._lost_samples = 0
        self._history = (self._history + pcm)[-_HISTORY_BYTES:]
        return pcm

    def lost(self) -> bytes:
        """A frame in place of one that did not arrive: fading speech, silence once 60 ms are gone."""
        if not self._lost_samples:
            self._begin_loss()
        made = self._synthesise(self._lost_samples, FRAME_SAMPLES)
        if not self._lost_samples:
            step = self._history_at_loss[-1] - self._history_at_loss[-1 - self._pitch]
            made[:_OVERLAP] += step * np.linspace(1.0, 0.0, _OVERLAP, endpoint=False, dtype=np.float32)
        self._lost_samples += FRAME_SAMPLES
        pcm = _to_pcm(made)
        self._history = (self._history + pcm)[-_HISTORY_BYTES:]
        return pcm

    def _begin_loss(self) -> None:
        known = np.frombuffer(self._history, "<i2").astype(np.float32)
        self._history_at_loss = np.concatenate([np.zeros(_HISTORY - len(known), np.float32), known])
        self._pitch = _pitch_of(self._history_at_loss)

    def _blend_in(self, pcm: bytes) -> bytes:
        real = np.frombuffer(pcm, "<i2").astype(np.float32)
        blended = min(_OVERLAP + _RETURN_STEP * (self._lost_samples // 80), _RETURN_MAX, len(real))
        made = self._synthesise(self._lost_samples, blended)
        real[:blended] = _cross_fade(made, real[:blended])
        return _to_pcm(real)

    def _synthesise(self, start: int, samples: int) -> _Samples:
        """Samples `start` to `start + samples` of the gap."""
        if start >= _FADE_UNTIL:
            return np.zeros(samples, np.float32)
        at = np.arange(start, start + samples)
        gain = np.clip((_FADE_UNTIL - at) / (_FADE_UNTIL - _FADE_FROM), 0.0, 1.0).astype(np.float32)
        return self._repeat(at) * gain

    def _repeat(self, at: NDArray[np.int_]) -> _Samples:
        """One pitch period for 10 ms, then two, then three, so that a long gap does not hum."""
        result = self._cycle(1)[at % self._pitch]
        for periods, since in ((2, 80), (3, 160)):
            if at[-1] >= since:
                more = self._cycle(periods)[at % (periods * self._pitch)]
                weight = np.clip((at - since) / _OVERLAP, 0.0, 1.0).astype(np.float32)
                result = result * (1 - weight) + more * weight
        return result

    def _cycle(self, periods: int) -> _Samples:
        """The last periods, their end bent so that it runs into their beginning."""
        length = periods * self._pitch
        cycle = self._history_at_loss[-length:].copy()
        before = self._history_at_loss[-length - _OVERLAP : -length]
        cycle[-_OVERLAP:] = _cross_fade(cycle[-_OVERLAP:], before)
        return cycle


def _cross_fade(out: _Samples, into: _Samples) -> _Samples:
    weight = np.linspace(0.0, 1.0, len(into) + 2, dtype=np.float32)[1:-1]
    return out * (1 - weight) + into * weight


def _pitch_of(history: _Samples) -> int:
    """The lag, 40 to 120 samples, at which the last 20 ms resemble what came before most."""
    recent = history[-_CORRELATED:]
    past = np.lib.stride_tricks.sliding_window_view(
        history[-_CORRELATED - _MAX_PITCH : -_MIN_PITCH], _CORRELATED
    )
    energy = np.einsum("ij,ij->i", past, past)
    likeness = past @ recent / np.sqrt(np.maximum(energy, 1.0))
    return _MAX_PITCH - int(np.argmax(likeness))


def _to_pcm(samples: _Samples) -> bytes:
    return np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes()
