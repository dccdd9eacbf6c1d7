"""A server of the admin's that a tool asks: keeps what it was asked, and answers as the test wants."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class Shop:
    """`answer` is what every request gets, `delay_s` after it came."""

    url: str = ""
    answer: str | bytes = '{"state": "ready"}'
    status: int = 200
    delay_s: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    got_headers: list[dict[str, str]] = field(default_factory=list)
    running: int = 0
    finished: int = 0

    async def serve(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.method, request.raw_path, body))
        self.got_headers.append(dict(request.headers))
        self.running += 1
        try:
            await asyncio.sleep(self.delay_s)
        finally:
            self.running -= 1
        self.finished += 1
        raw = self.answer if isinstance(self.answer, bytes) else self.answer.encode()
        return web.Response(body=raw, status=self.status, headers=self.headers)


@asynccontextmanager
async def shop() -> AsyncIterator[Shop]:
    """On loopback."""
    open_shop = Shop()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", open_shop.serve)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.01, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        open_shop.url = f"http://{host}:{port}"
        yield open_shop
    finally:
        await runner.cleanup()
