"""Routing: who hears what, once, and what is counted (A10, A11)."""

import asyncio
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from stasis_app.ari.events import (
    AriEvent,
    Channel,
    ChannelDtmfReceived,
    ChannelGone,
    PlaybackFinished,
    StasisEnd,
    StasisStart,
    UnknownEvent,
)
from stasis_app.ari.hub import MAX_WAITING, AriCounts, EventHub, Subscription
from stasis_app.ari.names import LegNames

CALLER = Channel("1.1")
MEDIA = Channel("vb-bot-c1-media")


class Rig:
    def __init__(self) -> None:
        self.calls: list[StasisStart] = []
        self.doubts = 0
        self.counts = AriCounts()
        self.hub = EventHub(LegNames("bot"), self.calls.append, self._doubt, self.counts)

    def _doubt(self) -> None:
        self.doubts += 1


async def heard(subscription: Subscription) -> list[AriEvent]:
    """What waits now."""
    events: list[AriEvent] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            async for event in subscription:
                events.append(event)  # noqa: PERF401 - it never ends
    return events


async def test_a_caller_is_told_once_and_our_own_legs_never() -> None:
    rig = Rig()
    rig.hub.dispatch(StasisStart(CALLER))
    rig.hub.dispatch(StasisStart(CALLER))
    rig.hub.dispatch(StasisStart(MEDIA))
    rig.hub.dispatch(StasisStart(Channel("vb-another-c9-media")))
    assert [call.channel for call in rig.calls] == [CALLER]
    assert rig.counts.duplicate_starts == 1


async def test_a_caller_who_comes_back_is_a_new_call() -> None:
    rig = Rig()
    for event in (StasisStart(CALLER), StasisEnd(CALLER), StasisStart(CALLER)):
        rig.hub.dispatch(event)
    assert len(rig.calls) == 2
    assert set(rig.hub.callers) == {"1.1"}


async def test_events_go_to_those_who_listen_to_the_channel() -> None:
    rig = Rig()
    digit = ChannelDtmfReceived(CALLER, "1", 100)
    played = PlaybackFinished("p", "1.1", "done")
    with (
        rig.hub.subscribe("1.1") as one,
        rig.hub.subscribe("1.1", "1.2") as two,
        rig.hub.subscribe("1.3") as none,
    ):
        for event in (StasisStart(CALLER), digit, played, StasisEnd(Channel("1.2")), UnknownEvent("X")):
            rig.hub.dispatch(event)
        assert await heard(one) == [digit, played]
        assert await heard(two) == [digit, played, StasisEnd(Channel("1.2"))]
        assert await heard(none) == []
    rig.hub.dispatch(digit)
    assert await heard(one) == []
    assert rig.hub._subscribers == {}
    assert rig.counts.foreign_events == 0


async def test_foreign_channels_are_counted() -> None:
    rig = Rig()
    rig.hub.dispatch(StasisEnd(Channel("9.9")))
    rig.hub.dispatch(ChannelDtmfReceived(Channel("9.9"), "1"))
    assert rig.counts.foreign_events == 2
    assert rig.hub.callers == {}


async def test_a_flood_of_digits_is_bounded_and_the_end_gets_through() -> None:
    rig = Rig()
    with rig.hub.subscribe("1.1") as events:
        for _ in range(10_000):
            rig.hub.dispatch(ChannelDtmfReceived(CALLER, "1"))
        rig.hub.dispatch(StasisEnd(CALLER))
        got = await heard(events)
    assert len(got) == MAX_WAITING + 1
    assert got[-1] == StasisEnd(CALLER)
    assert rig.counts.dropped_events == 10_000 - MAX_WAITING


async def test_a_caller_gone_unheard_is_told_to_its_call() -> None:
    rig = Rig()
    rig.hub.dispatch(StasisStart(CALLER))
    with rig.hub.subscribe("1.1") as events:
        rig.hub.gone("1.1")
        rig.hub.gone("1.1")
        assert await heard(events) == [ChannelGone(CALLER)]
    assert rig.hub.callers == {}


async def test_who_comes_back_after_being_sent_away_is_a_new_caller_though_their_end_was_lost() -> None:
    rig = Rig()
    first, again = Channel("1.1"), Channel("1.1")
    rig.hub.dispatch(StasisStart(first))
    rig.hub.left(first)
    rig.hub.dispatch(StasisStart(again))
    assert [start.channel for start in rig.calls] == [first, again]
    # what is said late of the first visit concerns the second no more
    rig.hub.left(first)
    rig.hub.abandon(first)
    assert rig.hub.callers == {"1.1": again}
    rig.hub.dispatch(StasisStart(Channel("1.1")))
    assert rig.counts.duplicate_starts == 1


async def test_an_end_that_is_told_after_the_caller_was_sent_away_is_not_foreign() -> None:
    rig = Rig()
    rig.hub.dispatch(StasisStart(CALLER))
    rig.hub.left(CALLER)
    rig.hub.dispatch(StasisEnd(CALLER))
    assert rig.hub.callers == {}
    assert rig.counts.foreign_events == 0


async def test_only_who_has_no_call_is_adopted_a_second_time() -> None:
    rig = Rig()
    rig.hub.dispatch(StasisStart(CALLER))
    assert rig.hub.unserved == {"1.1"}
    with rig.hub.subscribe("1.1"):
        assert rig.hub.unserved == frozenset()
        rig.hub.adopt(Channel("1.1"))
        assert len(rig.calls) == 1
    rig.hub.adopt(Channel("1.1"))
    assert len(rig.calls) == 2


async def test_a_leg_nobody_waits_for_asks_for_a_look() -> None:
    rig = Rig()
    with rig.hub.leg("c1"):
        rig.hub.dispatch(StasisStart(MEDIA))
        assert rig.doubts == 0
    rig.hub.dispatch(StasisStart(MEDIA))
    rig.hub.dispatch(StasisStart(Channel("vb-another-c1-media")))
    assert rig.doubts == 1


CHANNELS = st.sampled_from([CALLER, Channel("1.2"), MEDIA])
EVENTS = st.one_of(
    st.builds(StasisStart, CHANNELS), st.builds(StasisEnd, CHANNELS), st.builds(ChannelDtmfReceived, CHANNELS)
)


@given(st.lists(EVENTS, max_size=30))
def test_in_any_order_a_live_caller_has_one_call(events: list[AriEvent]) -> None:
    rig = Rig()
    live: set[str] = set()
    calls = 0
    for event in events:
        match event:
            case StasisStart(channel) if channel is not MEDIA:
                calls += channel.id not in live
                live.add(channel.id)
            case StasisEnd(channel):
                live.discard(channel.id)
        rig.hub.dispatch(event)
    assert len(rig.calls) == calls
    assert set(rig.hub.callers) == live
