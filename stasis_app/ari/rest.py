"""ARI's REST calls, as many as the bot makes, typed. Source: rest-api/api-docs of Asterisk 22.

Every request has one time limit for all of it, which begins when one of the few connections is free for it. A
connection that dies before the answer leaves open whether Asterisk acted; only requests that may run twice without
harm (they carry an id of ours, or set what is set) are then sent once more. Nothing is repeated after a time limit.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote

import aiohttp
from yarl import URL

from media_bridge.transport import ConnectsToUs, MediaUrl, Offer, Peer, RtpAddress

from .errors import AriError, AriEventError, AriRefused, AsteriskTooOld
from .events import Bridge, Channel, parse_bridge, parse_channel

OLDEST_VERSION = (18, 0)
"""externalMedia reports where to send the sound (UNICASTRTP_LOCAL_*) in all of 18."""
SAFE_VERSION = (22, 10, 1)
"""Tested, and the first of 22 with the mend of CVE-2026-57191."""

NORMAL_CLEARING = 16
"""Q.850 cause of a call that ended as it should."""

LONGEST_QUEUE_S = 10.0
"""How long a request waits for a connection: at an Asterisk that answers, many hundreds go before it meanwhile."""

_MAX_MESSAGE = 200
_MODULES = {"rtp": "chan_rtp.so", "websocket": "chan_websocket.so", "audiosocket": "chan_audiosocket.so"}

Model = TypeVar("Model")
Query = Mapping[str, str]
_NOTHING: Query = MappingProxyType({})


class Ari:
    """Raises AriError (AriRefused for 401 and 403) from every method."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        app: str,
        username: str,
        timeout_s: float,
        connections: int,
        on_refused: Callable[[AriRefused], object] = lambda _: None,
    ) -> None:
        """`session` carries the login and has so many `connections`; `url` is Asterisk's HTTP server with its prefix,
        without /ari. `on_refused` is told of each AriRefused, whoever asked: no retry mends it.
        """
        self.app = app
        self._session = session
        self._root = url.rstrip("/")
        self._base = self._root + "/ari"
        self._username = username
        self._timeout_s = timeout_s
        self._on_refused = on_refused
        # aiohttp's own limit would count the wait for a connection as Asterisk's
        self._free = asyncio.Semaphore(connections)

    async def version(self) -> str:
        answer = await self._call("GET", "/asterisk/info", {"only": "system"})
        system = answer.get("system") if isinstance(answer, dict) else None
        version = system.get("version") if isinstance(system, dict) else None
        return version if isinstance(version, str) else ""

    async def list_channels(self) -> list[Channel]:
        return await self._list("/channels", parse_channel)

    async def list_bridges(self) -> list[Bridge]:
        return await self._list("/bridges", parse_bridge)

    async def answer(self, channel_id: str) -> None:
        await self._call("POST", f"/channels/{_part(channel_id)}/answer")

    async def ring(self, channel_id: str) -> None:
        await self._call("POST", f"/channels/{_part(channel_id)}/ring")

    async def hangup(self, channel_id: str, cause: int = NORMAL_CLEARING) -> None:
        """End the channel; one that is gone is well ended. `cause` is Q.850."""
        await self._delete(f"/channels/{_part(channel_id)}", {"reason_code": str(cause)})

    async def continue_in_dialplan(
        self,
        channel_id: str,
        context: str | None = None,
        exten: str | None = None,
        priority: int | None = None,
    ) -> None:
        """Let the channel go on in the dialplan: behind its Stasis() step, or where told."""
        place = {
            "context": context,
            "extension": exten,
            "priority": None if priority is None else str(priority),
        }
        given = {name: value for name, value in place.items() if value is not None}
        # once the channel is on its way it may come back into Stasis as a new call: not to be repeated
        await self._call("POST", f"/channels/{_part(channel_id)}/continue", given, tries=1)

    async def set_variable(self, channel_id: str, name: str, value: str) -> None:
        await self._call(
            "POST", f"/channels/{_part(channel_id)}/variable", body={"variable": name, "value": value}
        )

    async def channel_variable(self, channel_id: str, name: str) -> str | None:
        """The value of a variable of the channel, or of a function like `DIALPLAN_EXISTS(context,extension,1)`."""
        answer = await self._call("GET", f"/channels/{_part(channel_id)}/variable", {"variable": name})
        value = answer.get("value") if isinstance(answer, dict) else None
        return value if isinstance(value, str) else None

    async def global_variable(self, name: str) -> str:
        """The value of a global variable of Asterisk's; "" for one that was never set."""
        try:
            answer = await self._call("GET", "/asterisk/variable", {"variable": name})
        except AriError as error:
            if error.status != 404:
                raise
            return ""
        value = answer.get("value") if isinstance(answer, dict) else None
        return value if isinstance(value, str) else ""

    async def set_global_variable(self, name: str, value: str) -> None:
        await self._call("POST", "/asterisk/variable", {"variable": name, "value": value})

    async def external_media(self, channel_id: str, offer: Offer) -> Peer:
        """Make a media channel under our own `channel_id`; returns where its other end is.

        It enters the app by itself, over a websocket only once that is open, and may be bridged only after its
        own StasisStart.
        """
        path = "/channels/externalMedia"
        ask = {"channelId": channel_id, "app": self.app, "format": offer.medium.codec, **_end(offer)}
        # not repeated: a second request for a channel id that exists is a bare 500
        try:
            answer = await self._call("POST", path, ask, tries=1)
        except AriError as error:
            if error.status != 500:
                raise
            module = _MODULES[offer.medium.transport]
            hint = f"{error.message} (Asterisk says no more; does it load {module}? See `module show like {module}`)"
            raise AriError(500, "POST", path, hint) from error
        found = answer.get("channelvars") if isinstance(answer, dict) else None
        return self._peer(offer, path, found if isinstance(found, dict) else {})

    def _peer(self, offer: Offer, path: str, variables: Mapping[str, object]) -> Peer:
        """Raises AriError when Asterisk does not tell what is needed."""
        match offer.medium.transport:
            case "rtp":
                host, port = (variables.get(f"UNICASTRTP_LOCAL_{name}") for name in ("ADDRESS", "PORT"))
                if (
                    isinstance(host, str)
                    and host
                    and isinstance(port, str)
                    and re.fullmatch("[0-9]{1,5}", port)
                ):
                    return RtpAddress(host, int(port))
                wanted = "UNICASTRTP_LOCAL_ADDRESS and _PORT"
            case "websocket":
                connection = variables.get("MEDIA_WEBSOCKET_CONNECTION_ID")
                if isinstance(connection, str) and connection:
                    return MediaUrl(f"{self._root.replace('http', 'ws', 1)}/media/{_part(connection)}")
                wanted = "MEDIA_WEBSOCKET_CONNECTION_ID"
            case "audiosocket":
                return ConnectsToUs()
        raise AriError(200, "POST", path, f"no {wanted} in the answer")

    async def create_bridge(self, bridge_id: str) -> None:
        """A mixing bridge under our own id; one that exists already is fine."""
        try:
            await self._call("POST", f"/bridges/{_part(bridge_id)}", {"type": "mixing", "name": bridge_id})
        except AriError as error:
            if error.status != 409:
                raise

    async def add_channel(self, bridge_id: str, channel_id: str) -> None:
        await self._call("POST", f"/bridges/{_part(bridge_id)}/addChannel", {"channel": channel_id})

    async def delete_bridge(self, bridge_id: str) -> None:
        """One that is gone is well deleted."""
        await self._delete(f"/bridges/{_part(bridge_id)}")

    async def play(self, channel_id: str, media: str, playback_id: str) -> None:
        """Play `media` (sound:..., tone:...) under our own id; PlaybackFinished tells the end."""
        await self._call("POST", f"/channels/{_part(channel_id)}/play/{_part(playback_id)}", {"media": media})

    async def _delete(self, path: str, query: Query = _NOTHING) -> None:
        try:
            await self._call("DELETE", path, query)
        except AriError as error:
            if error.status != 404:
                raise

    async def _list(self, path: str, parse: Callable[[object], Model]) -> list[Model]:
        answer = await self._call("GET", path)
        if not isinstance(answer, list):
            raise AriError(200, "GET", path, "the answer is not a list")
        try:
            return [parse(item) for item in answer]
        except AriEventError as error:
            raise AriError(200, "GET", path, str(error)) from error

    async def _call(
        self, method: str, path: str, query: Query = _NOTHING, *, body: Query | None = None, tries: int = 2
    ) -> object:
        """Send one request, up to `tries` times if its connection dies. Returns the JSON answer."""
        while True:
            tries -= 1
            await self._turn_comes(method, path)
            try:
                return await self._send(method, path, query, body)
            except TimeoutError as error:
                raise AriError(None, method, path, f"nothing within {self._timeout_s:g} s") from error
            except aiohttp.ClientConnectorError as error:
                # the system's own words: aiohttp's hold more than is wanted in a log
                raise AriError(None, method, path, f"cannot connect: {error.strerror}") from error
            except aiohttp.ClientError as error:
                if tries <= 0:
                    raise AriError(None, method, path, f"connection lost ({type(error).__name__})") from error
            finally:
                self._free.release()

    async def _turn_comes(self, method: str, path: str) -> None:
        try:
            async with asyncio.timeout(LONGEST_QUEUE_S):
                await self._free.acquire()
        except TimeoutError as error:
            raise AriError(
                None, method, path, f"no connection was free within {LONGEST_QUEUE_S:g} s"
            ) from error

    async def _send(self, method: str, path: str, query: Query, body: Query | None) -> object:
        url = URL(self._base + path, encoded=True)
        limit = aiohttp.ClientTimeout(total=self._timeout_s)
        async with self._session.request(method, url, params=query, json=body, timeout=limit) as response:
            text = await response.text(errors="replace")
        if response.status in (401, 403):
            refused = AriRefused(response.status, method, path, self._username)
            self._on_refused(refused)
            raise refused
        try:
            answer: object = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError) as error:
            if response.ok:
                raise AriError(response.status, method, path, "the answer is not JSON") from error
            answer = None
        if not response.ok:
            said = answer.get("message") if isinstance(answer, dict) else None
            message = str(said or response.reason)[:_MAX_MESSAGE].encode(errors="replace").decode()
            raise AriError(response.status, method, path, message)
        return answer


def version_warning(version: str) -> str | None:
    """What to tell the admin about this Asterisk; None when all is well. Raises AsteriskTooOld below 18.

    `version` as in asterisk/info: 22.10.1, 20.6.0~dfsg+~cs6, certified/18.9-cert5, GIT-master-0a1b2c3.
    """
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if found is None:
        return f"cannot tell the version of Asterisk from {version[:_MAX_MESSAGE]!r}; 22.10.1 is tested"
    number = (int(found[1]), int(found[2]), int(found[3] or 0))
    if number[:2] < OLDEST_VERSION:
        raise AsteriskTooOld(
            f"Asterisk {version[:_MAX_MESSAGE]} is too old: 18 or newer is needed, 22.10.1 tested"
        )
    if number < SAFE_VERSION:
        return (
            f"Asterisk {version[:_MAX_MESSAGE]} is older than 22.10.1, which was tested with this bot and "
            "closes security holes of the versions before; see which release of yours does"
        )
    return None


def _end(offer: Offer) -> Query:
    """What externalMedia is asked for, beside the codec."""
    place = f"[{offer.host}]:{offer.port}" if ":" in offer.host else f"{offer.host}:{offer.port}"
    match offer.medium.transport:
        case "rtp":
            kind = {"encapsulation": "rtp", "transport": "udp", "connection_type": "client"}
            return kind | {"external_host": place, "direction": "both"}
        case "websocket":
            kind = {"encapsulation": "none", "transport": "websocket", "connection_type": "server"}
            return kind | {"external_host": "INCOMING", "transport_data": "f(json)"}
        case "audiosocket":
            kind = {"encapsulation": "audiosocket", "transport": "tcp", "connection_type": "client"}
            return kind | {"external_host": place, "data": offer.token, "direction": "both"}


def _part(value: str) -> str:
    return quote(value, safe="")
