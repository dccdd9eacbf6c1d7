"""One bot process' whole connection to Asterisk: session, event socket, hub and the looks at what Asterisk has."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import NoReturn, Self

import aiohttp

from ..holds import tell_holds
from ..reconcile import end_calls_gone, reconcile
from ..settings import AriSettings
from ..to_its_end import to_its_end
from .backoff import Waits
from .errors import AriError, AriFailure, AriRefused, LegFailed
from .events import StasisStart
from .hub import AriCounts, EventHub
from .names import LegNames, beat_variable
from .rest import Ari, version_warning
from .runs import BEAT_S, LOOK_BESIDE_S, OtherRuns
from .stream import Connected, EventStream, LinkState, Lost

REQUESTS, HAND_BACKS = 6, 3
"""At a time, of all call processes together; more wait. Those that send a caller on have connections of their own, to
wait behind no call that is being connected.

Asterisk listens with a backlog of 10 (main/tcptls.c): of more connections that are opened in the same moment some are
dropped, and tried again by the kernel after a second. So no more calls are connected at a time, each by one request or
one media websocket after the other. http.conf's sessionlimit counts each connection, too.
"""
FEWEST_REQUESTS, FEWEST_HAND_BACKS = 2, 1
LONGEST_RINGING_S = 5.0
"""A caller who waits longer to be connected is sent on: with an Asterisk that hangs, each one before takes seconds."""
KEEP_ALIVE_S = 5.0
"""Below http.conf's session_keep_alive of 15 s: the side that sends closes first, so no request meets a closing."""
LOOK_EVERY_S = 30.0
"""Asterisk is looked over this often even when nothing asks for it, and no other run lives."""
LOOK_PAUSE_S = 1.0
"""At least this long between two looks."""
FAILED_LOOKS = 3
"""After so many in a row callers had better go elsewhere."""
NO_CALL = "0"
"""No call has this id."""
DEFAULT_WAITS = Waits()

log = logging.getLogger(__name__)


class AriLink:
    """Owns everything between the bot and Asterisk. Use as `async with`, then `await link.run()`.

    `instance` names this bot: the same after a restart, unlike every other's on this Asterisk; `run` this process.
    `on_call` gets each caller once, `on_state` each change of the connection, `on_handed_back` the VOICEBOT_REASON of
    each caller whom a look sent on. All are called in place and must not block. `processes` share this Asterisk.

    `ari` is for all requests but those that send a caller on, which go by `exits`; `building` is held while a call is
    connected. That this process lives is told on a connection that waits for nobody.
    """

    def __init__(
        self,
        settings: AriSettings,
        instance: str,
        on_call: Callable[[StasisStart], None],
        on_state: Callable[[LinkState], None],
        waits: Waits = DEFAULT_WAITS,
        *,
        run: str = "",
        processes: int = 1,
        on_handed_back: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._on_state = on_state
        self._waits = waits
        self._processes = processes
        self._look = asyncio.Event()
        self._unheard = asyncio.Event()
        self._version_checked = 0
        self._may_hold: set[str] = set()
        self._failed_looks = 0
        self.counts = AriCounts()
        self.hub = EventHub(LegNames(instance, run), on_call, self._look.set, self.counts)
        self._runs = OtherRuns()
        self._on_handed_back = on_handed_back
        self._refused: asyncio.Queue[AriRefused] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        password = self._settings.password.get_secret_value() if self._settings.password else ""
        login = {"Authorization": aiohttp.encode_basic_auth(self._settings.username, password)}
        # a session of its own, so that no pool limit ever counts the event socket
        self._socket_session = aiohttp.ClientSession(headers=login, timeout=aiohttp.ClientTimeout(total=None))
        requests = max(FEWEST_REQUESTS, REQUESTS // self._processes)
        hand_backs = max(FEWEST_HAND_BACKS, HAND_BACKS // self._processes)
        self._session = self._pool(login, requests)
        self._exit_session = self._pool(login, hand_backs)
        self._life_session = self._pool(login, 1)
        self.ari = self._rest(self._session, requests)
        self.exits = self._rest(self._exit_session, hand_backs)
        self._life = self._rest(self._life_session, 1)
        self._building = asyncio.Semaphore(requests)
        self._stream = EventStream(
            self._socket_session, self._settings, self.hub.dispatch, self._changed, self.counts, self._waits
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
        await self._exit_session.close()
        await self._life_session.close()
        await self._socket_session.close()

    def _pool(self, login: Mapping[str, str], limit: int) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=limit, keepalive_timeout=KEEP_ALIVE_S)
        return aiohttp.ClientSession(headers=login, connector=connector)

    def _rest(self, session: aiohttp.ClientSession, connections: int) -> Ari:
        settings = self._settings
        limit_s = settings.request_timeout_s
        told = self._refused.put_nowait
        return Ari(session, settings.url, settings.app, settings.username, limit_s, connections, told)

    @asynccontextmanager
    async def building(self, channel_id: str, call_id: str) -> AsyncIterator[None]:
        """To be held while a call is connected. Raises LegFailed for one whose turn does not come."""
        try:
            async with asyncio.timeout(LONGEST_RINGING_S):
                await self._building.acquire()
        except TimeoutError as error:
            reason = f"others were being connected for {LONGEST_RINGING_S:g} s"
            raise LegFailed(call_id, reason, caller_gone=channel_id not in self.hub.callers) from error
        try:
            yield
        finally:
            self._building.release()

    @property
    def connected(self) -> bool:
        """Whether events arrive."""
        return self._stream.connected

    @property
    def answers(self) -> bool:
        """Whether requests get what they ask for: events may go on to arrive when they do not."""
        return self._failed_looks < FAILED_LOOKS

    async def run(self) -> NoReturn:
        """Until cancelled. Raises AriRefused (of any request, a call's too), AppReplaced or AsteriskTooOld, which no
        retry mends.

        `ari` works on after that, until the link is left: running calls can be brought to their end.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._stream.run(), name="ari-events")
                group.create_task(self._keep_looking(), name="ari-reconcile")
                group.create_task(self._show_life_unheard(), name="ari-life")
                group.create_task(self._until_refused(), name="ari-refused")
        except* AriFailure as failures:
            fatal = failures
        raise _first(fatal)

    async def ask_after_calls(self) -> None:
        """After AppReplaced: no event comes any more, so ask now and then who is gone or on hold. Raises AriError."""
        await end_calls_gone(self.ari, self.hub)
        await tell_holds(self.hub.callers, self.ari, self.hub)

    async def show_life(self) -> NoReturn:
        """After AppReplaced, until cancelled: tell the newcomer that the calls of this run are not left alone."""
        variable, beat = beat_variable(self.hub.names.run), 0
        try:
            while True:
                beat += 1
                await self._tell(variable, str(beat))
                await asyncio.sleep(BEAT_S)
        finally:
            await to_its_end(self._tell(variable, ""))

    async def _show_life_unheard(self) -> NoReturn:
        """Without events we are not told that another process takes the app: it shall leave our calls alone."""
        variable = beat_variable(self.hub.names.run)
        while True:
            await self._unheard.wait()
            beat = 0
            while self._unheard.is_set():
                if self.hub.callers:
                    beat += 1
                    await self._tell(variable, str(beat), logging.DEBUG)  # Asterisk may well be down
                await asyncio.sleep(BEAT_S)
            if beat:
                await self._tell(variable, "")

    async def _until_refused(self) -> NoReturn:
        raise await self._refused.get()

    async def _tell(self, variable: str, value: str, level: int = logging.WARNING) -> None:
        try:
            await self._life.set_global_variable(variable, value)
        except AriError as error:
            log.log(level, "could not tell that this process lives: %s", error)

    def _changed(self, state: LinkState) -> None:
        if isinstance(state, Connected):
            self._look.set()
            self._may_hold |= set(self.hub.callers)
            self._unheard.clear()
        elif isinstance(state, Lost):
            self._unheard.set()
        self._on_state(state)

    async def _keep_looking(self) -> NoReturn:
        while True:
            try:
                beside = self._runs.alive(asyncio.get_running_loop().time())
                async with asyncio.timeout(LOOK_BESIDE_S if beside else LOOK_EVERY_S):
                    await self._look.wait()
            except TimeoutError:
                pass
            self._look.clear()
            if not self.connected:
                continue
            try:
                await self._check_asterisk()
                await reconcile(self.ari, self.hub, self._runs, self._on_handed_back)
                await self._ask_for_holds()
                self._failed_looks = 0
            except AriRefused:
                raise
            except AriError as error:
                log.warning("could not compare calls with Asterisk, trying again: %s", error)
                # one that will not be ended is no reason to take no others
                self._failed_looks = self._failed_looks + 1 if error.method == "GET" else 0
                self._look.set()
            await asyncio.sleep(LOOK_PAUSE_S)

    async def _ask_for_holds(self) -> None:
        """Of those who were here in a gap: whether it was told cannot be known."""
        asked, self._may_hold = self._may_hold, set()
        try:
            await tell_holds(asked, self.ari, self.hub)
        except AriError:
            self._may_hold |= asked
            raise

    async def _check_asterisk(self) -> None:
        """Once for each connection, for a new one may be to a new Asterisk: is it new enough, and may we change things?

        A user that may only read is refused before its first caller comes, by deleting what is not there.
        """
        connection = self.counts.connections
        if connection == self._version_checked:
            return
        await self.ari.delete_bridge(self.hub.names.bridge_id(NO_CALL))
        warning = version_warning(await self.ari.version())
        if warning is not None:
            log.warning("%s", warning)
        self._version_checked = connection


def _first(failures: BaseExceptionGroup[AriFailure]) -> AriFailure:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
