"""Who gets which event: subscriptions by channel id, and the books of what is live."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Self

from .events import (
    ENDINGS,
    AriEvent,
    Channel,
    ChannelEvent,
    ChannelGone,
    PlaybackFinished,
    StasisEnd,
    StasisStart,
)
from .names import LegNames, is_media_channel

MAX_WAITING = 256
"""Events one subscriber may leave unread: minutes of a caller pressing keys as fast as a phone sends them."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class AriCounts:
    """For the metrics: each only grows."""

    events: int = 0
    malformed_events: int = 0
    """Garbage, binary or oversized messages, ignored."""
    foreign_events: int = 0
    """Of channels nobody here listens to."""
    duplicate_starts: int = 0
    """StasisStart of a caller that is already here, ignored."""
    dropped_events: int = 0
    """A subscriber did not read fast enough."""
    failed_handlers: int = 0
    """Defects of the bot: see the log."""
    connections: int = 0
    lost_connections: int = 0


class Subscription:
    """The events of some channels in the order they came: `async for event in subscription`. It never ends by itself.

    As a context manager it stops listening on exit.
    """

    def __init__(self, hub: "EventHub", channel_ids: tuple[str, ...]) -> None:
        self._hub = hub
        self._channel_ids = channel_ids
        self._waiting: asyncio.Queue[AriEvent] = asyncio.Queue()

    def __enter__(self) -> Self:
        for channel_id in self._channel_ids:
            self._hub._subscribers.setdefault(channel_id, []).append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for channel_id in self._channel_ids:
            listeners = self._hub._subscribers[channel_id]
            listeners.remove(self)
            if not listeners:
                del self._hub._subscribers[channel_id]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AriEvent:
        return await self._waiting.get()

    def unread(self) -> list[AriEvent]:
        """What has come and was not read yet; now it is."""
        return [self._waiting.get_nowait() for _ in range(self._waiting.qsize())]

    def _offer(self, event: AriEvent) -> bool:
        """The end of a channel gets through when a flood of its digits does not."""
        room = 2 * MAX_WAITING if isinstance(event, ENDINGS) else MAX_WAITING
        if self._waiting.qsize() >= room:
            return False
        self._waiting.put_nowait(event)
        return True


class EventHub:
    """Routes events to subscribers, and keeps which callers and legs are live.

    `on_call` is told of each caller once, when it enters the app. It runs inside the dispatch: subscribe in it, or in
    the first step of the task it starts, to miss nothing. `on_doubt` asks for a look at what Asterisk really has.
    """

    def __init__(
        self,
        names: LegNames,
        on_call: Callable[[StasisStart], None],
        on_doubt: Callable[[], None],
        counts: AriCounts,
    ) -> None:
        self.names = names
        self.counts = counts
        self._on_call = on_call
        self._on_doubt = on_doubt
        self._subscribers: dict[str, list[Subscription]] = {}
        self._callers: dict[str, Channel] = {}
        self._left: set[str] = set()
        self._legs: set[str] = set()

    @property
    def callers(self) -> Mapping[str, Channel]:
        """Callers in the app, by channel id: from their StasisStart to their end.

        One object is one visit: a caller who comes back from the dialplan has the same id and another object.
        """
        return MappingProxyType(self._callers)

    @property
    def unserved(self) -> frozenset[str]:
        """Callers in the app whom nobody listens to: their call has not begun yet, or is over."""
        return frozenset(self._callers.keys() - self._subscribers.keys())

    @property
    def legs(self) -> frozenset[str]:
        """Call ids whose media channel or bridge exists, is being made or is being undone."""
        return frozenset(self._legs)

    def subscribe(self, *channel_ids: str) -> Subscription:
        return Subscription(self, channel_ids)

    @contextmanager
    def leg(self, call_id: str) -> Iterator[None]:
        """Meanwhile the call's media channel and bridge are not leftovers. Raises ValueError for a call id in use."""
        if call_id in self._legs:
            raise ValueError(f"call id {call_id!r} is in use")
        self._legs.add(call_id)
        try:
            yield
        finally:
            self._legs.remove(call_id)

    def dispatch(self, event: AriEvent) -> None:
        self.counts.events += 1
        if isinstance(event, StasisStart) and not is_media_channel(event.channel_id):
            self._caller_came(event)
        elif isinstance(event, ChannelEvent | PlaybackFinished):
            heard = self._deliver(event.channel_id, event)
            if isinstance(event, StasisEnd):
                heard = self._forget(event.channel_id) is not None or heard
            if not heard and event.channel_id not in self._callers:
                self._nobody_heard(event)

    def doubt(self) -> None:
        """Something may have been left behind in Asterisk."""
        self._on_doubt()

    def gone(self, channel_id: str) -> None:
        """A caller ended unheard: tell its subscribers with ChannelGone."""
        channel = self._forget(channel_id)
        if channel is not None:
            self._deliver(channel_id, ChannelGone(channel))

    def left(self, visit: Channel) -> None:
        """A caller was sent away, and Asterisk has done it: should they come back, that is no duplicate.

        The StasisEnd of this visit may be told before or after this, or be lost in a gap.
        """
        if self._is_here(visit):
            self._left.add(visit.id)

    def abandon(self, visit: Channel) -> None:
        """A caller whom nobody serves any more, and who could not be sent away: the next look finds out what to do."""
        if self._is_here(visit):
            self._forget(visit.id)
        self._on_doubt()

    def tell(self, event: ChannelEvent) -> None:
        """What was found out of a channel by asking: its subscribers get it like an event of Asterisk's."""
        self._deliver(event.channel_id, event)

    def adopt(self, channel: Channel) -> None:
        """A caller is in the app whose StasisStart was not heard."""
        if channel.id in self.unserved:
            self._forget(channel.id)  # an earlier visit, whose end was not heard either
        self._caller_came(StasisStart(channel, channel.app_args))

    def _caller_came(self, event: StasisStart) -> None:
        if event.channel_id in self._callers.keys() - self._left:
            self.counts.duplicate_starts += 1
            return
        self._left.discard(event.channel_id)
        self._callers[event.channel_id] = event.channel
        self._on_call(event)

    def _is_here(self, visit: Channel) -> bool:
        return self._callers.get(visit.id) is visit

    def _forget(self, channel_id: str) -> Channel | None:
        self._left.discard(channel_id)
        return self._callers.pop(channel_id, None)

    def _deliver(self, channel_id: str, event: AriEvent) -> bool:
        """Returns whether anybody listens."""
        listeners = self._subscribers.get(channel_id, ())
        for listener in listeners:
            if not listener._offer(event):
                self.counts.dropped_events += 1
        return bool(listeners)

    def _nobody_heard(self, event: ChannelEvent | PlaybackFinished) -> None:
        call_id = self.names.call_of_channel(event.channel_id)
        if call_id is None:
            self.counts.foreign_events += 1
        elif call_id not in self._legs and isinstance(event, StasisStart):
            log.warning("media channel %s came after its call had given it up", event.channel_id)
            self._on_doubt()
