"""The caller's media: one leg from Asterisk to the bot, in one bridge with the caller.

The bridge and the leg carry ids of our own, so each step can be undone even when its answer never came.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from media_bridge.errors import MediaError
from media_bridge.transport import Offer, Peer

from .ari.errors import AriError, AriRefused, LegFailed
from .ari.events import ENDINGS, StasisStart
from .ari.hub import EventHub, Subscription
from .ari.names import LegNames
from .seams import CallRequests
from .to_its_end import to_its_end

STASIS_START_S = 3.5
"""How long the leg's own StasisStart may take after Asterisk has made it (docs/decisions/0019); a few milliseconds are
usual. The caller's phone rings meanwhile."""
HANG_UP_TOLD_S = 0.25
"""How long a refused request may come before the event that explains it."""
UNDO_S = 6.0
"""The most an exit may take: each of its two requests has its own limit below that."""

HUNG_UP = "the caller hung up"

Undo = Callable[[], Coroutine[object, object, None]]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Leg:
    """A built leg."""

    channel_id: str
    bridge_id: str


@asynccontextmanager
async def external_leg(
    ari: CallRequests,
    hub: EventHub,
    caller_channel_id: str,
    call_id: str,
    offer: Offer,
    connect: Callable[[Peer], Awaitable[None]],
    start_limit_s: float = STASIS_START_S,
) -> AsyncIterator[Leg]:
    """Build the leg, answer the caller, and on exit remove leg and bridge. The caller itself is not hung up.

    `offer`: what Asterisk is told of the bot's end. `connect` is awaited once Asterisk has made its own, and joins the
    two; it may raise MediaError. Raises LegFailed (also when the caller hangs up meanwhile), after undoing whatever
    was begun; AriRefused.

    The caller is answered last. No sound can be lost between answer and media, for the media path is complete when
    the phone's line opens; and a leg that fails leaves a caller who was never answered, whom the dialplan can give to
    another process or refuse with cause 34, which becomes SIP 503: a proxy tries elsewhere. Building takes some 5 ms.
    """
    names = hub.names
    if caller_channel_id not in hub.callers:
        raise LegFailed(call_id, HUNG_UP, caller_gone=True)
    media_id = names.media_channel_id(call_id)
    async with _leg_undone_at_exit(hub, call_id) as begun:
        with hub.subscribe(caller_channel_id, media_id) as events:
            build = _Build(ari, events, call_id, caller_channel_id, begun)
            leg = await build.run(names, offer, connect, start_limit_s)
        yield leg


class _Build:
    """The steps, in order. What can be undone goes to `begun` before it is asked for."""

    def __init__(
        self, ari: CallRequests, events: Subscription, call_id: str, caller_channel_id: str, begun: list[Undo]
    ) -> None:
        self._ari = ari
        self._events = events
        self._call_id = call_id
        self._caller = caller_channel_id
        self._begun = begun

    async def run(
        self, names: LegNames, offer: Offer, connect: Callable[[Peer], Awaitable[None]], limit_s: float
    ) -> Leg:
        ari, bridge_id, media_id = (
            self._ari,
            names.bridge_id(self._call_id),
            names.media_channel_id(self._call_id),
        )
        try:
            self._begun.append(lambda: ari.delete_bridge(bridge_id))
            await ari.create_bridge(bridge_id)
            await self._with_caller(ari.add_channel(bridge_id, self._caller))
            self._begun.append(lambda: ari.hangup(media_id))
            await self._joined(connect(await ari.external_media(media_id, offer)))
            # over a websocket the channel enters the app only after it is open
            await self._media_started(media_id, limit_s)
            await ari.add_channel(bridge_id, media_id)
            await self._with_caller(ari.answer(self._caller))
        except AriRefused:
            raise
        except AriError as error:
            raise LegFailed(self._call_id, str(error)) from error
        return Leg(media_id, bridge_id)

    async def _joined(self, connecting: Awaitable[None]) -> None:
        try:
            await connecting
        except MediaError as error:
            hung_up = await self._caller_leaves()
            raise LegFailed(self._call_id, HUNG_UP if hung_up else str(error), caller_gone=hung_up) from error

    async def _with_caller(self, request: Coroutine[object, object, None]) -> None:
        try:
            await request
        except AriError as error:
            if error.status is None or error.message == "Bridge not found":
                raise
            # answering a call that is being cancelled is a bare 500, and its end is told right afterwards
            if error.gone or await self._caller_leaves():
                raise LegFailed(self._call_id, HUNG_UP, caller_gone=True) from error
            raise

    async def _caller_leaves(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(HANG_UP_TOLD_S):
                async for event in self._events:
                    if isinstance(event, ENDINGS) and event.channel_id == self._caller:
                        return True
        return False

    async def _media_started(self, media_id: str, limit_s: float) -> None:
        """Wait for the leg's StasisStart, which may be here already: addChannel before it is a 422."""
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    event = await anext(self._events)
                    if isinstance(event, ENDINGS):
                        hung_up = event.channel_id == self._caller
                        reason = HUNG_UP if hung_up else "the media channel ended at once"
                        raise LegFailed(self._call_id, reason, caller_gone=hung_up)
                    if isinstance(event, StasisStart) and event.channel_id == media_id:
                        return
        except TimeoutError as error:
            raise LegFailed(self._call_id, f"no StasisStart of {media_id} within {limit_s:g} s") from error


@asynccontextmanager
async def _leg_undone_at_exit(hub: EventHub, call_id: str) -> AsyncIterator[list[Undo]]:
    """On exit run what was put into the list, last first, even when cancelled."""
    begun: list[Undo] = []
    doubtful, undone = True, False
    try:
        with hub.leg(call_id):
            try:
                yield begun
                doubtful = False
            finally:
                undone = await to_its_end(_undo(call_id, begun))
    finally:
        if doubtful or not undone:
            # a request that failed may still take effect in Asterisk, after its undoing
            hub.doubt()


async def _undo(call_id: str, begun: list[Undo]) -> bool:
    """Whether all of it was done."""
    undone = True
    try:
        async with asyncio.timeout(UNDO_S):
            for step in reversed(begun):
                try:
                    await step()
                except AriRefused:
                    undone = False  # the link has been told, and ends with it
                except AriError as error:
                    undone = False
                    log.warning("call %s: left behind until the next look: %s", call_id, error)
    except TimeoutError:
        undone = False
        log.warning("call %s: left behind until the next look: no end within %g s", call_id, UNDO_S)
    return undone
