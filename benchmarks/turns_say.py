"""A corpus for benchmarks.turns from written lines, in the voice of the TTS worker.

    python -m benchmarks.turns_say benchmarks/speech/turns_lines.txt DIR

A line is `kind | text | answer_type | value`, the text with its pauses in seconds where they are: "My name is, [0.6]
Anna.". The parts are spoken one by one, each in another tempo from line to line, through the band of a telephone.
"""

import argparse
import re
import sys
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import samplerate  # type: ignore[import-not-found]
from numpy.typing import NDArray

from benchmarks.turns_corpus import KINDS, TABLE
from caller_phone.g711 import decode, encode
from caller_phone.sdp import Codec
from gpu_workers.client import TtsClient
from voicebot.interrupts import run_until_interrupted

Sound = NDArray[np.float64]

_RATE: Final = 8000
_BAND_HZ: Final = (300, 3400)
_LEAD_S, _TAIL_S = 0.2, 0.5
_SPEECH_DBFS, _FLOOR_DBFS = -20.0, -66.0
_BELOW_PEAK_DB: Final = 38.0
_BLOCK: Final = 80
_TEMPI: Final = (1.0, 1.1, 0.94, 1.05, 0.9)
_COLUMNS: Final = "file kind speech_start_ms speech_end_ms pauses_ms text answer_type value".split()


async def speak(tts: TtsClient, text: str, tempo: float) -> Sound:
    """The text without the silence around it, 8 kHz, telephone band."""
    async with tts.speak(text, voice=None, call_id="turns") as speech:
        pcm = b"".join([chunk async for chunk in speech])
    wide = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
    # tempo and pitch together, as another speaker would have
    narrow = samplerate.resample(wide, _RATE / speech.rate / tempo, "sinc_best").astype(np.float64)
    spectrum = np.fft.rfft(narrow)
    hertz = np.fft.rfftfreq(len(narrow), 1 / _RATE)
    spectrum[(hertz < _BAND_HZ[0]) | (hertz > _BAND_HZ[1])] = 0
    return _trimmed(np.fft.irfft(spectrum, len(narrow)))


async def make(tts: TtsClient, line: Sequence[str], number: int, folder: Path) -> tuple[object, ...]:
    """Write one clip; its line of the table."""
    kind, marked, answer, value = line
    spoken = re.split(r"\s*\[([\d.]+)#?~?\]\s*", marked)
    tempo = _TEMPI[number % len(_TEMPI)]
    parts: list[Sound] = [np.zeros(int(_LEAD_S * _RATE))]
    pauses = []
    for place, piece in enumerate(spoken):
        at = sum(map(len, parts))
        if place % 2 == 0:
            parts.append(await speak(tts, piece, tempo))
        else:
            parts.append(np.zeros(int(float(piece) * _RATE)))
            pauses.append(f"{at // 8}-{(at + len(parts[-1])) // 8}")
    end_ms = sum(map(len, parts)) // 8
    name = f"{kind}{number:02d}.wav"
    _write(folder / name, np.concatenate([*parts, np.zeros(int(_TAIL_S * _RATE))]), number)
    text = " ".join(spoken[::2])
    return name, kind, int(1000 * _LEAD_S), end_ms, ",".join(pauses), text, answer, value


def lines_of(path: Path) -> list[list[str]]:
    """Raises SystemExit for a line that is none."""
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 4 or cells[0] not in KINDS:
            raise SystemExit(f"{path} line {number} is not: kind | text | answer_type | value")
        lines.append(cells)
    return lines


def _trimmed(sound: Sound) -> Sound:
    blocks = sound[: len(sound) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    levels = 10 * np.log10(np.square(blocks).mean(axis=1) + 1e-12)
    loud = np.flatnonzero(levels > levels.max() - _BELOW_PEAK_DB)
    return sound[loud[0] * _BLOCK : (loud[-1] + 1) * _BLOCK]


def _write(path: Path, sound: Sound, seed: int) -> None:
    spoken = sound[sound != 0]
    level = np.sqrt(np.square(spoken).mean())
    floor = np.random.default_rng(seed).normal(0, 10 ** (_FLOOR_DBFS / 20), len(sound))
    line = sound * 10 ** (_SPEECH_DBFS / 20) / level + floor
    samples = np.clip(np.rint(line * 32768), -32768, 32767).astype(np.int16)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes(decode(encode(samples, Codec.PCMU), Codec.PCMU).astype("<i2").tobytes())


async def _speak_all(url: str, lines: Sequence[Sequence[str]], folder: Path) -> int:
    rows: list[tuple[object, ...]] = [tuple(_COLUMNS)]
    async with TtsClient(url) as tts:
        for number, line in enumerate(lines, 1):
            rows.append(await make(tts, line, number, folder))
    table = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (folder / TABLE).write_text(table, encoding="utf-8")
    print(f"{len(lines)} clips in {folder}", file=sys.stderr)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lines", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tts", default="http://127.0.0.1:8103", help="a TTS worker (voicebot worker tts)")
    chosen = parser.parse_args()
    lines = lines_of(chosen.lines)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    return run_until_interrupted(lambda _: _speak_all(chosen.tts, lines, chosen.folder), lambda: None)


if __name__ == "__main__":
    raise SystemExit(main())
