"""Recorded turns and what is known of them: a folder of WAV files and `turns.tsv` (benchmarks/turns.md)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from caller_phone.errors import SpeechFileError
from caller_phone.g711 import Samples
from caller_phone.speech_file import load

TABLE: Final = "turns.tsv"
KINDS: Final = ("finished", "unfinished", "dictation", "interrupt", "backchannel", "noise", "bed")
_COLUMNS: Final = (
    "file",
    "kind",
    "speech_start_ms",
    "speech_end_ms",
    "pauses_ms",
    "text",
    "answer_type",
    "value",
)
_RATE: Final = 8000
# what a bed is mixed against: the loud half of a clip is its speech
_LOUD_PERCENTILE: Final = 50


class CorpusError(Exception):
    """The folder is no corpus; the message names the line or file and the mend."""


@dataclass(frozen=True)
class Clip:
    """One recording, 8 kHz. Instants count from its first sample; `pauses_ms` lie inside the speech."""

    name: str
    kind: str
    samples: Samples = field(repr=False)
    start_ms: int
    end_ms: int
    pauses_ms: tuple[tuple[int, int], ...]
    text: str
    answer: str
    value: str

    def over(self, bed: "Clip", ratio_db: float) -> "Clip":
        """The clip with a bed under it, `ratio_db` below its own sound."""
        own, under = (one.samples.astype(np.float64) for one in (self, bed))
        under = np.resize(under, own.shape)
        gain = 10 ** ((_level_db(own) - _level_db(under) - ratio_db) / 20)
        mixed = np.clip(np.rint(own + gain * under), -32768, 32767).astype(np.int16)
        name = f"{self.name} over {bed.name} at {ratio_db:g} dB"
        return Clip(
            name,
            self.kind,
            mixed,
            self.start_ms,
            self.end_ms,
            self.pauses_ms,
            self.text,
            self.answer,
            self.value,
        )


def read_corpus(folder: Path) -> list[Clip]:
    """All clips, in the table's order. Raises CorpusError."""
    try:
        lines = (folder / TABLE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{folder / TABLE} cannot be read: {error}; see benchmarks/turns.md") from error
    header = lines[0].split("\t") if lines else []
    missing = [column for column in _COLUMNS if column not in header]
    if missing:
        raise CorpusError(f"{folder / TABLE} has no column {', '.join(missing)}; see benchmarks/turns.md")
    return [_clip(folder, number, header, line) for number, line in enumerate(lines[1:], 2) if line.strip()]


def _clip(folder: Path, number: int, header: list[str], line: str) -> Clip:
    cells = dict(zip(header, line.split("\t"), strict=False))
    where = f"{folder / TABLE} line {number}"
    if cells.get("kind") not in KINDS:
        raise CorpusError(f"{where}: kind {cells.get('kind')!r} is none of {', '.join(KINDS)}")
    try:
        samples = load(folder / cells["file"])
    except SpeechFileError as error:
        raise CorpusError(f"{where}: {error}") from error
    seconds = 1000 * len(samples) // _RATE
    try:
        pauses = tuple(_pause(pause) for pause in cells.get("pauses_ms", "").split(",") if pause.strip())
        start, end = (
            int(cells.get(f"speech_{edge}_ms") or default)
            for edge, default in (("start", 0), ("end", seconds))
        )
    except ValueError as error:
        raise CorpusError(f"{where}: the milliseconds are not whole numbers: {error}") from error
    return Clip(
        Path(cells["file"]).stem, cells["kind"], samples, start, end, pauses,
        cells.get("text", ""), cells.get("answer_type", ""), cells.get("value", ""),
    )  # fmt: skip


def _pause(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last)


def _level_db(samples: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    blocks = samples[: len(samples) // 80 * 80].reshape(-1, 80)
    powers = np.square(blocks).mean(axis=1)
    loud = powers[powers >= np.percentile(powers, _LOUD_PERCENTILE)]
    return float(10 * np.log10(max(float(loud.mean()), 1e-3)))
