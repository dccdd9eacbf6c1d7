"""What the recognisers hear: recorded sentences, the same under noise, and sounds in which nobody speaks. Seeded."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from caller_phone.errors import SpeechFileError
from caller_phone.speech_file import load

RATE: Final = 8000
TABLE: Final = "transcripts.tsv"
_SEED: Final = 20_110
_BAND_HZ: Final = (300, 3400)
_BLOCK: Final = RATE // 100
_SILENT_S: Final = (1.0, 3.0, 8.0)
# (kind, RMS of full scale)
_SPEECHLESS: Final = (
    ("silence", 0.0), ("white", 0.002), ("white", 0.05), ("pink", 0.02), ("pink", 0.2), ("hum", 0.02),
    ("dial tone", 0.1), ("clicks", 0.05),
)  # fmt: skip

Sound = NDArray[np.float64]


class CorpusError(Exception):
    """The folder is no corpus; the message names the file and the mend."""


@dataclass(frozen=True)
class Clip:
    """`pcm` is mono s16le at 8 kHz, `said` what is to be heard in it ("": nothing)."""

    name: str
    pcm: bytes = field(repr=False)
    said: str

    @property
    def seconds(self) -> float:
        return len(self.pcm) / 2 / RATE


def sentences(folder: Path) -> list[Clip]:
    """The recordings that `transcripts.tsv` (columns file, text) names. Raises CorpusError."""
    try:
        with (folder / TABLE).open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{folder / TABLE} cannot be read: {error}") from error
    named = [(row.get("file"), row.get("text")) for row in rows]
    clips = [_clip(folder, file, text) for file, text in named if file and text]
    if not clips:
        raise CorpusError(f"{folder / TABLE} names no recording; its columns are file and text")
    return clips


def _clip(folder: Path, file: str, text: str) -> Clip:
    try:
        return Clip(Path(file).stem, load(folder / file).astype("<i2").tobytes(), text)
    except SpeechFileError as error:
        raise CorpusError(str(error)) from error


def in_noise(clips: Sequence[Clip], snr_db: float) -> list[Clip]:
    """Each over pink noise of the phone's band, `snr_db` below its speech (blocks within 20 dB of the loudest)."""
    return [_over_noise(clip, snr_db, np.random.default_rng(_SEED + n)) for n, clip in enumerate(clips)]


def _over_noise(clip: Clip, snr_db: float, rng: np.random.Generator) -> Clip:
    speech = np.frombuffer(clip.pcm, "<i2") / 32768
    blocks = speech[: len(speech) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    powers = np.square(blocks).mean(axis=1)
    level = np.sqrt(powers[powers >= powers.max() / 100].mean())
    return Clip(clip.name, _pcm(speech + level * 10 ** (-snr_db / 20) * _pink(len(speech), rng)), clip.said)


def speechless() -> Iterator[Clip]:
    """Silence and noise of several kinds and lengths."""
    for place, (kind, level) in enumerate(_SPEECHLESS):
        seconds = _SILENT_S[place % len(_SILENT_S)]
        rng = np.random.default_rng(_SEED - place)
        yield Clip(
            f"{kind} {level:g}, {seconds:g} s", _pcm(level * _sound(kind, int(seconds * RATE), rng)), ""
        )


def _sound(kind: str, n: int, rng: np.random.Generator) -> Sound:
    """Of about RMS 1."""
    t = np.arange(n) / RATE
    match kind:
        case "silence":
            return np.zeros(n)
        case "white":
            return rng.normal(size=n)
        case "pink":
            return _pink(n, rng)
        case "hum":
            return np.sign(np.sin(2 * np.pi * 50 * t)) + 0.1 * rng.normal(size=n)
        case "dial tone":
            return np.sin(2 * np.pi * 350 * t) + np.sin(2 * np.pi * 440 * t)
        case _:
            return (rng.random(n) < 0.002) * rng.normal(size=n) * 20


def _pink(n: int, rng: np.random.Generator) -> Sound:
    spectrum = np.fft.rfft(rng.normal(size=n)) / np.sqrt(np.maximum(np.arange(n // 2 + 1), 1))
    hertz = np.fft.rfftfreq(n, 1 / RATE)
    spectrum[(hertz < _BAND_HZ[0]) | (hertz > _BAND_HZ[1])] = 0
    noise = np.fft.irfft(spectrum, n)
    level: Sound = noise / noise.std()
    return level


def _pcm(sound: Sound) -> bytes:
    return np.rint(np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes()
