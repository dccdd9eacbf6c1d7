"""The external leg against a small ARI server: every order of events, every moment of a hang-up (D3, D4, A5, A6)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from media_bridge.errors import MediaError
from media_bridge.settings import CODECS_OF, Medium, TransportName
from media_bridge.transport import ConnectsToUs, MediaUrl, Offer, Peer, RtpAddress
from stasis_app.ari.errors import LegFailed
from stasis_app.ari.events import StasisStart
from stasis_app.ari.link import AriLink
from stasis_app.legs import Leg, external_leg
from tests.support.fake_ari import (
    CONNECTION,
    PEER_PORT,
    Act,
    FakeAri,
    Fault,
    acts_and_drops,
    acts_and_hangs,
    after,
    answers,
    before,
    hangs,
    until,
)

CALLER = "1700000000.1"
MEDIA, BRIDGE = "vb-bot-c1-media", "vb-bot-c1"
BUILDING = ("create_bridge", "add_channel", "external_media", "add_channel", "answer")
TRANSPORTS: list[TransportName] = ["rtp", "websocket", "audiosocket"]
EXAMPLES = settings(max_examples=25, deadline=None)


@dataclass
class Rig:
    fake: FakeAri
    link: AriLink
    calls: list[StasisStart]
    transport: TransportName = "rtp"
    peers: list[Peer] = field(default_factory=list)
    join: Callable[[Peer], Awaitable[None]] | None = None

    def leg(self, start_limit_s: float = 2.0) -> AbstractAsyncContextManager[Leg]:
        offer = Offer(Medium(self.transport, CODECS_OF[self.transport][0]), "127.0.0.1", 4000, "a-uuid")
        return external_leg(
            self.link.ari, self.link.hub, CALLER, "c1", offer, self.join or self.connect, start_limit_s
        )

    async def connect(self, peer: Peer) -> None:
        self.peers.append(peer)
        if self.transport == "websocket":
            self.fake.open_websocket()

    def fault(self, step: int, fault: Fault) -> None:
        """Put a fault on the `step`th request of the building."""
        name = BUILDING[step]
        earlier = BUILDING[:step].count(name)
        self.fake.faults[name] += [_plain] * earlier + [fault]

    def assert_nothing_left(self) -> None:
        assert MEDIA not in self.fake.channels
        assert self.fake.bridges == {}
        assert self.link.hub.legs == frozenset()
        assert self.link.hub._subscribers == {}


@asynccontextmanager
async def rig(
    media_start_s: float | None = 0.0, request_timeout_s: float = 1.0, transport: TransportName = "rtp"
) -> AsyncIterator[Rig]:
    """A caller has come in."""
    calls: list[StasisStart] = []
    async with FakeAri(media_start_s) as fake:
        options = fake.settings(request_timeout_s=request_timeout_s)
        async with AriLink(options, "bot", calls.append, lambda _: None) as link:
            running = asyncio.create_task(link.run())
            try:
                await fake.connected()
                fake.caller(CALLER)
                await until(lambda: bool(calls))
                yield Rig(fake, link, calls, transport)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


async def _plain(_: web.Request, act: Act) -> web.StreamResponse:
    return await act()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_leg_is_one_bridge_with_both_and_nothing_afterwards(transport: TransportName) -> None:
    async with rig(transport=transport) as world:
        async with world.leg() as leg:
            assert leg == Leg(MEDIA, BRIDGE)
            assert world.peers == [
                {
                    "rtp": RtpAddress("127.0.0.1", PEER_PORT),
                    "websocket": MediaUrl(f"ws://127.0.0.1:{world.fake.port}/media/{CONNECTION}"),
                    "audiosocket": ConnectsToUs(),
                }[transport]
            ]
            assert world.fake.bridges == {BRIDGE: {CALLER, MEDIA}}
            assert world.fake.channels[CALLER].state == "Up"
            assert world.fake.steps[-1] == "answer", "the caller is answered when the media path is complete"
        world.assert_nothing_left()
        assert CALLER in world.fake.channels, "the caller is the application's to hang up"
        assert world.link.counts.foreign_events == 0


@EXAMPLES
@given(
    start_s=st.sampled_from([-0.03, -0.001, 0.0, 0.001, 0.02, 0.1]),
    doubled=st.booleans(),
    noise=st.lists(st.sampled_from(["Unknown", "foreign", "garbage", "digit"]), max_size=4),
)
def test_the_legs_start_may_come_before_or_after_the_answer(
    start_s: float, doubled: bool, noise: list[str]
) -> None:
    async def talk() -> None:
        async with rig(start_s) as world:
            for kind in noise:
                make_noise(world.fake, kind)
            if doubled:
                world.fault(2, after(lambda: world.fake.caller(CALLER)))
            async with world.leg():
                assert sorted(world.fake.joined) == [(BRIDGE, CALLER), (BRIDGE, MEDIA)], (
                    "each joins exactly once"
                )
            world.assert_nothing_left()
            assert len(world.calls) == 1

    asyncio.run(talk())


@EXAMPLES
@given(
    step=st.integers(0, len(BUILDING) - 1),
    late=st.booleans(),
    start_s=st.sampled_from([-0.01, 0.0, 0.03]),
    transport=st.sampled_from(TRANSPORTS),
)
def test_a_hang_up_at_any_step_leaves_nothing(
    step: int, late: bool, start_s: float, transport: TransportName
) -> None:
    async def talk() -> None:
        async with rig(start_s, transport=transport) as world:
            hang_up = (after if late else before)(lambda: world.fake.end(CALLER))
            world.fault(step, hang_up)
            try:
                async with world.leg():
                    assert step == 4 and late, "only a hang-up right after the answer still gives a leg"
            except LegFailed as failed:
                assert failed.caller_gone
            world.assert_nothing_left()

    asyncio.run(talk())


@pytest.mark.parametrize("step", range(len(BUILDING)))
@pytest.mark.parametrize("fault", [answers(500), answers(422, "x"), hangs, acts_and_hangs, acts_and_drops])
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_fault_at_any_step_leaves_nothing(step: int, fault: Fault, transport: TransportName) -> None:
    async with rig(request_timeout_s=0.15, transport=transport) as world:
        world.fault(step, fault)
        try:
            async with world.leg():
                assert fault is acts_and_drops and BUILDING[step] != "external_media", "was safely sent again"
        except LegFailed as failed:
            assert str(failed).startswith("call c1: ")
        world.assert_nothing_left()


@pytest.mark.parametrize("hangs_up", [False, True])
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_ends_that_cannot_be_joined_leave_nothing(transport: TransportName, hangs_up: bool) -> None:
    async with rig(transport=transport) as world:

        async def fail(_: Peer) -> None:
            if hangs_up:
                world.fake.end(CALLER)
            raise MediaError("no way to Asterisk")

        world.join = fail
        with pytest.raises(LegFailed, match="the caller hung up" if hangs_up else "no way to") as failed:
            async with world.leg():
                pass
        assert failed.value.caller_gone is hangs_up
        world.assert_nothing_left()


async def test_a_leg_that_never_starts_fails_after_its_limit() -> None:
    async with rig(media_start_s=None) as world:
        with pytest.raises(LegFailed, match=rf"no StasisStart of {MEDIA} within 0.05 s") as failed:
            async with world.leg(start_limit_s=0.05):
                pass
        assert not failed.value.caller_gone
        assert world.fake.channels[CALLER].state == "Ring", "never answered: a hang-up becomes SIP 503"
        world.assert_nothing_left()


async def test_the_caller_hanging_up_ends_the_wait_for_the_leg() -> None:
    async with rig(media_start_s=None) as world:
        asyncio.get_running_loop().call_later(0.05, world.fake.end, CALLER)
        with pytest.raises(LegFailed) as failed:
            async with world.leg(start_limit_s=30):
                pass
        assert failed.value.caller_gone
        world.assert_nothing_left()


async def test_a_media_channel_that_dies_at_once_is_not_the_callers_doing() -> None:
    async with rig(media_start_s=None) as world:
        world.fault(2, after(lambda: world.fake.end(MEDIA)))
        with pytest.raises(LegFailed, match="the media channel ended at once") as failed:
            async with world.leg():
                pass
        assert not failed.value.caller_gone
        world.assert_nothing_left()


async def test_answering_a_call_that_is_being_cancelled_is_the_callers_hang_up() -> None:
    async with rig() as world:

        async def cancelled(_: web.Request, __: Act) -> web.StreamResponse:
            asyncio.get_running_loop().call_later(0.02, world.fake.end, CALLER)
            return web.json_response({"message": "Failed to answer channel"}, status=500)

        world.fault(4, cancelled)
        with pytest.raises(LegFailed) as failed:
            async with world.leg():
                pass
        assert failed.value.caller_gone
        world.assert_nothing_left()


async def test_no_request_is_made_for_a_caller_who_has_left() -> None:
    async with rig() as world:
        world.fake.end(CALLER)
        await until(lambda: not world.link.hub.callers)
        before_leg = list(world.fake.steps)
        with pytest.raises(LegFailed) as failed:
            async with world.leg():
                pass
        assert failed.value.caller_gone
        assert world.fake.steps == before_leg


@pytest.mark.parametrize("step", range(len(BUILDING)))
async def test_cancelling_while_building_undoes_what_was_begun(step: int) -> None:
    async with rig(request_timeout_s=5) as world:
        reached = asyncio.Event()
        world.fault(step, after(reached.set))
        world.fake.faults["hangup"].append(slow)
        building = asyncio.create_task(build_and_hold(world))
        await reached.wait()
        building.cancel()
        await asyncio.sleep(0.01)
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building
        world.assert_nothing_left()


async def test_an_undo_that_gets_no_answer_ends_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with rig(request_timeout_s=0.1) as world:
        with caplog.at_level(logging.WARNING):
            async with world.leg():
                world.fake.faults["hangup"].append(hangs)
        assert "call c1: left behind until the next look" in caplog.text
        assert world.fake.bridges == {}, "the second step is done though the first failed"


async def test_a_leg_that_comes_after_it_was_given_up_is_removed() -> None:
    async with rig(request_timeout_s=0.1) as world:
        world.fake.faults["external_media"].append(acts_after(0.4))
        with pytest.raises(LegFailed, match=r"nothing within 0\.1 s"):
            async with world.leg():
                pass
        await until(lambda: MEDIA in world.fake.channels)
        await until(lambda: MEDIA not in world.fake.channels)


async def test_a_call_id_serves_one_call() -> None:
    async with rig() as world, world.leg():
        with pytest.raises(ValueError, match="'c1' is in use"):
            async with world.leg():
                pass
        assert world.fake.bridges == {BRIDGE: {CALLER, MEDIA}}


def acts_after(delay_s: float) -> Fault:
    async def fault(_: web.Request, act: Act) -> web.StreamResponse:
        # as Asterisk does: the request's own thread goes on though nobody waits for it
        work = asyncio.create_task(_later(delay_s, act))
        return await asyncio.shield(work)

    return fault


async def _later(delay_s: float, act: Act) -> web.StreamResponse:
    await asyncio.sleep(delay_s)
    return await act()


async def slow(_: web.Request, act: Act) -> web.StreamResponse:
    await asyncio.sleep(0.05)
    return await act()


async def build_and_hold(world: Rig) -> None:
    async with world.leg():
        await asyncio.Event().wait()


def make_noise(fake: FakeAri, kind: str) -> None:
    if kind == "garbage":
        fake.send_text('{"type": "StasisStart", "channel":')
    elif kind == "foreign":
        fake.send("StasisEnd", channel={"id": "someone-else"})
    elif kind == "digit":
        fake.send("ChannelDtmfReceived", channel={"id": CALLER}, digit="5", duration_ms=100)
    else:
        fake.send("SomethingNew", channel={"id": CALLER}, novelty=[1, 2])
