"""How loud a piece of sound is."""

import numpy as np

SILENCE_DBFS = -96.0


def level_dbfs(pcm: bytes) -> float:
    """The RMS of whole samples of pcm in dB below full scale, SILENCE_DBFS at least and for no samples."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float32)
    power = float(np.dot(samples, samples)) / len(samples) if len(samples) else 0.0
    if power < 1.0:
        return SILENCE_DBFS
    return max(SILENCE_DBFS, 10 * float(np.log10(power / 32768.0**2)))
