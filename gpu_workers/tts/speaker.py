"""Many callers, one voice: sentences are made by a few threads, in the order they were asked for."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Protocol

from gpu_workers.errors import RequestError
from gpu_workers.tts.onset import without_leading_quiet


class Voice(Protocol):
    """A loaded voice. What `sentences` gives is taken in a thread, by several requests at once."""

    @property
    def name(self) -> str: ...

    @property
    def rate(self) -> int: ...

    def sentences(self, text: str, speed: float) -> Iterator[bytes]:
        """`text` as mono s16le of `rate`, a sentence at a time, each made when it is asked for."""


class Speaker:
    """`speak` works while `running` is entered."""

    def __init__(self, queue_limit: int) -> None:
        self._queue_limit = queue_limit
        self._asked = 0
        self._parallel = 0
        self._voice: Voice | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def waiting(self) -> int:
        """Sentences that no thread has begun yet."""
        return max(0, self._asked - self._parallel)

    @property
    def voice(self) -> Voice:
        if self._voice is None:
            raise RequestError(503, "the voice is not loaded", code="loading", retry_after_s=5)
        return self._voice

    @asynccontextmanager
    async def running(self, voice: Voice, parallel: int) -> AsyncIterator[None]:
        with ThreadPoolExecutor(parallel, thread_name_prefix="speak") as pool:
            self._voice, self._pool, self._parallel = voice, pool, parallel
            yield

    async def speak(self, text: str, speed: float) -> AsyncGenerator[bytes, None]:
        """Mono s16le, a sentence at a time, the first without its leading quiet.

        Closing it drops what is not begun. Raises RequestError 429 when too much waits.
        """
        if self.waiting >= self._queue_limit:
            raise RequestError(
                429, "too many sentences wait for the voice", code="queue_full", retry_after_s=1
            )
        voice = self.voice
        sentences = voice.sentences(text, speed)
        is_first = True
        while pcm := await self._next(sentences):
            yield without_leading_quiet(pcm, voice.rate) if is_first else pcm
            is_first = False

    async def _next(self, sentences: Iterator[bytes]) -> bytes:
        """Empty after the last one."""
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, next, sentences, b"")
        except (RuntimeError, ValueError) as error:
            # ONNX runtime's ways to say no memory, or a defect of the device
            raise RequestError(500, f"the voice failed: {error}", code="synthesis_failed") from error
        finally:
            self._asked -= 1
