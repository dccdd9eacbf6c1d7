"""Whisper's log-mel spectrogram of an utterance, and of the quiet behind it that fills its window. Pure."""

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_workers.stt.audio import WHISPER_RATE, Samples

HOP: Final = 160
_QUIET: Final = 400
"""Samples of a frame: behind so many zeros no frame holds any sound."""


class LogMel(Protocol):
    """faster-whisper's `FeatureExtractor`."""

    def __call__(self, waveform: Samples, padding: int) -> NDArray[np.float32]: ...


def features(log_mel: LogMel, samples: Samples, window_s: float) -> NDArray[np.float32]:
    """[mels, frames] of `window_s`: `samples`, then digital silence.

    Every silent frame is the same, so it is computed once and not for seconds. Filled is the sound and not the
    spectrogram (where 0 is no silence): so the no-speech probability of noise stays well apart from that of speech.
    """
    frames = int(window_s * WHISPER_RATE) // HOP
    sound = samples[: frames * HOP]
    heard = log_mel(np.pad(sound, (0, 2 * _QUIET)), padding=0)[:, :frames]
    silent = np.repeat(heard[:, -1:], frames - heard.shape[1], axis=1)
    return np.ascontiguousarray(np.concatenate([heard, silent], axis=1), np.float32)
