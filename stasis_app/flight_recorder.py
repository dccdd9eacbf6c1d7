"""Writes flights: per call the lines of flight.py and both sides' sound. Off unless a folder is named.

Everything is written, and old flights are removed, by one thread, so that a slow disk delays no call; what it cannot
keep up with is left out. Files are named by our own call ids, and nothing with another name is touched.
"""

import asyncio
import logging
import re
import time
import wave
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from stasis_app.conversation import Command, Event, State
from stasis_app.disk_thread import DiskThread, ended
from stasis_app.flight import head_line, step_line
from stasis_app.retention import Kept, Retention

log = logging.getLogger(__name__)

FOREVER = Retention(max_calls=10**9, max_age_s=float("inf"), max_bytes=2**62)
LOOK_S = 3600.0
"""How often old flights are looked for, beside at each call's beginning."""
MAX_LINES_BYTES = 4 * 1024 * 1024
MAX_SOUND_S = 1800
_CHUNK_S = 1.0
_OURS = re.compile(r"[0-9a-f]{8}\.(?:flight|wav)")
MAX_WAITING = 256
"""Seconds of sound and lines of all calls that the disk has not taken yet."""


class FlightRecorder(AbstractContextManager["FlightRecorder"]):
    """One for each process. `directory` None: nothing is recorded. `on_lost` is told of each line and second of sound
    that the disk was too slow for.
    """

    def __init__(
        self,
        directory: Path | None,
        retention: Retention = FOREVER,
        on_lost: Callable[[], object] = lambda: None,
    ) -> None:
        self._directory = directory
        self._retention = retention
        self._on_lost = on_lost
        self._waiting = 0
        self._forgetting = False
        self._complained = False
        self._fell_behind = False

    @property
    def wanted(self) -> bool:
        return self._directory is not None

    def __enter__(self) -> Self:
        self._writer = DiskThread("flight-recorder")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not ended(self._writer):
            log.warning("flights in %s end early: the disk hangs", self._directory)

    async def forget_old(self) -> None:
        """Remove what has been kept long enough, now and each hour, for ever."""
        while self._directory is not None:
            self._forget_soon()
            await asyncio.sleep(LOOK_S)

    def _forget_soon(self) -> None:
        if not self._forgetting:
            self._forgetting = True
            self._do(self._forget_old, always=True)

    def _forget_old(self) -> None:
        """For the writing thread. Raises OSError."""
        self._forgetting = False  # what comes from now on is for another look
        directory = self._directory
        if directory is None or not directory.is_dir():
            return
        for name in self._retention.over(_kept(directory), time.time()):
            for kind in ("flight", "wav"):
                (directory / f"{name}.{kind}").unlink(missing_ok=True)

    @contextmanager
    def flight(self, call_id: str, state: State, rate: int) -> Iterator["Flight | None"]:
        """The recorder of one call whose sound has `rate`; None where none is wanted."""
        if self._directory is None:
            yield None
            return
        files = _Files(self._directory, call_id, rate)
        flight = Flight(self, files, rate)
        self._do(lambda: files.begin(head_line(call_id, state)), always=True)
        self._forget_soon()
        try:
            yield flight
        finally:
            flight.close()
            self._do(files.end, always=True)

    def _do(self, work: Callable[[], None], always: bool = False) -> bool:
        """Have the thread do it; False when too much waits already."""
        if self._waiting >= MAX_WAITING and not always:
            self._on_lost()
            if not self._fell_behind:
                self._fell_behind = True
                log.warning("flights in %s have holes: the disk does not keep up", self._directory)
            return False
        self._waiting += 1
        done = asyncio.get_running_loop().run_in_executor(self._writer, work)
        done.add_done_callback(self._done)
        return True

    def _done(self, done: "asyncio.Future[None]") -> None:
        self._waiting -= 1
        error = None if done.cancelled() else done.exception()
        if error is not None and not self._complained:
            self._complained = True
            log.warning("flights cannot be written to %s: %s", self._directory, error)


class Flight:
    """One call's recorder. Both methods return at once."""

    def __init__(self, recorder: FlightRecorder, files: "_Files", rate: int) -> None:
        self._recorder = recorder
        self._files = files
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        self._chunk_bytes = int(2 * rate * _CHUNK_S)
        self._sound_left = 2 * rate * MAX_SOUND_S
        self._lines_left = MAX_LINES_BYTES
        self._caller, self._bot = bytearray(), bytearray()

    def step(self, event: Event, state: State, commands: tuple[Command, ...]) -> None:
        """A step of the conversation, and what it gave."""
        line = step_line(self._clock() - self._began, event, state, commands)
        self._lines_left -= len(line)
        if self._lines_left > 0 and not self._recorder._do(lambda: self._files.line(line)):
            self._lines_left = 0  # a talk with a hole in it cannot be replayed

    def tap(self, caller: bytes, bot: bytes) -> None:
        """The sound of both sides in the same time, of equal length."""
        if self._sound_left <= 0:
            return
        self._caller += caller
        self._bot += bot
        if len(self._caller) >= self._chunk_bytes:
            self.flush()

    def close(self) -> None:
        """Keep what is left of the sound; nothing that comes later."""
        self.flush()
        self._sound_left = self._lines_left = 0

    def flush(self) -> None:
        caller, bot = bytes(self._caller), bytes(self._bot)
        self._caller.clear()
        self._bot.clear()
        self._sound_left -= len(caller)
        self._recorder._do(lambda: self._files.sound(caller, bot))


class _Files:
    """CALL.flight and CALL.wav (the caller left, the bot right), for the writing thread. Raise OSError, once: what
    comes behind a gap is not written.
    """

    def __init__(self, directory: Path, call_id: str, rate: int) -> None:
        self._directory = directory
        self._lines = directory / f"{call_id}.flight"
        self._wav = directory / f"{call_id}.wav"
        self._rate = rate
        self._open = ExitStack()
        self._broken = True  # until it has begun

    def begin(self, head: str) -> None:
        with ExitStack() as stack:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            for path in (self._lines, self._wav):
                path.touch(mode=0o600)
            self._line_file = stack.enter_context(self._lines.open("w", encoding="utf-8"))
            self._sound = stack.enter_context(wave.open(str(self._wav), "wb"))
            self._sound.setnchannels(2)
            self._sound.setsampwidth(2)
            self._sound.setframerate(self._rate)
            self._open = stack.pop_all()
        self._broken = False
        self.line(head)

    def line(self, text: str) -> None:
        with self._whole():
            if not self._broken:
                self._line_file.write(text + "\n")
                self._line_file.flush()

    def sound(self, caller: bytes, bot: bytes) -> None:
        stereo = bytearray(2 * len(caller))
        for at in (0, 1):
            stereo[at::4] = caller[at::2]
            stereo[at + 2 :: 4] = bot[at::2]
        with self._whole():
            if not self._broken:
                self._sound.writeframesraw(bytes(stereo))

    def end(self) -> None:
        with self._whole():
            self._open.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            if self._broken:
                return
            self._broken = True
            raise


def _kept(directory: Path) -> list[Kept]:
    found: dict[str, Kept] = {}
    for path in directory.iterdir():
        if _OURS.fullmatch(path.name):
            size, written = _state(path)
            one = found.get(path.stem, Kept(path.stem, 0, 0.0))
            found[path.stem] = Kept(path.stem, one.size + size, max(one.written, written))
    return list(found.values())


def _state(path: Path) -> tuple[int, float]:
    """Size and time; of one that another process has just removed, nothing."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return 0, 0.0
    return state.st_size, state.st_mtime
