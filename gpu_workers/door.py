"""The connections of a worker's port: who holds many open and asks nothing keeps nobody else out.

A connection without a request is closed after a while, and the one that has waited longest goes for a new one. A key
does not help there: it is asked for when a request has come.
"""

import asyncio
import resource
from typing import Any, Final, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S: Final = 10.0
"""How long the head of a request may take; a client of ours sends it in one piece."""
_FEWEST: Final = 16
_MOST: Final = 2048


def most_connections() -> int:
    """Half of the descriptors that this process may have: the other half is the model's and the line's."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else min(max(soft // 2, _FEWEST), _MOST)


class Door(H11Protocol):
    """One connection, and its place among the others."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waits_since = 0.0
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= most_connections():
            self._make_room()
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    @property
    def asks_nothing(self) -> bool:
        """No request has come yet, or the last one is answered."""
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        """After the answer uvicorn's own limit counts, until the next bytes come."""
        if not self.asks_nothing:
            self._stop_watching()
        elif self._patience is None:
            self._waits_since = self.loop.time()
            self._patience = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _stop_watching(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _make_room(self) -> None:
        """Those that never asked anything go first."""
        idle = [one for one in cast("set[Door]", self.connections) if one.asks_nothing]
        if idle:
            oldest = min(idle, key=lambda one: (one.cycle is not None, one._waits_since))
            oldest.connections.discard(oldest)  # it is lost only when the loop comes round
            oldest.transport.abort()
