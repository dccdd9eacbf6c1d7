"""Asterisk's end of a media websocket, after chan_websocket.c: a queue that one frame leaves every 20 ms."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

CONNECTION = "c0ffee"
PTIME_S = 0.020
XOFF, XON, MOST = 900, 800, 1000


@dataclass
class ChanWebsocket:
    """One channel. `played` is what went on to the caller: a frame for each tick, None where there was none."""

    codec: str = "slin16"
    frame_bytes: int = 640
    start: dict[str, Any] | str | None = None
    """Sent instead of MEDIA_START."""
    mute: set[str] = field(default_factory=set)
    """Commands that are taken and not obeyed."""
    port: int = 0
    commands: list[str] = field(default_factory=list)
    queue: deque[bytes | str] = field(default_factory=deque)
    played: list[bytes | None] = field(default_factory=list)
    _paused: bool = False
    _full: bool = False
    _socket: web.WebSocketResponse | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/media/{CONNECTION}"

    @property
    def heard(self) -> list[bytes]:
        return [frame for frame in self.played if frame is not None]

    async def say(self, pcm: bytes, ptime_s: float = PTIME_S) -> None:
        """The caller speaks."""
        for at in range(0, len(pcm), self.frame_bytes):
            await self.send(pcm[at : at + self.frame_bytes])
            await asyncio.sleep(ptime_s)

    async def send(self, message: bytes | str) -> None:
        assert self._socket is not None
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_str(message)

    async def hang_up(self) -> None:
        """The channel ends."""
        assert self._socket is not None
        await self._socket.close()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["id"] != CONNECTION:
            return web.Response(status=404)
        socket = web.WebSocketResponse(protocols=("media",))
        await socket.prepare(request)
        self._socket = socket
        await self._announce()
        pacing = asyncio.create_task(self._pace())
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    assert len(message.data) <= 128
                    await self._obey(json.loads(message.data))
                elif message.type is aiohttp.WSMsgType.BINARY:
                    await self._take(message.data)
        finally:
            pacing.cancel()
        return socket

    async def _announce(self) -> None:
        usual = {"event": "MEDIA_START", "format": self.codec, "optimal_frame_size": self.frame_bytes}
        start = usual if self.start is None else self.start
        await self.send(start if isinstance(start, str) else json.dumps(start))

    async def _pace(self) -> None:
        loop = asyncio.get_running_loop()
        # out of step with the bot's clock
        due = loop.time() + 0.0131
        while True:
            await asyncio.sleep(due - loop.time())
            due += PTIME_S
            await self._tick()

    async def _tick(self) -> None:
        if self._paused:
            self.played.append(None)
            return
        if self._full and self._frames < XON:
            self._full = False
            await self._tell(event="MEDIA_XON")
        while self.queue and isinstance(self.queue[0], str):
            await self._tell(event="MEDIA_MARK_PROCESSED", correlation_id=self.queue.popleft())
        frame = self.queue.popleft() if self.queue else None
        assert not isinstance(frame, str)
        self.played.append(frame)

    async def _obey(self, command: dict[str, str]) -> None:
        name = command["command"]
        self.commands.append(name)
        if name in self.mute:
            return
        match name:
            case "FLUSH_MEDIA":
                self.queue.clear()
            case "PAUSE_MEDIA":
                self._paused = True
            case "CONTINUE_MEDIA":
                self._paused = False
            case "GET_STATUS":
                await self._tell(event="STATUS", queue_length=self._frames)
            case "MARK_MEDIA":
                self.queue.append(command["correlation_id"])

    async def _take(self, data: bytes) -> None:
        assert len(data) % self.frame_bytes == 0, "a tail shorter than a frame is not padded by Asterisk"
        for at in range(0, len(data), self.frame_bytes):
            if self._frames < MOST:
                self.queue.append(data[at : at + self.frame_bytes])
        if self._frames >= XOFF and not self._full:
            self._full = True
            await self._tell(event="MEDIA_XOFF")

    @property
    def _frames(self) -> int:
        return sum(isinstance(item, bytes) for item in self.queue)

    async def _tell(self, **fields: object) -> None:
        await self.send(json.dumps({"channel_id": "m", **fields}))


@asynccontextmanager
async def serving(channel: ChanWebsocket) -> AsyncIterator[ChanWebsocket]:
    app = web.Application()
    app.router.add_get("/media/{id}", channel.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        channel.port = runner.addresses[0][1]
        yield channel
    finally:
        await runner.cleanup()
