"""Where speech begins in synthesised sound: a voice puts 50-60 ms of quiet in front, and the caller waits for it."""

from typing import Final

import numpy as np

_QUIET: Final = 0.01 * 32767  # -40 dBFS
_BLOCK_MS: Final = 5
_KEPT_MS: Final = 15  # a soft first consonant is quieter than the limit
_FADE_MS: Final = 5


def without_leading_quiet(pcm: bytes, rate: int) -> bytes:
    """`pcm` (mono s16le at `rate`) from shortly before its first sound; all of it if there is none."""
    samples = np.frombuffer(pcm, "<i2")
    block = rate * _BLOCK_MS // 1000
    blocks = samples[: len(samples) // block * block].reshape(-1, block).astype(np.float32)
    loud = np.flatnonzero(np.sqrt(np.mean(np.square(blocks), axis=1)) > _QUIET)
    if loud.size == 0:
        return pcm
    start = max(0, int(loud[0]) * block - rate * _KEPT_MS // 1000)
    if start == 0:
        return pcm
    rest = samples[start:].copy()
    fade = rate * _FADE_MS // 1000
    rest[:fade] = (rest[:fade] * np.linspace(0, 1, fade)).astype(np.int16)
    return rest.tobytes()
