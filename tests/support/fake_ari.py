"""A small Asterisk made of aiohttp: ARI's REST calls and event socket with its own state, and faults by script.

It keeps Asterisk 22's answers where they matter: 422 for a channel that is not in Stasis yet, 400 "Channel not
found" from addChannel, 409 for a bridge id in use, a bare 500 for a channel id in use.
"""

import asyncio
import base64
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import WSCloseCode, web
from pydantic import SecretStr

from stasis_app.call import CALL_VARIABLE
from stasis_app.holds import HELD
from stasis_app.settings import AriSettings

APP = "voicebot"
PASSWORD = "a-password"
PEER_PORT = 18578
CONNECTION = "c0ffee"
OVER = web.AppKey("OVER", asyncio.Event)

Act = Callable[[], Awaitable[web.StreamResponse]]
Fault = Callable[[web.Request, Act], Awaitable[web.StreamResponse]]
"""Stands in for one answer: may do the real thing (`act`), nothing, or something else."""


_MEDIA_VARIABLES = {
    ("rtp", "udp", "client"): {
        "UNICASTRTP_LOCAL_ADDRESS": "127.0.0.1",
        "UNICASTRTP_LOCAL_PORT": str(PEER_PORT),
    },
    ("none", "websocket", "server"): {
        "MEDIA_WEBSOCKET_CONNECTION_ID": CONNECTION,
        "MEDIA_WEBSOCKET_OPTIMAL_FRAME_SIZE": "640",
    },
    ("audiosocket", "tcp", "client"): {},
}
"""What Asterisk tells of its end, by encapsulation, transport and connection type."""


@dataclass
class FakeChannel:
    id: str
    name: str
    app_name: str = "Stasis"
    app_data: str = APP
    state: str = "Ring"
    held: bool | None = False
    """Whether the caller's phone has us on hold; None for a channel that cannot tell, which is not SIP."""

    def json(self) -> dict[str, object]:
        dialplan = {"context": "inbound", "exten": "1234", "priority": 2}
        dialplan |= {"app_name": self.app_name, "app_data": self.app_data}
        caller = {"name": "", "number": "15551234567"}
        return {"id": self.id, "name": self.name, "state": self.state, "caller": caller, "dialplan": dialplan}


@dataclass
class FakeAri:
    media_start_s: float | None = 0.0
    """StasisStart of a media channel: before the POST's answer if negative, so long after it, or never (None)."""
    version: str = "22.10.1"
    read_only: bool = False
    """Whether the bot's user may only read, as by read_only=yes in ari.conf."""
    channels: dict[str, FakeChannel] = field(default_factory=dict)
    bridges: dict[str, set[str]] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    """By step name (create_bridge, add_channel, external_media, answer, hangup, ...), used up in order."""
    handshakes: list[int] = field(default_factory=list)
    """Statuses the next tries to open the event socket meet."""
    drops: int = 0
    """How many event sockets to close, cleanly, as soon as they are open."""
    steps: list[str] = field(default_factory=list)
    """What was asked, in order."""
    connects: int = 0
    joined: list[tuple[str, str]] = field(default_factory=list)
    """(bridge, channel) of every addChannel that worked."""
    told: set[str] = field(default_factory=set)
    """The types of the events that were sent."""
    causes: dict[str, str] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """What was set on each channel, but for its name of ours."""
    call_names: dict[str, str] = field(default_factory=dict)
    """VOICEBOT_CALL of each channel, which is set beside everything else."""
    globals: dict[str, str] = field(default_factory=dict)
    """Asterisk's own variables."""
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    """context,extension,priority of the dialplan that are there."""
    onward: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Where each channel went on in the dialplan; () is behind Stasis()."""
    port: int = 0
    most_connections: int = 0
    """Open at the same time, the event socket included."""
    peer_port: int = PEER_PORT
    """Where Asterisk's end of a media channel over RTP is."""
    media_asked: dict[str, str] = field(default_factory=dict)
    """The query of the newest request for a media channel."""
    media_socket: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None
    """What answers where the bot opens a media websocket."""

    async def __aenter__(self) -> Self:
        self._timers: list[asyncio.TimerHandle] = []
        self._arrived = asyncio.Event()
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()
        await self.stop()

    async def start(self) -> None:
        app = web.Application()
        app[OVER] = asyncio.Event()
        app.router.add_get("/ari/events", self._events)
        app.router.add_get("/media/{id}", self._media)
        for method, path, name, act in self._routes():
            app.router.add_route(method, "/ari" + path, self._handler(name, act))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]

    async def stop(self) -> None:
        """As kill -9 does: sockets end, connections are refused."""
        self.abort_sockets()
        self._runner.app[OVER].set()
        await self._runner.cleanup()

    def settings(self, **changes: Any) -> AriSettings:
        known = {"url": f"http://127.0.0.1:{self.port}", "password": SecretStr(PASSWORD), "app": APP}
        return AriSettings.model_validate(known | {"request_timeout_s": 1.0} | changes)

    def caller(self, channel_id: str = "1700000000.1", *args: str) -> str:
        """A call comes in."""
        app_data = ",".join((APP, *args))
        self.channels[channel_id] = FakeChannel(channel_id, f"PJSIP/{channel_id}", app_data=app_data)
        self.send("StasisStart", channel=self.channels[channel_id].json(), args=list(args))
        return channel_id

    def end(self, channel_id: str) -> None:
        """The channel hangs up."""
        channel = self.channels.pop(channel_id, None)
        if channel is None:
            return
        for members in self.bridges.values():
            members.discard(channel_id)
        self.send("ChannelHangupRequest", channel=channel.json(), cause=16)
        self.send("StasisEnd", channel=channel.json())

    def send(self, kind: str, **fields: object) -> None:
        self.told.add(kind)
        event = {"type": kind, "application": APP, "timestamp": "2026-11-30T11:47:02.426+0000", **fields}
        self.send_text(json.dumps(event))

    def send_text(self, text: str) -> None:
        for socket in self.sockets:
            task = asyncio.ensure_future(socket.send_str(text))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def connected(self, connects: int = 1) -> None:
        """Until the event socket has been opened so many times."""
        while self.connects < connects:
            self._arrived.clear()
            await self._arrived.wait()

    async def close_sockets(self) -> None:
        for socket in list(self.sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY)

    def abort_sockets(self) -> None:
        for socket in list(self.sockets):
            transport = socket._req.transport if socket._req else None
            if transport:
                transport.abort()

    def break_off(self) -> None:
        """Half a text frame, which begins like an event, and the end of the connection."""
        for socket in list(self.sockets):
            transport = socket._req.transport if socket._req else None
            assert isinstance(transport, asyncio.Transport)
            transport.write(b'\x81\x7e\x02\x00{"type": "StasisStart", "application": ')
            transport.abort()

    async def _events(self, request: web.Request) -> web.StreamResponse:
        assert "api_key" not in request.query
        if not _authorised(request):
            return _error(401, "Authentication required")
        if self.handshakes:
            return _error(self.handshakes.pop(0), "not now")
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        for older in self.sockets:
            await older.send_json({"type": "ApplicationReplaced", "application": request.query["app"]})
        self.sockets = [socket]
        self.connects += 1
        self._arrived.set()
        if self.drops > 0:
            self.drops -= 1
            await socket.close(code=WSCloseCode.OK)
        async for _ in socket:
            pass
        if socket in self.sockets:
            self.sockets.remove(socket)
        return socket

    def _handler(
        self, name: str, act: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            if name == "variable" and (said := await request.json())["variable"] == CALL_VARIABLE:
                if script := self.faults["name"]:
                    return await script.pop(0)(request, lambda: act(request))
                self.call_names[request.match_info["id"]] = said["value"]
                return web.Response(status=204)
            self.steps.append(name)
            assert self._runner.server
            self.most_connections = max(self.most_connections, len(self._runner.server.connections))
            if not _authorised(request):
                return _error(401, "Authentication required")
            if self.read_only and request.method != "GET":
                return _error(403, "Write access denied")
            script = self.faults[name]
            if script:
                return await script.pop(0)(request, lambda: act(request))
            return await act(request)

        return handle

    def _routes(self) -> list[tuple[str, str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]]]:
        return [
            ("GET", "/asterisk/info", "info", self._info),
            ("GET", "/asterisk/variable", "global_variable", self._global_variable),
            ("POST", "/asterisk/variable", "set_global_variable", self._set_global_variable),
            ("GET", "/channels", "list_channels", self._list_channels),
            ("GET", "/bridges", "list_bridges", self._list_bridges),
            ("POST", "/channels/externalMedia", "external_media", self._external_media),
            ("DELETE", "/channels/{id}", "hangup", self._hangup),
            ("POST", "/channels/{id}/answer", "answer", self._answer),
            ("POST", "/channels/{id}/continue", "continue", self._continue),
            ("POST", "/channels/{id}/variable", "variable", self._variable),
            ("GET", "/channels/{id}/variable", "get_variable", self._get_variable),
            ("POST", "/channels/{id}/{verb:ring|play/.*}", "other", self._other),
            ("POST", "/bridges/{id}", "create_bridge", self._create_bridge),
            ("DELETE", "/bridges/{id}", "delete_bridge", self._delete_bridge),
            ("POST", "/bridges/{id}/addChannel", "add_channel", self._add_channel),
        ]

    async def _info(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"system": {"version": self.version}})

    async def _global_variable(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"value": self.globals.get(request.query["variable"], "")})

    async def _set_global_variable(self, request: web.Request) -> web.StreamResponse:
        self.globals[request.query["variable"]] = request.query["value"]
        return web.Response(status=204)

    async def _list_channels(self, _: web.Request) -> web.StreamResponse:
        return web.json_response([channel.json() for channel in self.channels.values()])

    async def _list_bridges(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(
            [{"id": name, "channels": sorted(members)} for name, members in self.bridges.items()]
        )

    async def _external_media(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        assert query["app"] == APP
        self.media_asked = dict(query)
        kind = query["encapsulation"], query["transport"], query["connection_type"]
        variables = dict(_MEDIA_VARIABLES[kind])
        if "UNICASTRTP_LOCAL_PORT" in variables:
            variables["UNICASTRTP_LOCAL_PORT"] = str(self.peer_port)
        channel_id = query["channelId"]
        if channel_id in self.channels:
            return _error(500, "An internal error prevented this request from being handled")
        name = f"UnicastRTP/{query['external_host']}"
        self.channels[channel_id] = FakeChannel(
            channel_id, name, app_name="AppDial2", app_data="", state="Down"
        )
        if query["transport"] == "websocket":
            assert query["transport_data"] == "f(json)"
            self._unopened = channel_id
        elif self.media_start_s is not None and self.media_start_s < 0:
            self._media_enters(channel_id)
            await asyncio.sleep(-self.media_start_s)
        else:
            self._media_enters_soon(channel_id)
        return web.json_response({"id": channel_id, "channelvars": variables})

    async def _media(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=404) if self.media_socket is None else await self.media_socket(request)

    def open_websocket(self) -> None:
        """The bot has opened the media websocket: only now the channel enters the app."""
        self._media_enters_soon(self._unopened)

    def _media_enters_soon(self, channel_id: str) -> None:
        if self.media_start_s is not None:
            loop = asyncio.get_running_loop()
            delay_s = max(0.0, self.media_start_s)
            self._timers.append(loop.call_later(delay_s, self._media_enters, channel_id))

    def _media_enters(self, channel_id: str) -> None:
        channel = self.channels.get(channel_id)
        if channel:
            channel.app_name, channel.app_data, channel.state = "Stasis", APP, "Up"
            self.send("StasisStart", channel=channel.json(), args=[])

    async def _hangup(self, request: web.Request) -> web.StreamResponse:
        channel_id = request.match_info["id"]
        if channel_id not in self.channels:
            return _error(404, "Channel not found")
        self.causes[channel_id] = request.query["reason_code"]
        self.end(channel_id)
        return web.Response(status=204)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        return self._with_channel(request.match_info["id"], lambda channel: setattr(channel, "state", "Up"))

    async def _continue(self, request: web.Request) -> web.StreamResponse:
        where = tuple(
            request.query[key] for key in ("context", "extension", "priority") if key in request.query
        )

        def go(channel: FakeChannel) -> None:
            self.onward[channel.id] = where
            self.end(channel.id)

        return self._with_channel(request.match_info["id"], go)

    async def _get_variable(self, request: web.Request) -> web.StreamResponse:
        """Of functions only those that ask for a place of the dialplan, and for a hold."""
        channel = self.channels.get(request.match_info["id"])
        if channel is None:
            return _error(404, "Channel not found")
        name = request.query["variable"]
        if name == HELD:
            if channel.held is None:
                return _error(500, "Unable to read provided function")
            return web.json_response({"value": "1" if channel.held else "0"})
        place = name.removeprefix("DIALPLAN_EXISTS(").removesuffix(")")
        if place == name:
            return _error(404, "Provided variable was not found")
        return web.json_response({"value": "1" if place in self.places else "0"})

    async def _variable(self, request: web.Request) -> web.StreamResponse:
        said = await request.json()
        return self._with_channel(
            request.match_info["id"],
            lambda channel: self.variables[channel.id].update({said["variable"]: said["value"]}),
        )

    async def _other(self, request: web.Request) -> web.StreamResponse:
        return self._with_channel(request.match_info["id"], lambda _: None)

    def _with_channel(self, channel_id: str, act: Callable[[FakeChannel], object]) -> web.StreamResponse:
        if channel_id not in self.channels:
            return _error(404, "Channel not found")
        act(self.channels[channel_id])
        return web.Response(status=204)

    async def _create_bridge(self, request: web.Request) -> web.StreamResponse:
        bridge_id = request.match_info["id"]
        if bridge_id in self.bridges:
            return _error(409, f"Bridge with id '{bridge_id}' already exists")
        self.bridges[bridge_id] = set()
        return web.json_response({"id": bridge_id, "channels": []})

    async def _delete_bridge(self, request: web.Request) -> web.StreamResponse:
        if self.bridges.pop(request.match_info["id"], None) is None:
            return _error(404, "Bridge not found")
        return web.Response(status=204)

    async def _add_channel(self, request: web.Request) -> web.StreamResponse:
        bridge_id, channel_id = request.match_info["id"], request.query["channel"]
        if bridge_id not in self.bridges:
            return _error(404, "Bridge not found")
        if channel_id not in self.channels:
            return _error(400, "Channel not found")
        if self.channels[channel_id].app_name != "Stasis":
            return _error(422, "Channel not in Stasis application")
        self.bridges[bridge_id].add(channel_id)
        self.joined.append((bridge_id, channel_id))
        return web.Response(status=204)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - nothing tells of a change
            await asyncio.sleep(0.002)


def answers(status: int, message: str = "scripted") -> Fault:
    async def fault(_: web.Request, __: Act) -> web.StreamResponse:
        return _error(status, message)

    return fault


async def hangs(request: web.Request, _: Act) -> web.StreamResponse:
    """Nothing is done, and nothing answered."""
    await request.app[OVER].wait()
    return web.Response()


async def acts_and_hangs(request: web.Request, act: Act) -> web.StreamResponse:
    """It works, but nobody is told."""
    await act()
    return await hangs(request, act)


async def acts_and_drops(request: web.Request, act: Act) -> web.StreamResponse:
    """It works, but the connection dies before the answer."""
    await act()
    assert request.transport
    request.transport.abort()
    return web.Response()


def before(do: Callable[[], object]) -> Fault:
    async def fault(_: web.Request, act: Act) -> web.StreamResponse:
        do()
        return await act()

    return fault


def after(do: Callable[[], object]) -> Fault:
    async def fault(_: web.Request, act: Act) -> web.StreamResponse:
        answer = await act()
        do()
        return answer

    return fault


def _authorised(request: web.Request) -> bool:
    login = base64.b64encode(f"voicebot:{PASSWORD}".encode()).decode()
    return request.headers.get("Authorization") == f"Basic {login}"


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"message": message}, status=status)
