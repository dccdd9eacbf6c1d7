"""Turns as JSON lines for whoever asked for them: words and times of both sides. Off unless a file is named."""

import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TextIO

from stasis_app.turn import Turn


class Transcript(AbstractContextManager["Transcript"]):
    """Writes nothing when `path` is None. The file holds what callers said: it is made readable by its owner only."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> "Transcript":
        if self._path:
            descriptor = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            self._file = os.fdopen(descriptor, "a", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def write(self, call_id: str, turn: Turn, heard: str, *, cut: bool, unspoken: Sequence[str] = ()) -> None:
        """One turn of the bot, with the words of the caller that it answers, and the sentences no voice was had for."""
        if self._file is None:
            return
        line = {
            "call": call_id,
            "turn": turn.number,
            "saying": turn.saying.name.lower(),
            "caller": turn.caller_text or "",
            "bot": heard,
            "cut": cut,
            "unspoken": list(unspoken),
            "ms_after_speech_end": turn.times.since_speech_end_ms(),
        }
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()
