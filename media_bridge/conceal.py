"""Packet loss concealment after ITU-T G.711 Appendix I: repeat the last pitch period and let it fade.

Unlike the Appendix it adds no delay. That keeps 3.75 ms back to smooth the last good samples; here the step
from the last good sample to the repetition is carried on and fades over 3.75 ms.
"""

import numpy as np
from numpy.typing import NDArray

_Samples = NDArray[np.float32]

# all in samples at 8 kHz
_RATE = 8000
_FRAME = 160
_TEN_MS = 80
# pitch of 66 to 200 Hz (Appendix I, I.2.2)
_MIN_PITCH = 40
_MAX_PITCH = 120
_CORRELATED = 160
_OVERLAP = 30
_HISTORY = 3 * _MAX_PITCH + _OVERLAP

# full for 10 ms, nothing after 60 ms
_FADE_FROM = _TEN_MS
_FADE_UNTIL = 6 * _TEN_MS
# the way back is blended over 3.75 ms, and 4 ms more for each 10 ms lost after the first, 10 ms at most
_RETURN_STEP = 32
_RETURN_MAX = 80


class Concealer:
    """One for each direction of a call: every frame of 20 ms goes through `good` or `lost`.

    `rate` is that of the pcm: 8000 or a multiple of it.
    """

    def __init__(self, rate: int = _RATE) -> None:
        self._scale = rate // _RATE
        self._overlap = _OVERLAP * self._scale
        self._history_bytes = 2 * _HISTORY * self._scale
        self._history = b""
        self._lost_samples = 0
        self._history_at_loss: _Samples = np.zeros(0, np.float32)
        self._pitch = _MIN_PITCH * self._scale

    def good(self, pcm: bytes) -> bytes:
        """A frame that arrived, as it is; blended at its start if it is the first after a loss."""
        if self._lost_samples:
            pcm = self._blend_in(pcm)
            self._lost_samples = 0
        self._history = (self._history + pcm)[-self._history_bytes :]
        return pcm

    def lost(self) -> bytes:
        """A frame in place of one that did not arrive: fading speech, silence once 60 ms are gone."""
        if not self._lost_samples:
            self._begin_loss()
        made = self._synthesise(self._lost_samples, _FRAME * self._scale)
        if not self._lost_samples:
            step = self._history_at_loss[-1] - self._history_at_loss[-1 - self._pitch]
            made[: self._overlap] += step * np.linspace(
                1.0, 0.0, self._overlap, endpoint=False, dtype=np.float32
            )
        self._lost_samples += len(made)
        pcm = _to_pcm(made)
        self._history = (self._history + pcm)[-self._history_bytes :]
        return pcm

    def _begin_loss(self) -> None:
        known = np.frombuffer(self._history, "<i2").astype(np.float32)
        missing = self._history_bytes // 2 - len(known)
        self._history_at_loss = np.concatenate([np.zeros(missing, np.float32), known])
        self._pitch = _pitch_of(self._history_at_loss, self._scale)

    def _blend_in(self, pcm: bytes) -> bytes:
        real = np.frombuffer(pcm, "<i2").astype(np.float32)
        tens = self._lost_samples // (_TEN_MS * self._scale)
        blended = min(self._scale * min(_OVERLAP + _RETURN_STEP * (tens - 1), _RETURN_MAX), len(real))
        made = self._synthesise(self._lost_samples, blended)
        real[:blended] = _cross_fade(made, real[:blended])
        return _to_pcm(real)

    def _synthesise(self, start: int, samples: int) -> _Samples:
        """Samples `start` to `start + samples` of the gap."""
        fade_from, fade_until = _FADE_FROM * self._scale, _FADE_UNTIL * self._scale
        if start >= fade_until:
            return np.zeros(samples, np.float32)
        at = np.arange(start, start + samples)
        gain = np.clip((fade_until - at) / (fade_until - fade_from), 0.0, 1.0).astype(np.float32)
        return self._repeat(at) * gain

    def _repeat(self, at: NDArray[np.int_]) -> _Samples:
        """One pitch period for 10 ms, then two, then three, so that a long gap does not hum."""
        result = self._cycle(1)[at % self._pitch]
        for periods, since in ((2, _TEN_MS * self._scale), (3, 2 * _TEN_MS * self._scale)):
            if at[-1] >= since:
                more = self._cycle(periods)[at % (periods * self._pitch)]
                weight = np.clip((at - since) / self._overlap, 0.0, 1.0).astype(np.float32)
                result = result * (1 - weight) + more * weight
        return result

    def _cycle(self, periods: int) -> _Samples:
        """The last periods, their end bent so that it runs into their beginning."""
        length = periods * self._pitch
        cycle = self._history_at_loss[-length:].copy()
        before = self._history_at_loss[-length - self._overlap : -length]
        cycle[-self._overlap :] = _cross_fade(cycle[-self._overlap :], before)
        return cycle


def _cross_fade(out: _Samples, into: _Samples) -> _Samples:
    weight = np.linspace(0.0, 1.0, len(into) + 2, dtype=np.float32)[1:-1]
    return out * (1 - weight) + into * weight


def _pitch_of(history: _Samples, scale: int) -> int:
    """The lag, 5 to 15 ms, at which the last 20 ms resemble what came before most."""
    correlated, longest, shortest = _CORRELATED * scale, _MAX_PITCH * scale, _MIN_PITCH * scale
    recent = history[-correlated:]
    past = np.lib.stride_tricks.sliding_window_view(history[-correlated - longest : -shortest], correlated)
    energy = np.einsum("ij,ij->i", past, past)
    likeness = past @ recent / np.sqrt(np.maximum(energy, 1.0))
    return longest - int(np.argmax(likeness))


def _to_pcm(samples: _Samples) -> bytes:
    return np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes()
