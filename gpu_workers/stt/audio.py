"""The sound of a request: a WAV file to the samples Whisper wants."""

import io
import wave
from typing import Final

import numpy as np
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray

from gpu_workers.errors import RequestError

Samples = NDArray[np.float32]

WHISPER_RATE: Final = 16_000
RATES: Final = (8_000, 16_000)
MAX_SECONDS: Final = 120
_FRAME: Final = WHISPER_RATE // 10
_FLOOR_DBFS: Final = -120.0


def samples_of(wav: bytes) -> Samples:
    """Samples at 16 kHz in -1..1 of a mono 16-bit WAV file of 8 or 16 kHz. Raises RequestError 400 or 413."""
    try:
        with wave.open(io.BytesIO(wav)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            pcm = file.readframes(min(file.getnframes(), (MAX_SECONDS + 1) * rate))
    except (wave.Error, EOFError, ValueError, RuntimeError) as error:
        raise _unusable(f"the file is not a PCM WAV file: {str(error) or 'it ends too early'}") from error
    if channels != 1:
        raise _unusable(f"the file has {channels} channels; send mono")
    if width != 2:
        raise _unusable(f"the file has {width * 8} bits a sample; send 16")
    if rate not in RATES:
        raise _unusable(f"the file has {rate} samples a second; send 8000 or 16000")
    if len(pcm) > MAX_SECONDS * rate * 2:
        raise RequestError(
            413, f"the sound is longer than {MAX_SECONDS} seconds", code="audio_too_long", param="file"
        )
    samples: Samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.float32) / np.float32(32768)
    if samples.size == 0:
        raise _unusable("the file holds no sound")
    if rate == WHISPER_RATE:
        return samples
    resampled: Samples = soxr.resample(samples, rate, WHISPER_RATE)
    return resampled


def loudness_dbfs(samples: Samples) -> float:
    """RMS of the loudest tenth of a second: a word in a long silence counts, a mean would hide it."""
    frames = [samples[start : start + _FRAME] for start in range(0, len(samples), _FRAME)]
    loudest = max((float(np.mean(np.square(frame))) for frame in frames), default=0.0)
    return max(_FLOOR_DBFS, 10 * float(np.log10(max(loudest, 1e-12))))


def _unusable(message: str) -> RequestError:
    return RequestError(400, message, code="invalid_audio", param="file")
