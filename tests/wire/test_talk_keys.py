"""Keys of the caller's phone in whole talks, in virtual time (A11)."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.support.talk import CALLER, PROFILE, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

LONG = "This is a rather long sentence about very many bikes and all that can be done with them."
ASKS = "What is your phone number?"


def last_words(scene: Scene) -> str:
    return str(scene.asked()[-1]["content"])


def test_digits_that_were_asked_for_are_the_answer(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.ask("I want to be called back.", ASKS, "Thank you.")
            await scene.until_said(ASKS)
            await scene.press("5550123#")
            pressed = scene.now
            await scene.until_said("Thank you.")
            assert last_words(scene) == "5550123"
            assert scene.spurts()[-1].start - pressed < 0.5, "the terminator ends it"

    virtual_time(main())


def test_without_a_terminator_a_pause_ends_them(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.ask("I want to be called back.", ASKS, "Thank you.")
            await scene.until_said(ASKS)
            await scene.press("55501", gap_s=2.5)
            pressed = scene.now
            await scene.until_said("Thank you.")
            assert last_words(scene) == "55501"
            assert PROFILE.digits_pause_s < scene.spurts()[-1].start - pressed < PROFILE.digits_pause_s + 0.5

    virtual_time(main())


def test_as_many_as_the_profile_expects_need_no_terminator(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(PROFILE.model_copy(update={"expect": "digits:4"})) as scene:
            scene.workers.llm.replies = ["Thank you."]
            await scene.quiet()
            await scene.press("4711")
            pressed = scene.now
            await scene.until_said("Thank you.")
            assert last_words(scene) == "4711"
            assert scene.spurts()[-1].start - pressed < 0.5

    virtual_time(main())


def test_a_key_interrupts_the_bot_like_speech(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, "You pressed one.")
            await scene.until_heard(LONG, for_s=0.5)
            await scene.press("1#", gap_s=0.05)
            await scene.until_said("You pressed one.")
            assert scene.heard_s(LONG) < 0.8
            assert last_words(scene) == "I pressed 1 on my phone."
            assert scene.asked()[-2]["content"].endswith(" ...")

    virtual_time(main())


def test_digits_over_a_disclosure_are_answered_when_it_has_been_heard(virtual_time: RunVirtual) -> None:
    disclosure = "This call is recorded so that we can learn from what we hear in it."

    async def main() -> None:
        async with talk(PROFILE.model_copy(update={"disclosure": disclosure, "greeting": LONG})) as scene:
            scene.workers.llm.replies = ["You pressed two."]
            await scene.until_heard(disclosure, for_s=0.3)
            await scene.press("2#")
            await scene.until_said("You pressed two.")
            assert scene.heard_s(disclosure) == pytest.approx(len(disclosure) * 0.06, abs=0.06)
            assert scene.heard_s(LONG) < 0.3

    virtual_time(main())


def test_digits_and_words_are_answered_together(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.ask("I want to be called back.", ASKS, "Thank you.")
            await scene.until_said(ASKS)
            await scene.press("5550123")
            await scene.say("no01.wav", "And that is my mobile.")
            await scene.until_said("Thank you.")
            await asyncio.sleep(5)
            asked = [request["messages"][-1]["content"] for request in scene.workers.llm.requests]
            assert asked[-1] == "And that is my mobile. 5550123"
            assert [line["caller"] for line in scene.lines()][-1] == asked[-1]

    virtual_time(main())


def test_only_a_terminator_is_nothing_and_the_silence_counts_on(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(PROFILE.model_copy(update={"no_input_s": 2.0})) as scene:
            await scene.quiet(0.5)
            await scene.press("#")
            await scene.until(lambda: len(scene.said()) > 1)
            assert scene.said()[1][0] == "still_there"
            assert not scene.workers.llm.requests

    virtual_time(main())


def test_a_flood_of_digits_is_one_short_answer_and_nothing_is_logged(
    virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def main() -> None:
        async with talk() as scene:
            await scene.ask("I want to be called back.", ASKS, "Thank you.")
            await scene.until_said(ASKS)
            for _ in range(5):
                for _ in range(100):
                    scene.ari.send("ChannelDtmfReceived", channel={"id": CALLER}, digit="8", duration_ms=20)
                await asyncio.sleep(0.2)
            await scene.until_said("Thank you.")
            assert last_words(scene) == "8" * 32
            taken = await scene.metric("voicebot_digits_total", kind="taken")
            dropped = await scene.metric("voicebot_digits_total", kind="dropped")
            assert (taken, taken + dropped) == (32, 500)

    virtual_time(main())
    assert "88888" not in caplog.text
