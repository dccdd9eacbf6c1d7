"""Connections that ask for nothing: each is cut after a while, and the oldest for a new one.

Whoever opens them needs no key, uvicorn sets no limit before a request's head is whole, and each takes a descriptor.
"""

import asyncio
from typing import ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

ASK_S: Final = 10.0
"""So long the head of a request may take; a client sends it at once."""
MOST_SILENT: Final = 256


class Door(H11Protocol):
    """HTTP with a time and a number for those who have not asked yet; what is asked is served as ever."""

    _silent: ClassVar[dict["Door", asyncio.TimerHandle]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in its base
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._asked()
        elif before is None or before.response_complete:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._asked()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self in self._silent:
            return
        if len(self._silent) >= MOST_SILENT:
            next(iter(self._silent))._cut()
        self._silent[self] = self.loop.call_later(ASK_S, self._cut)

    def _asked(self) -> None:
        if timer := self._silent.pop(self, None):
            timer.cancel()

    def _cut(self) -> None:
        self._asked()
        self.transport.abort()
