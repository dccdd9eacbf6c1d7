"""What the callers and the bot say in the media benchmark: the sentences of benchmarks/speech."""

import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE = 8000
FRAME_SAMPLES = 160
_FOLDER = Path(__file__).parents[1] / "speech"
# the floor of a quiet phone line: -66 dBFS
_LINE_NOISE = 16.0

Sound = NDArray[np.int16]


def sentences() -> list[Sound]:
    """All of them, in the order of their names, at 8 kHz."""
    return [_read(path) for path in sorted(_FOLDER.glob("*.wav"))]


def conversation(seed: int = 1) -> Sound:
    """About two minutes of a caller: every sentence once, and pauses of 1.2 to 2.6 s, on a line with its noise."""
    rng = np.random.default_rng(seed)
    said = sentences()
    parts = []
    for index in rng.permutation(len(said)):
        parts += [said[index], np.zeros(int(rng.uniform(1.2, 2.6) * RATE), np.int16)]
    sound = np.concatenate(parts)
    sound = sound[: len(sound) // FRAME_SAMPLES * FRAME_SAMPLES]
    noisy = sound + rng.normal(0, _LINE_NOISE, len(sound))
    return np.asarray(np.clip(np.rint(noisy), -32768, 32767).astype(np.int16))


def speech_share(sound: Sound) -> float:
    """The share of 20 ms frames within 30 dB of the loudest sentence's level."""
    frames = sound[: len(sound) // FRAME_SAMPLES * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES).astype(float)
    power = np.square(frames).mean(axis=1)
    return float((power > np.percentile(power, 99) / 1000).mean())


def _read(path: Path) -> Sound:
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
