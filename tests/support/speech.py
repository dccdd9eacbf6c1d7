"""The recorded sentences of tests/data/speech, and made-up sound to set against them."""

import csv
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE = 8000
FRAME_BYTES = 320
_FOLDER = Path(__file__).parents[1] / "data" / "speech"

QUESTION, SHORT, NO = _FOLDER / "price01.wav", _FOLDER / "short01.wav", _FOLDER / "no01.wav"

Sound = NDArray[np.float64]


@dataclass(frozen=True)
class Turn:
    """One clip of turns.tsv; instants in seconds from the start of its file."""

    name: str
    start: float
    end: float


def turns(*names: str) -> list[Turn]:
    with (_FOLDER / "turns.tsv").open(newline="") as table:
        rows = {row["file"].removesuffix(".wav"): row for row in csv.DictReader(table, delimiter="\t")}
    return [
        Turn(name, int(rows[name]["speech_start_ms"]) / 1000, int(rows[name]["speech_end_ms"]) / 1000)
        for name in names
    ]


def clip(name: str) -> Sound:
    with wave.open(str(_FOLDER / f"{name}.wav")) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float64)


def pcm_of(sound: Sound) -> bytes:
    return np.clip(np.rint(sound), -32768, 32767).astype("<i2").tobytes()


def sound_of(pcm: bytes) -> Sound:
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def frames(pcm: bytes) -> list[bytes]:
    """Whole frames of 20 ms."""
    return [pcm[at : at + FRAME_BYTES] for at in range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES)]


def tone(hertz: float, seconds: float, amplitude: float = 8000.0, rate: int = RATE) -> Sound:
    at = np.arange(round(seconds * rate)) / rate
    return np.asarray(amplitude * np.sin(2 * np.pi * hertz * at))


def line_noise(seconds: float, seed: int = 1) -> Sound:
    """The floor of a quiet phone line, -66 dBFS."""
    return np.random.default_rng(seed).normal(0, 16, round(seconds * RATE))


def pink_noise(seconds: float, dbfs: float, seed: int = 1) -> Sound:
    samples = round(seconds * RATE)
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(size=samples))
    noise = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), samples)
    return np.asarray(noise * 10 ** (dbfs / 20) * 32768 / np.sqrt(np.mean(noise**2)))
