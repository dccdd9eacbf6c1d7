"""How loud a piece of sound is."""

import math

import numpy as np
from numpy.typing import NDArray

SILENCE_DBFS = -96.0
_FULL_SCALE = 32768.0


def level_dbfs(pcm: bytes) -> float:
    """The RMS of pcm in dB below full scale; SILENCE_DBFS at least, and for no samples."""
    count = len(pcm) // 2
    if not count:
        return SILENCE_DBFS
    samples = np.frombuffer(pcm, "<i2", count).astype(np.float32)
    power = float(samples.dot(samples)) / (count * _FULL_SCALE**2)
    return max(10 * math.log10(power), SILENCE_DBFS) if power else SILENCE_DBFS


def block_levels_dbfs(pcm: bytes, block_samples: int) -> NDArray[np.float32]:
    """The same for each block of so many samples; a part of a block at the end is left out."""
    blocks = len(pcm) // (2 * block_samples)
    samples = np.frombuffer(pcm, "<i2", blocks * block_samples).astype(np.float32)
    power = np.square(samples.reshape(blocks, block_samples)).mean(axis=1) / _FULL_SCALE**2
    levels: NDArray[np.float32] = 10 * np.log10(np.maximum(power, 10 ** (SILENCE_DBFS / 10)))
    return levels
