"""A bad network between a real Asterisk and the real bot.

The bot reaches ARI over a proxy that passes everything on as it is, but for where the two are told that the other
one's sound is: each call's media goes through a relay of its own.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from tests.support.relay import Address, Impairment, Relay, Relays
from voicebot.asterisk import AsteriskProcess

_HOP = {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "date", "server"}


@dataclass(frozen=True, slots=True)
class Leg:
    """One call's media: Asterisk is on the left of its relay, the bot on the right."""

    channel_id: str
    relay: Relay
    bot: Address
    asterisk: Address


@dataclass
class Detour:
    """`next_call` says what is done to the media of the calls to come: (towards the bot, towards Asterisk)."""

    relays: Relays
    url: str = ""
    next_call: tuple[Impairment, Impairment] = (Impairment(), Impairment())
    legs: list[Leg] = field(default_factory=list)
    on_leg: Callable[[Leg], None] = lambda _leg: None
    """Called before the bot knows that Asterisk's end is there."""

    def take(self, query: dict[str, str]) -> tuple[Relay, dict[str, str]]:
        relay = self.relays.open(*self.next_call, seed=len(self.legs) + 1)
        host, port = relay.left
        return relay, {**query, "external_host": f"{host}:{port}"}

    def join(self, relay: Relay, query: dict[str, str], answer: bytes) -> bytes:
        channel = json.loads(answer)
        told = channel["channelvars"]
        asterisk = (told["UNICASTRTP_LOCAL_ADDRESS"], int(told["UNICASTRTP_LOCAL_PORT"]))
        host, _, port = query["external_host"].rpartition(":")
        leg = Leg(query["channelId"], relay, (host, int(port)), asterisk)
        relay.join(left=asterisk, right=leg.bot)
        told["UNICASTRTP_LOCAL_ADDRESS"], told["UNICASTRTP_LOCAL_PORT"] = relay.right[0], str(relay.right[1])
        self.legs.append(leg)
        self.on_leg(leg)
        return json.dumps(channel).encode()


@asynccontextmanager
async def detour(asterisk: AsteriskProcess) -> AsyncIterator[Detour]:
    """Give the bot `url` for ARI."""
    with Relays() as relays:
        way = Detour(relays)
        async with aiohttp.ClientSession(asterisk.ari_url, auto_decompress=False) as http:

            async def serve(request: web.Request) -> web.StreamResponse:
                if request.path.endswith("/events"):
                    return await _events(request, http)
                return await _rest(request, http, way)

            app = web.Application()
            app.router.add_route("*", "/ari/{rest:.*}", serve)
            runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
            await runner.setup()
            try:
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                host, port = runner.addresses[0][:2]
                way.url = f"http://{host}:{port}"
                yield way
            finally:
                await runner.cleanup()


async def _rest(request: web.Request, http: aiohttp.ClientSession, way: Detour) -> web.Response:
    query, relay = dict(request.query), None
    if request.path.endswith("/externalMedia"):
        relay, query = way.take(query)
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
    body = await request.read()
    async with http.request(
        request.method, request.path, params=query, headers=headers, data=body or None
    ) as answer:
        said = await answer.read()
        if relay is not None and answer.ok:
            said = way.join(relay, dict(request.query), said)
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
        return web.Response(status=answer.status, reason=answer.reason, headers=kept, body=said)


async def _events(request: web.Request, http: aiohttp.ClientSession) -> web.WebSocketResponse:
    ours = web.WebSocketResponse(max_msg_size=0)
    headers = {"Authorization": request.headers["Authorization"]}
    async with http.ws_connect(request.path, params=request.query, headers=headers, max_msg_size=0) as theirs:
        await ours.prepare(request)

        async def down() -> None:
            async for message in theirs:
                await ours.send_str(message.data)
            await ours.close()

        task = asyncio.create_task(down())
        try:
            # the bot says nothing; this ends when it closes
            async for _ in ours:
                pass
        finally:
            task.cancel()
            await asyncio.wait({task})
    return ours
