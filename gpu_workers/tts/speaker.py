"""Many callers, one worker: their sentences are made by a few threads, nearest to silence first."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import chain, count

from gpu_workers.errors import RequestError
from gpu_workers.tts.line import LineFullError, Ticket, WaitingLine
from gpu_workers.tts.onset import without_leading_quiet
from gpu_workers.tts.pieces import pieces
from gpu_workers.tts.voices import Voice, Voices

log = logging.getLogger(__name__)


class Speaker:
    """`speak` works while `running` is entered."""

    def __init__(self, queue_limit: int) -> None:
        self._line = WaitingLine(queue_limit)
        self._turns: dict[int, asyncio.Future[None]] = {}
        self._numbers = count()
        self._free = 0  # threads
        self._voices: Voices | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def waiting(self) -> int:
        """Pieces of sound that no thread has begun yet."""
        return len(self._line)

    @property
    def voices(self) -> Voices:
        if self._voices is None:
            raise RequestError(503, "the voice is not loaded", code="loading", retry_after_s=5)
        return self._voices

    @asynccontextmanager
    async def running(self, voices: Voices, parallel: int) -> AsyncIterator[None]:
        """Makes `parallel` sentences side by side; on leaving, whoever still waits is refused with 503."""
        with ThreadPoolExecutor(parallel, thread_name_prefix="speak") as pool:
            self._voices, self._pool, self._free = voices, pool, parallel
            try:
                yield
            finally:
                self._pool = None
                for turn in self._turns.values():
                    if not turn.done():
                        turn.set_exception(_draining())

    async def speak(
        self, voice: Voice, text: str, speed: float, left_s: float = 0.0
    ) -> AsyncGenerator[bytes, None]:
        """Mono s16le, a sentence at a time, the first without its leading quiet.

        `left_s`: how long the listener still has something to hear. Closing it drops what is not begun. Raises
        RequestError 429 before the first piece, when too many wait and none of them can wait longer.
        """
        clock = asyncio.get_running_loop().time
        ticket = Ticket(next(self._numbers), clock() + left_s)
        sentences = chain.from_iterable(voice.sentences(piece, speed) for piece in pieces(text))
        while pcm := await self._next(ticket, sentences):
            yield pcm if ticket.begun else without_leading_quiet(pcm, voice.rate)
            ticket = ticket.after(len(pcm) / 2 / voice.rate, clock())

    async def _next(self, ticket: Ticket, sentences: Iterator[bytes]) -> bytes:
        """Empty after the last one."""
        await self._its_turn(ticket)
        if self._pool is None:
            raise _draining()
        work = asyncio.get_running_loop().run_in_executor(self._pool, next, sentences, b"")
        work.add_done_callback(self._thread_is_free)
        try:
            # a thread cannot be stopped: whoever leaves leaves it to itself, and the next waits until it is done
            return await asyncio.shield(work)
        # ONNX runtime's ways to say no memory, or a defect of the device, have no base of their own
        except Exception as error:
            log.warning("the voice failed with %s", type(error).__name__)  # its words may be the caller's
            raise RequestError(500, f"the voice failed: {error}", code="synthesis_failed") from error

    async def _its_turn(self, ticket: Ticket) -> None:
        """Returns with a thread that is this ticket's. Cancelling leaves the line."""
        if self._free:
            self._free -= 1
            return
        try:
            leaves = self._line.add(ticket)
        except LineFullError:
            raise _full() from None
        if leaves is not None and not self._turns[leaves.number].done():
            self._turns[leaves.number].set_exception(_full())
        turn = self._turns[ticket.number] = asyncio.get_running_loop().create_future()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._hand_over()  # the thread came at the moment the listener left
            raise
        finally:
            self._line.remove(ticket.number)
            del self._turns[ticket.number]

    def _thread_is_free(self, work: asyncio.Future[bytes]) -> None:
        if not work.cancelled():
            work.exception()  # where its listener has left nobody else asks
        self._hand_over()

    def _hand_over(self) -> None:
        ticket = self._line.take()
        while ticket is not None and self._turns[ticket.number].done():
            ticket = self._line.take()
        if ticket is None:
            self._free += 1
        else:
            self._turns[ticket.number].set_result(None)


def _full() -> RequestError:
    return RequestError(429, "too many sentences wait for the voice", code="queue_full", retry_after_s=1)


def _draining() -> RequestError:
    return RequestError(503, "the worker is draining", code="draining", retry_after_s=1)
