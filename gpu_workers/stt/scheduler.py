"""Many callers, one model: requests wait in a line and are decoded by threads, never on the loop."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from gpu_workers.errors import RequestError
from gpu_workers.stt.audio import WHISPER_RATE, Samples
from gpu_workers.stt.line import LineFullError, Priority, Ticket, WaitingLine

log = logging.getLogger(__name__)

_NO_DEADLINE_S = 3600.0


@dataclass(frozen=True)
class Utterance:
    """What one request asks for; `language` None: to be recognised; `draft`: as cheaply as it goes, words to come
    replace it; `first_words`: how likely does the sound begin with one of them?"""

    samples: Samples = field(repr=False)
    language: str | None = None
    prompt: str = field(default="", repr=False)
    draft: bool = False
    first_words: tuple[str, ...] = ()

    @property
    def length_s(self) -> float:
        return len(self.samples) / WHISPER_RATE


@dataclass(frozen=True)
class Transcript:
    """`text` is empty when nobody spoke; the measures are of the decoding all the same.

    `turn_end` is the probability that the turn sounds finished, `first_words_logprob` that the sound begins with one
    of those that were asked for; None where it was not asked, or says nothing.
    """

    text: str = field(repr=False)
    language: str
    length_s: float
    no_speech_prob: float
    avg_logprob: float
    turn_end: float | None = None
    first_words_logprob: float | None = None


class Recogniser(Protocol):
    """A model. `transcribe` blocks and may run in several threads at once."""

    @property
    def batch_limit(self) -> int: ...

    def window_s(self, length_s: float) -> float: ...

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]: ...


def _nothing(*_: object) -> None:
    """Where nobody wants to know."""


@dataclass(frozen=True)
class _Waiter:
    utterance: Utterance
    answer: asyncio.Future[Transcript]
    begins: Callable[[], object]


class Scheduler:
    """`submit` works while `running` is entered. `decoding` is told the size of each batch."""

    def __init__(self, line_limit: int, decoding: Callable[[int], object] = _nothing) -> None:
        self._line = WaitingLine(line_limit)
        self._decoding = decoding
        self._waiters: dict[int, _Waiter] = {}
        self._numbers = count()
        self._came = asyncio.Condition()
        self._recogniser: Recogniser | None = None

    @property
    def waiting(self) -> int:
        return len(self._line)

    @asynccontextmanager
    async def running(self, recogniser: Recogniser, copies: int) -> AsyncIterator[None]:
        """Decodes with `copies` threads; on leaving, whoever still waits is refused with 503."""
        self._recogniser = recogniser
        with ThreadPoolExecutor(copies, thread_name_prefix="decode") as pool:
            async with asyncio.TaskGroup() as group:
                decoders = [group.create_task(self._decode(recogniser, pool)) for _ in range(copies)]
                try:
                    yield
                finally:
                    for decoder in decoders:
                        decoder.cancel()
                    self._refuse(list(self._waiters), 503, "draining", "the worker is draining")

    async def submit(
        self,
        utterance: Utterance,
        priority: Priority,
        deadline_s: float | None,
        call_id: str | None,
        begins: Callable[[], object] = _nothing,
    ) -> Transcript:
        """The transcript, when it is its turn; then `begins` is called. Cancelling leaves the line.

        Raises RequestError 429, 409, 408 or 503.
        """
        if self._recogniser is None:
            raise RequestError(503, "the model is not loaded", code="loading", retry_after_s=5)
        loop = asyncio.get_running_loop()
        ticket = Ticket(
            number=next(self._numbers),
            priority=priority,
            deadline=loop.time() + (_NO_DEADLINE_S if deadline_s is None else deadline_s),
            window_s=self._recogniser.window_s(utterance.length_s),
            call_id=call_id,
        )
        waiter = _Waiter(utterance, loop.create_future(), begins)
        self._stand_in_line(ticket, waiter)
        try:
            async with self._came:
                self._came.notify()
            return await waiter.answer
        finally:
            self._line.remove(ticket.number)
            self._waiters.pop(ticket.number, None)

    def _stand_in_line(self, ticket: Ticket, waiter: _Waiter) -> None:
        try:
            left = self._line.add(ticket)
        except LineFullError as error:
            raise _full() from error
        self._waiters[ticket.number] = waiter
        for old in left:
            if old.call_id is not None and old.call_id == ticket.call_id:
                self._refuse([old.number], 409, "superseded", "a newer request of the same call came")
            else:
                self._fail([old.number], _full())

    async def _decode(self, recogniser: Recogniser, pool: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            async with self._came:
                await self._came.wait_for(lambda: len(self._line) > 0)
            late = [ticket.number for ticket in self._line.late(loop.time())]
            self._refuse(late, 408, "deadline_passed", "its deadline passed while it waited")
            batch = [self._waiters[ticket.number] for ticket in self._line.take(recogniser.batch_limit)]
            for waiter in batch:
                waiter.begins()
            if batch:
                await self._decode_batch(recogniser, pool, batch)

    async def _decode_batch(
        self, recogniser: Recogniser, pool: ThreadPoolExecutor, batch: Sequence[_Waiter]
    ) -> None:
        utterances = [waiter.utterance for waiter in batch]
        self._decoding(len(batch))
        try:
            transcripts = await asyncio.get_running_loop().run_in_executor(
                pool, recogniser.transcribe, utterances
            )
        # CTranslate2's ways to say no memory, or a defect of the device, and the tokenizer's, which have no base
        except Exception as error:  # noqa: BLE001 - whoever asked gets it
            log.warning(
                "the recogniser failed with %s", type(error).__name__
            )  # its words may be the caller's
            await self._failed(recogniser, pool, batch, error)
            return
        for waiter, transcript in zip(batch, transcripts, strict=True):
            if not waiter.answer.done():
                waiter.answer.set_result(transcript)

    async def _failed(
        self, recogniser: Recogniser, pool: ThreadPoolExecutor, batch: Sequence[_Waiter], error: Exception
    ) -> None:
        """What failed as a batch is done one by one: it may have been too large, or one of it at fault."""
        waiting = [waiter for waiter in batch if not waiter.answer.done()]
        if len(batch) > 1:
            for waiter in waiting:
                await self._decode_batch(recogniser, pool, [waiter])
        elif waiting:
            said = RequestError(500, f"the model failed: {error}", code="decoding_failed")
            waiting[0].answer.set_exception(said)

    def _refuse(self, numbers: Sequence[int], status: int, code: str, message: str) -> None:
        self._fail(numbers, RequestError(status, message, code=code))

    def _fail(self, numbers: Sequence[int], error: RequestError) -> None:
        for number in numbers:
            waiter = self._waiters.get(number)
            if waiter and not waiter.answer.done():
                waiter.answer.set_exception(error)


def _full() -> RequestError:
    return RequestError(429, "too many requests wait for the recogniser", code="queue_full", retry_after_s=1)
