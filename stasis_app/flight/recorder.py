"""Writes flights: per call the lines of lines.py and both sides' sound. Off unless a folder is named.

Everything is written, and old flights are removed, by one thread, so that a slow disk delays no call; what it cannot
keep up with is left out. Files are named by our own call ids, and nothing with another name is touched.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from media_bridge.events import EndpointEvent
from media_bridge.settings import MediaSettings
from stasis_app.conversation import Command, Event, State
from stasis_app.disk_thread import DiskThread, ended
from stasis_app.flight.ear_lines import DeafFrom, EarLine, EndWait, HearsFrom, Lost, Stopped, said_line
from stasis_app.flight.files import FlightFiles, kept, remove, usable
from stasis_app.flight.lines import End, ear_line, end_line, head_line, step_line
from stasis_app.retention import Retention

log = logging.getLogger(__name__)

FOREVER = Retention(max_calls=10**9, max_age_s=float("inf"), max_bytes=2**62)
LOOK_S = 3600.0
"""How often old flights are looked for, beside at each call's beginning."""
MAX_LINES_BYTES = 4 * 1024 * 1024
MAX_SOUND_S = 1800
MAX_WAITING = 256
"""Seconds of sound and lines of all calls that the disk has not taken yet."""
_CHUNK_S = 1.0
_FRAME_S = 0.02


class FlightRecorder(AbstractContextManager["FlightRecorder"]):
    """One for each process. `directory` None: nothing is recorded. `on_lost` is told of each line and second of sound
    that the disk was too slow for, and of each call whose flight cannot be written, or for which there is no room.
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
        self._full = False

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
            self.do(self._forget_old, always=True)

    def _forget_old(self) -> None:
        """For the writing thread. Raises OSError."""
        self._forgetting = False  # what comes from now on is for another look
        directory = self._directory
        if directory is None:
            return
        usable(directory)
        now = time.time()
        gone = set(self._retention.over(kept(directory), now))
        for name in gone:
            remove(directory, name)
        full = self._retention.is_full(kept(directory), now)
        if full and not self._full:
            log.warning(
                "no more calls are recorded in %s: the running ones are as many as are kept", directory
            )
        self._full = full

    @contextmanager
    def flight(self, call_id: str) -> Iterator["Flight | None"]:
        """The recorder of one call; None where none is wanted."""
        if self._directory is None:
            yield None
            return
        files = FlightFiles(self._directory, call_id)
        flight = Flight(self, files, call_id)
        self._forget_soon()
        try:
            yield flight
        finally:
            flight.close()
            self.do(files.end, always=True)

    def do(self, work: Callable[[], None], always: bool = False) -> bool:
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
        if error is not None:
            self._on_lost()
            if not self._complained:
                self._complained = True
                log.warning("flights cannot be written to %s: %s", self._directory, error)

    def begin(self, files: FlightFiles, head: str, rate: int) -> None:
        """For the writing thread. Raises OSError."""
        if self._full:
            self._on_lost()
            return
        files.begin(head, rate)
        self._complained = False


class Flight:
    """One call's recorder, and the Tap of its sound. All methods return at once."""

    def __init__(self, recorder: FlightRecorder, files: FlightFiles, call_id: str) -> None:
        self._recorder = recorder
        self._files = files
        self._call_id = call_id
        self._clock = asyncio.get_running_loop().time
        self._lines_left = 0
        self._has_begun = False

    def begin(self, state: State, rate: int, settings: MediaSettings) -> None:
        """Before anything is told; the sound has `rate`."""
        # the first 20 ms that are heard may have begun before this
        self._began = self._clock() - _FRAME_S
        self._has_begun = True
        self._rate = rate
        self._lines_left = MAX_LINES_BYTES
        self._samples = 0
        self._first = self._ends = 0
        self._heard_at = 0.0
        self._hears = False
        self._caller, self._bot = bytearray(), bytearray()
        self._lost: list[Lost] = []
        head = head_line(self._call_id, state, rate, settings)
        self._recorder.do(lambda: self._recorder.begin(self._files, head, rate), always=True)

    def step(self, event: Event, state: State, commands: tuple[Command, ...]) -> None:
        """A step of the conversation, and what it gave."""
        self._keep(step_line(self._clock() - self._began, event, state, commands))

    # --- the tap

    def sound(self, at: float, caller: bytes, bot: bytes, heard: bool) -> None:
        if not self._has_begun:
            return
        samples = len(caller) // 2
        begins = round((at - self._began) * self._rate) - samples
        # the sound begins after the flight does, and a tick that failed leaves a gap: the wav keeps the flight's time
        if begins - self._samples > self._rate * _FRAME_S / 2:
            self._flush()
            self._samples = begins
            self._hears = False
        if heard is not self._hears:
            self._hears = heard
            self._tell((HearsFrom if heard else DeafFrom)(self._samples))
        if not self._caller:
            self._first = self._samples
        self._samples += samples
        self._heard_at = at
        if self._samples > self._rate * MAX_SOUND_S:
            return
        self._caller += caller
        self._bot += bot
        if len(self._caller) >= 2 * self._rate * _CHUNK_S:
            self._flush()

    def stopped(self) -> None:
        self._tell(Stopped(self._samples))

    def end_wait(self, utterance_number: int, wait_ms: int) -> None:
        self._tell(EndWait(self._samples, utterance_number, wait_ms))

    def said(self, event: EndpointEvent) -> None:
        self._tell(said_line(event, self._sample_at))

    def close(self) -> None:
        """Keep what is left of the sound, and say that it is the end; nothing that comes later."""
        if not self._has_begun:
            return
        self._flush()
        self._has_begun = False
        end = End(self._clock() - self._began, self._ends, self._lines_left > 0)
        self._lines_left = 0
        lines = [*map(ear_line, self._lost), end_line(end)]
        self._recorder.do(lambda: self._files.lines(lines), always=True)

    def _sample_at(self, instant: float) -> int:
        """To the sample, however long the call is."""
        return self._samples + round((instant - self._heard_at) * self._rate)

    def _tell(self, line: EarLine) -> None:
        if self._has_begun:
            self._keep(ear_line(line))

    def _keep(self, line: str) -> None:
        self._lines_left -= len(line)
        if self._lines_left > 0 and not self._recorder.do(lambda: self._files.lines([line])):
            self._lines_left = 0  # a talk with a hole in it cannot be replayed

    def _flush(self) -> None:
        if not self._caller:
            return
        first, caller, bot, lost = self._first, bytes(self._caller), bytes(self._bot), tuple(self._lost)
        self._caller.clear()
        self._bot.clear()
        self._ends = first + len(caller) // 2

        def write() -> None:
            self._files.lines(map(ear_line, lost))
            self._files.sound(first, caller, bot)

        if self._recorder.do(write):
            self._lost.clear()
        elif self._lost and self._lost[-1].until == first:
            self._lost[-1] = Lost(self._lost[-1].sample, self._ends)
        else:
            self._lost.append(Lost(first, self._ends))
