"""A caller on hold in whole talks, in virtual time: the bot stands still and goes on when they are back."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from caller_phone.talkspurt import voiced_bounds
from media_bridge.settings import TransportName
from stasis_app.ari.errors import AppReplaced
from stasis_app.settings import CallSettings, Phrases
from tests.support.fake_workers import Fault
from tests.support.media_call import speech
from tests.support.talk import CALLER, PROFILE, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

PHRASES = Phrases()
LONG = "This is a rather long sentence about very many bikes and all that can be done with them."
NEXT = "That was the answer."
HOLD_S = 60.0
# the event takes its way, and a transport may have a fade still to play
SOON_S = 0.15


async def hold(scene: Scene, on: bool) -> float:
    """Asterisk tells it; gives the instant from which on it counts."""
    scene.ari.channels[CALLER].held = on
    scene.ari.send("ChannelHold" if on else "ChannelUnhold", channel={"id": CALLER})
    await asyncio.sleep(SOON_S)
    return scene.now


@asynccontextmanager
async def on_hold(scene: Scene, for_s: float = HOLD_S) -> AsyncIterator[None]:
    """The bot must not be heard meanwhile."""
    since = await hold(scene, True)
    yield
    await asyncio.sleep(since + for_s - scene.now)
    assert not [spurt for spurt in scene.spurts() if spurt.end > since], "somebody spoke to a caller on hold"
    await hold(scene, False)


def is_whole(scene: Scene, text: str) -> bool:
    return scene.heard_s(text) == pytest.approx(scene.whole_s(text), abs=0.06)


class TestTheBotWasSpeaking:
    @pytest.mark.parametrize("transport", ["rtp", "websocket", "audiosocket"])
    def test_it_goes_on_where_it_stopped(
        self, virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, transport: TransportName
    ) -> None:
        monkeypatch.setattr("tests.support.talk.TRANSPORT", transport)

        async def main() -> None:
            async with talk() as scene:
                await scene.ask("Tell me about bikes.", LONG)
                await scene.until_heard(LONG, for_s=1.0)
                async with on_hold(scene):
                    assert scene.heard_s(LONG) < 1.5
                await scene.until_said(LONG)
                assert is_whole(scene, LONG)
                assert scene.said()[-1] == ("answer", LONG, False)
                assert [saying for saying, *_ in scene.said()] == ["greeting", "answer"]
                # the whole of its silence limit is still before the caller
                finished = scene.now
                await scene.until(lambda: scene.heard_s(PHRASES.still_there) > 0)
                assert scene.now - finished == pytest.approx(PROFILE.no_input_s, abs=0.2)

        virtual_time(main())

    def test_who_hangs_up_meanwhile_has_heard_what_they_heard(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk() as scene:
                await scene.ask("Tell me about bikes.", LONG)
                await scene.until_heard(LONG, for_s=1.0)
                await hold(scene, True)
                await asyncio.sleep(HOLD_S)
                heard_s = scene.heard_s(LONG)
                scene.hang_up()
                await scene.until(lambda: scene.said()[-1][0] == "answer")
                _, text, cut = scene.said()[-1]
                assert cut
                assert LONG.startswith(text)
                assert heard_s - 0.8 < len(text) * 0.06 <= heard_s

        virtual_time(main())

    def test_an_answer_that_is_still_being_made_is_not_late(self, virtual_time: RunVirtual) -> None:
        """Its model writes, slowly, while nobody listens; and is through with it before they are back."""

        async def main() -> None:
            async with talk() as scene:
                scene.workers.llm.token_delay_s = 5.0
                await scene.ask(
                    "Tell me about bikes.", [f"{LONG} ", "They ", "are ", "all ", "new ", "here."]
                )
                await scene.until_heard(LONG, for_s=1.0)
                async with on_hold(scene):
                    pass
                await scene.until_said(LONG)
                assert scene.said()[-1] == ("answer", f"{LONG} They are all new here.", False)
                assert is_whole(scene, LONG)

        virtual_time(main())

    @pytest.mark.parametrize("words", ["", "Mm-hm."])
    def test_a_verdict_that_comes_meanwhile_does_not_let_it_speak(
        self, virtual_time: RunVirtual, words: str
    ) -> None:
        """The caller coughs, which pauses the bot, and presses hold before it is known that it was a cough."""

        async def main() -> None:
            async with talk() as scene:
                await scene.ask("Tell me about bikes.", LONG)
                await scene.until_heard(LONG, for_s=1.0)
                scene.workers.stt.delay_s = 1.0
                await scene.say("finished01.wav", words)
                async with on_hold(scene):
                    pass
                await scene.until_said(LONG)
                assert is_whole(scene, LONG)
                assert ("answer", LONG, False) in scene.said()

        virtual_time(main())

    def test_who_speaks_into_the_hold_has_the_turn_afterwards(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk() as scene:
                await scene.ask("Tell me about bikes.", LONG, NEXT)
                await scene.until_heard(LONG, for_s=1.0)
                speaking = asyncio.create_task(scene.say("price01.wav", "How much is it?"))
                await asyncio.sleep(1.5)
                async with on_hold(scene):
                    await speaking
                await scene.until_said(NEXT)
                assert [line["caller"] for line in scene.lines()[1:]] == [
                    "Tell me about bikes.",
                    "How much is it?",
                ]
                assert scene.said()[1][2], "the first answer was cut"

        virtual_time(main())

    def test_a_passage_that_must_be_played_waits_too(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(PROFILE.model_copy(update={"must_play": (LONG,)})) as scene:
                await scene.ask("Tell me about bikes.", f"{LONG} {NEXT}")
                await scene.until_heard(LONG, for_s=1.0)
                async with on_hold(scene):
                    assert scene.heard_s(LONG) < 1.5
                # and nobody can talk it away when they are back
                await scene.say("price01.wav", "How much is it?")
                await scene.until(lambda: is_whole(scene, LONG))

        virtual_time(main())


class TestTheCallerWasSpeaking:
    @pytest.mark.parametrize("after_s", [-0.5, 0.2], ids=["in the middle", "in the pause"])
    def test_what_they_said_is_answered_when_they_are_back(
        self, virtual_time: RunVirtual, after_s: float
    ) -> None:
        """`after_s`: their last sound."""
        bounds = voiced_bounds(np.frombuffer(speech("price01.wav"), "<i2"))
        assert bounds is not None

        async def main() -> None:
            async with talk() as scene:
                await scene.quiet()
                scene.workers.llm.replies = [LONG]
                speaking = asyncio.create_task(scene.say("price01.wav", "How much is it?"))
                await asyncio.sleep(bounds[1] / 8000 + after_s)
                async with on_hold(scene):
                    await asyncio.sleep(5)
                    assert scene.workers.llm.requests, "the answer is made meanwhile"
                    assert not scene.workers.llm.running
                    assert scene.whole_s(LONG) > 4, "all of it"
                back = scene.now - SOON_S
                await scene.until_said(LONG)
                assert is_whole(scene, LONG)
                assert 0 < scene.spurts()[1].start - back < 0.1
                stages = scene.lines()[-1]["ms_after_speech_end"]
                assert "first_audio" in stages
                assert "first_packet" not in stages, "the minute was the caller's own"
                await speaking

        virtual_time(main())

    def test_no_filler_is_heard_by_who_comes_back_before_the_answer(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk() as scene:
                scene.workers.llm.delay_s = 6.0
                await scene.ask("How much is it?", NEXT)
                await asyncio.sleep(1.0)
                async with on_hold(scene, 3.5):
                    pass
                await scene.until_said(NEXT)
                assert scene.heard_s(PHRASES.filler) == 0

        virtual_time(main())

    def test_what_was_made_before_the_model_died_is_heard_before_the_apology(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with talk() as scene:
                scene.workers.llm.fault = Fault.die(after=2)
                await scene.ask("How much is it?", [f"{LONG} ", "We have red ones, too. ", "And more."])
                await scene.until_heard(LONG, for_s=0.5)
                async with on_hold(scene):
                    pass
                await scene.until_said(PHRASES.apology)
                assert is_whole(scene, LONG)

        virtual_time(main())


class TestNobodyTells:
    """A4: the event is lost in a gap of the event socket, or goes to the process that replaced this one."""

    @pytest.mark.parametrize("sip", [True, False], ids=["sip", "not-sip"])
    def test_who_came_back_in_a_gap_is_heard(self, virtual_time: RunVirtual, sip: bool) -> None:
        async def main() -> None:
            async with talk() as scene:
                await scene.quiet()
                await hold(scene, True)
                scene.ari.channels[CALLER].held = False if sip else None
                scene.ari.abort_sockets()
                await scene.ari.connected(2)
                await asyncio.sleep(5)
                await scene.ask("Tell me about bikes.", NEXT)
                await scene.until_said(NEXT)

        virtual_time(main())

    def test_who_was_put_on_hold_in_a_gap_is_not_asked(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(may_be_silent=True) as scene:
                await scene.ask("Tell me about bikes.", LONG)
                await scene.until_heard(LONG, for_s=1.0)
                scene.ari.channels[CALLER].held = True
                scene.ari.abort_sockets()
                await scene.ari.connected(2)
                await asyncio.sleep(5)
                since = scene.now
                await asyncio.sleep(HOLD_S)
                assert not scene.spurts(since)
                await hold(scene, False)
                await scene.until_said(LONG)

        virtual_time(main())

    def test_a_replaced_process_asks(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            with pytest.RaisesGroup(AppReplaced, flatten_subgroups=True):
                async with talk(calls=CallSettings(drain_s=600)) as scene:
                    await scene.quiet()
                    scene.ari.send("ApplicationReplaced")
                    await scene.until(lambda: any(scene.ari.globals.values()))
                    scene.ari.channels[CALLER].held = True
                    await asyncio.sleep(3)
                    since = scene.now
                    await asyncio.sleep(HOLD_S)
                    assert not scene.spurts(since)
                    scene.ari.channels[CALLER].held = False
                    await asyncio.sleep(3)
                    await scene.ask("Tell me about bikes.", NEXT)
                    await scene.until_said(NEXT)

        virtual_time(main())


class TestTheCallerDoesNotComeBack:
    def test_the_limit_of_the_call_ends_it(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(calls=CallSettings(drain_s=0, max_call_s=120)) as scene:
                await scene.ask("Tell me about bikes.", LONG)
                await scene.until_heard(LONG, for_s=1.0)
                await hold(scene, True)
                took = await scene.until(lambda: not scene.is_up, 150)
                assert took > 100
                assert await scene.metric("voicebot_calls_ended_total", cause="normal") == 1
                assert [saying for saying, *_ in scene.said()] == ["greeting", "answer"]

        virtual_time(main())
