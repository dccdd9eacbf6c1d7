"""Recorded speech as the phone needs it: 8 kHz mono samples."""

import wave
from pathlib import Path

import numpy as np
import samplerate  # type: ignore[import-not-found]

from caller_phone.errors import SpeechFileError
from caller_phone.g711 import Samples
from caller_phone.rtp import SAMPLE_RATE

_RATES = range(1000, 384_001)


def load(source: bytes | str | Path) -> Samples:
    """A WAV file (16-bit PCM, any rate; more channels are mixed down), or pcm bytes (8 kHz mono s16le) as they are.

    SpeechFileError names the file and what is wrong with it.
    """
    if isinstance(source, bytes):
        if len(source) % 2:
            raise SpeechFileError(f"{len(source)} bytes of pcm: want whole 16-bit samples")
        return np.frombuffer(source, "<i2").astype(np.int16)
    try:
        with wave.open(str(source), "rb") as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            data = file.readframes(file.getnframes())
    except (OSError, wave.Error, EOFError) as error:
        raise SpeechFileError(f"{source}: {str(error) or 'ends too early to be a WAV file'}") from error
    if width != 2:
        raise SpeechFileError(
            f"{source}: {8 * width}-bit samples; want 16-bit PCM (sox IN.wav -b 16 OUT.wav)"
        )
    if rate not in _RATES:
        raise SpeechFileError(
            f"{source}: {rate} samples a second; want {_RATES.start} to {_RATES.stop - 1} (sox IN.wav -r 8000 OUT.wav)"
        )
    samples = np.frombuffer(data, "<i2").astype(np.float32)
    mono = samples[: len(samples) // channels * channels].reshape(-1, channels).mean(axis=1)
    if rate != SAMPLE_RATE:
        mono = samplerate.resample(mono, SAMPLE_RATE / rate, "sinc_best")
    samples_8k: Samples = np.clip(np.rint(mono), -32768, 32767).astype(np.int16)
    return samples_8k
