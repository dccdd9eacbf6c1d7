"""Turns as JSON lines for whoever asked for them: words and times of both sides. Off unless a file is named.

One thread writes, so that a slow disk delays no call; what it cannot keep up with is left out and counted.
"""

import asyncio
import contextlib
import json
import logging
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from stasis_app.disk_thread import DiskThread, ended
from stasis_app.turn import Turn

log = logging.getLogger(__name__)

MAX_WAITING = 256
"""Lines of all calls that the disk has not taken yet: a minute and more of a hundred calls."""


class Transcript(AbstractContextManager["Transcript"]):
    """Writes nothing when `path` is None. The file holds what callers said: it is made readable by its owner only.

    A disk that takes no more ends the transcript after its last whole line; the calls go on (fault A14). `on_lost` is
    told of each line that is not written.
    """

    def __init__(self, path: Path | None, on_lost: Callable[[], object] = lambda: None) -> None:
        self._path = path
        self._on_lost = on_lost
        self._file: BinaryIO | None = None
        self._waiting = 0
        self._complained = False

    def __enter__(self) -> "Transcript":
        if self._path:
            descriptor = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                with contextlib.suppress(PermissionError):  # somebody else's file
                    os.fchmod(descriptor, 0o600)  # it may have been there before
            self._file = os.fdopen(descriptor, "ab", buffering=0)
            self._writer = DiskThread("transcript")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path and not ended(self._writer):
            log.warning("the transcript %s ends early: the disk hangs", self._path)
            return  # the thread has the file still
        self._close()

    def write(self, call_id: str, turn: Turn, heard: str, *, cut: bool, unspoken: Sequence[str] = ()) -> None:
        """One turn of the bot, with the words of the caller that it answers, and the sentences no voice was had for.

        Returns at once. To be called on the event loop.
        """
        if self._path is None:
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
        if self._waiting >= MAX_WAITING:
            if not self._complained:
                self._complained = True
                log.warning("the transcript %s has holes: the disk does not keep up", self._path)
            self._on_lost()
            return
        text = (json.dumps(line, ensure_ascii=False) + "\n").encode(errors="replace")
        self._waiting += 1
        done = asyncio.get_running_loop().run_in_executor(self._writer, self._append, text)
        done.add_done_callback(self._done)

    def _done(self, done: "asyncio.Future[bool]") -> None:
        self._waiting -= 1
        if done.cancelled() or not done.result():
            self._on_lost()

    # --- in the writing thread ---

    def _append(self, text: bytes) -> bool:
        """Whether the whole line is in the file."""
        if self._file is None:
            return False
        whole = None
        try:
            whole = os.fstat(self._file.fileno()).st_size
            written = self._file.write(text)
        except OSError as error:
            self._give_up(whole, 0, error.strerror)
            return False
        if written != len(text):
            self._give_up(whole, written or 0, "no space left for the whole line")
            return False
        return True

    def _give_up(self, whole: int | None, written: int, why: str | None) -> None:
        """Nothing more is written; the file ends with its last whole line, unless another process wrote meanwhile."""
        log.warning("the transcript %s ends here: %s", self._path, why)
        if self._file and whole is not None:
            with contextlib.suppress(OSError):
                if os.fstat(self._file.fileno()).st_size == whole + written:
                    self._file.truncate(whole)
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file:
            with contextlib.suppress(OSError):  # what could not be written has been told
                file.close()
