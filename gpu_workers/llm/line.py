"""The line before the language model: it has an end. No request waits where nobody can count it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from gpu_workers.errors import RequestError

# of a request's body: the longest conversation that a model here may have is far shorter
MAX_BODY: Final = 4 * 1024 * 1024


def queue_full(waiting: int) -> RequestError:
    return RequestError(429, f"{waiting} requests wait already", code="queue_full", retry_after_s=1)


class Line:
    """`at_once` requests run, `limit` more wait, first come first served."""

    def __init__(self, at_once: int, limit: int) -> None:
        self._at_once = at_once
        self._limit = limit
        self._turns = asyncio.Semaphore(at_once)
        self._inside = 0

    @property
    def running(self) -> int:
        return min(self._inside, self._at_once)

    @property
    def waiting(self) -> int:
        return self._inside - self.running

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for its turn. Raises RequestError 429 when too many do."""
        if self._inside >= self._at_once + self._limit:
            raise queue_full(self._limit)
        self._inside += 1
        try:
            async with self._turns:
                yield
        finally:
            self._inside -= 1
