"""The event socket: connect, read, and connect again for as long as it takes."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import aiohttp

from ..settings import AriSettings
from .backoff import Backoff, NoPage, Waits, asterisk_ended, longest_wait_s
from .errors import AppReplaced, AriEventError, AriRefused
from .events import ApplicationReplaced, AriEvent, parse_event
from .hub import AriCounts

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Longer than any event may be (events.MAX_EVENT_CHARS), so that an oversized one is ignored and not a lost socket."""
CLOSE_S = 1.0
_EVENTS = "/ari/events"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connected:
    """Events arrive; what happened before is not told again."""


@dataclass(frozen=True, slots=True)
class Lost:
    """No events until Connected. Calls and their media go on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Down:
    """After Lost: Asterisk's port is closed, or Asterisk is starting. So the one we knew has probably ended."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """Another client has taken over the app, for good."""


LinkState = Connected | Lost | Down | Replaced


@dataclass(frozen=True, slots=True)
class _Failure:
    reason: str
    lived_s: float = 0.0
    status: int | None = None
    refused: bool = False


class EventStream:
    """Gives each event to `on_event` and each change of the connection to `on_state`, both called in place."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        settings: AriSettings,
        on_event: Callable[[AriEvent], None],
        on_state: Callable[[LinkState], None],
        counts: AriCounts,
        waits: Waits,
    ) -> None:
        self._session = session
        self._settings = settings
        self._on_event = on_event
        self._on_state = on_state
        self._counts = counts
        self._waits = waits
        self._backoff = Backoff(waits)
        self._no_page = NoPage(waits)
        self.connected = False
        self._was_up = False
        self._outage_told = True

    async def run(self) -> NoReturn:
        """Until cancelled. Raises AriRefused (401, 403) and AppReplaced; everything else is tried again."""
        while True:
            failure = await self._connection()
            longest_s = longest_wait_s(self._waits, failure.status, failure.refused)
            if longest_s is None:
                raise AriRefused(failure.status or 0, "GET", "/events", self._settings.username)
            if self._was_up and asterisk_ended(failure.status, failure.refused):
                self._was_up = False
                self._on_state(Down())
            self._backoff.lost(failure.lived_s)
            # one line for each outage, not for each try nor for each of a row of connections that die young
            new = self._backoff.failures == 0 or failure.lived_s > self._waits.most_s
            self._outage_told |= new
            level = logging.WARNING if new else logging.DEBUG
            log.log(level, "no ARI events from %s: %s; trying again", self._settings.url, failure.reason)
            if self._no_page.lasts(failure.status, asyncio.get_running_loop().time()):
                log.error(
                    "%s still answers HTTP 404 to %s: ari.url in voicebot.yaml must be Asterisk's HTTP server with the"
                    " `prefix` of its http.conf, if there is one, and no /ari behind it; and ARI must be loaded (see"
                    " `module show like res_ari` and `http show status`)",
                    self._settings.url,
                    _EVENTS,
                )
            await asyncio.sleep(self._backoff.next_s(longest_s, random.random()))  # noqa: S311 - jitter

    async def _connection(self) -> _Failure:
        """One connection from its start to its end."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._settings.request_timeout_s):
                socket = await self._open()
        except aiohttp.WSServerHandshakeError as error:
            return _Failure(f"HTTP {error.status}", status=error.status)
        except aiohttp.ClientConnectorError as error:
            refused = isinstance(error.os_error, ConnectionRefusedError)
            return _Failure(f"cannot connect: {error.strerror}", refused=refused)
        except TimeoutError:
            return _Failure(f"no answer within {self._settings.request_timeout_s:g} s")
        except aiohttp.ClientError as error:
            return _Failure(type(error).__name__)
        began = loop.time()
        self._went_up()
        try:
            reason = await self._read(socket)
        finally:
            self.connected = False
            await socket.close()
        self._counts.lost_connections += 1
        self._on_state(Lost(reason))
        return _Failure(reason, lived_s=loop.time() - began)

    async def _open(self) -> aiohttp.ClientWebSocketResponse:
        return await self._session.ws_connect(
            self._settings.url.rstrip("/") + _EVENTS,
            params={"app": self._settings.app, "subscribeAll": "false"},
            heartbeat=self._settings.heartbeat_s,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
            max_msg_size=MAX_MESSAGE_BYTES,
        )

    def _went_up(self) -> None:
        # and one line for its end
        level = logging.INFO if self._outage_told else logging.DEBUG
        log.log(level, "ARI events from %s for app %s", self._settings.url, self._settings.app)
        self._outage_told = False
        self._counts.connections += 1
        self.connected = self._was_up = True
        self._on_state(Connected())

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> str:
        """Read until the socket ends. Returns why it did."""
        async for message in socket:
            if message.type is aiohttp.WSMsgType.ERROR:
                break
            self._take(message)
        error = socket.exception()
        return (
            f"closed with code {socket.close_code}" if error is None else f"{type(error).__name__}: {error}"
        )

    def _take(self, message: aiohttp.WSMessage) -> None:
        if message.type is not aiohttp.WSMsgType.TEXT:
            self._ignored("binary")
            return
        try:
            event = parse_event(message.data)
        except AriEventError as error:
            self._ignored(str(error))
            return
        if isinstance(event, ApplicationReplaced):
            self._on_state(Replaced())
            raise AppReplaced(self._settings.app)
        try:
            self._on_event(event)
        except Exception:  # the event fence: one call's defect must not end all calls
            self._counts.failed_handlers += 1
            log.exception("an ARI event could not be handled")

    def _ignored(self, reason: str) -> None:
        self._counts.malformed_events += 1
        log.debug("ignored an ARI message: %s", reason)
