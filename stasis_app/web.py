"""The web port of the call process: /live, /ready and /metrics.

/live and /ready say which parts work and how many calls there are; they are what balancers and orchestrators ask, which
send no token. /metrics asks for `web.token` where there is one, and without it /ready does not say why a part is not
ready: that may be a worker's own words. Whoever holds connections open takes neither the port
from balancers nor descriptors from calls: each is cut after a while, and the oldest for a new one.
"""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from media_bridge.log_gate import LogGate
from stasis_app.settings import WebSettings

_log = logging.getLogger(__name__)

MOST_CONNECTIONS = 64
LIFE_S = 10.0
"""A connection's longest life; one request is answered in milliseconds."""


class WebPortError(Exception):
    """The port of /ready and /metrics cannot be opened."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """`parts`: why each part is not ready, "" when it is."""

    parts: Mapping[str, str]
    calls: int
    max_calls: int

    @property
    def ready(self) -> bool:
        return not any(self.parts.values())


@asynccontextmanager
async def web_server(
    settings: WebSettings, readiness: Callable[[], Readiness], registry: CollectorRegistry
) -> AsyncIterator[None]:
    """Serve until the block ends. Raises WebPortError."""

    async def live(_: web.Request) -> web.Response:
        return web.json_response({"live": True})

    async def ready(request: web.Request) -> web.Response:
        now, shown = readiness(), _may_read(request, settings)
        body = {
            "ready": now.ready,
            "parts": {
                name: (why if shown else "not ready") if why else "ready" for name, why in now.parts.items()
            },
            "calls": now.calls,
            "max_calls": now.max_calls,
        }
        return web.json_response(body, status=200 if now.ready else 503)

    async def metrics(request: web.Request) -> web.Response:
        if not _may_read(request, settings):
            return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/live", live), web.get("/ready", ready), web.get("/metrics", metrics)])
    loop = asyncio.get_running_loop()
    runner = web.AppRunner(
        app, access_log=None, logger=cast("logging.Logger", _Complaints(_log, loop)), shutdown_timeout=2
    )
    await runner.setup()
    try:
        door = _Door(cast("web.Server", runner.server), loop)
        try:
            listening = await loop.create_server(door, settings.host, settings.port)
        except OSError as error:
            raise WebPortError(
                f"The web port {settings.host}:{settings.port} cannot be opened ({error.strerror}): stop what uses it, "
                "or set web.port in voicebot.yaml to a free one"
            ) from None
        try:
            yield
        finally:
            listening.close()
            door.close()
    finally:
        await runner.cleanup()


class _Door:
    """Makes the protocol of each connection, and ends connections that last too long or are too many."""

    def __init__(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._open: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def __call__(self) -> web.RequestHandler:
        if len(self._open) >= MOST_CONNECTIONS:
            self._end(next(iter(self._open)))
        handler = self._server()
        self._open[handler] = self._loop.call_later(LIFE_S, self._end, handler)
        return handler

    def close(self) -> None:
        for timer in self._open.values():
            timer.cancel()

    def _end(self, handler: web.RequestHandler) -> None:
        self._open.pop(handler).cancel()
        if handler.transport is not None:
            handler.transport.abort()


class _Complaints(logging.LoggerAdapter[logging.Logger]):
    """What the server says. Of bytes that are no request, whoever sends them: one line a second, and nothing of theirs.

    The server writes a traceback for each, which quotes a header that is too long or misspelt, the token's too.
    """

    def __init__(self, log: logging.Logger, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(log)
        self._loop = loop
        self._gate = LogGate()

    def log(self, level: int, msg: object, *args: object, **options: Any) -> None:
        if not isinstance(error := options.get("exc_info"), HttpProcessingError):
            super().log(level, msg, *args, **options)
        elif self._gate.open(self._loop.time()):
            super().log(
                logging.INFO, "the web port was sent what is no HTTP request: %s", type(error).__name__
            )


def _may_read(request: web.Request, settings: WebSettings) -> bool:
    if settings.token is None:
        return True
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    wanted = settings.token.get_secret_value().encode()
    # the scheme's case says nothing (RFC 9110 section 11.1)
    return scheme.lower() == "bearer" and hmac.compare_digest(token.encode(errors="replace"), wanted)
