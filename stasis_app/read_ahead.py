"""Reading ahead: the model reads the talk while there is time, so that an answer starts with little left to read.

Two occasions: the bot has just been heard (its words, cut where the caller cut them, are new to the model), and the
caller is still speaking (what can be understood so far is read up to its last word but one). Nothing here is heard or
remembered, and everything stops at once when an answer is wanted.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_workers.errors import WorkerError
from media_bridge.events import Utterance
from stasis_app.asking import as_asked
from stasis_app.hearing import Hearing
from stasis_app.history import History
from stasis_app.seams import Writer

log = logging.getLogger(__name__)

FIRST_LOOK_S = 0.7
"""Speech shorter than this is read when it has ended: there is not time for more."""

LOOK_EVERY_S = 0.7
_PATIENCE = 2.0
"""A recogniser that took t seconds is left alone for twice as long: it has other callers."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading ahead needs of a call. `so_far`: the utterance that is being spoken, None when nobody speaks."""

    call_id: str
    llm: Writer
    hearing: Hearing
    history: History
    so_far: Callable[[], Utterance | None]
    tools: Sequence[Mapping[str, Any]] = ()


class ReadAhead:
    """One for each call; at most one thing is read at a time."""

    def __init__(self, reading: Reading, group: asyncio.TaskGroup) -> None:
        self._reading = reading
        self._group = group
        self._task: asyncio.Task[None] | None = None

    def read_talk(self) -> None:
        """The talk as it stands now."""
        self._start(lambda: self._read(""))

    def follow_caller(self) -> None:
        """What the caller says, while they say it. Does nothing while it is at it already."""
        if self._task is None or self._task.done():
            self._start(self._follow)

    def stop(self) -> None:
        """Somebody wants the model now, or the call is over."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self.stop()
        self._task = self._group.create_task(self._quietly(work))

    async def _quietly(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """A failure here costs time in the next answer, nothing else."""
        try:
            await work()
        except (WorkerError, TimeoutError) as error:
            log.debug("call %s: reading ahead failed: %s", self._reading.call_id, error)

    async def _read(self, asked: str) -> None:
        reading = self._reading
        messages = as_asked(reading.history.messages(asked))
        await reading.llm.read_ahead(messages, call_id=reading.call_id, tools=reading.tools)

    async def _follow(self) -> None:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(FIRST_LOOK_S)
        read = ""
        while (utterance := self._reading.so_far()) is not None:
            began = clock()
            heard = await self._reading.hearing.partial(utterance)
            took_s = clock() - began
            # the last word may still be cut off, and the recogniser sets a full stop behind everything
            words = " ".join(heard.text.split()[:-1])
            if words and words != read:
                read = words
                await self._read(words)
            await asyncio.sleep(max(LOOK_EVERY_S, _PATIENCE * took_s))
