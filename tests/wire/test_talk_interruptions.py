"""Speech over the bot in whole talks, in virtual time (D9 to D12, and passages that have to be heard)."""

import asyncio
from collections.abc import Callable, Coroutine
from statistics import median
from typing import Any

import numpy as np
import pytest

from caller_phone.talkspurt import voiced_bounds
from tests.support.fake_workers import Fault
from tests.support.media_call import speech
from tests.support.talk import PROFILE, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

QUESTION, WORDS, SHORT, COUGH = "price01.wav", "no01.wav", "finished01.wav", "noise_cough2.wav"
LONG = "This is a rather long sentence about very many bikes and all that can be done with them."
NEXT = "That was the answer."


def turns(scene: Scene) -> list[str]:
    """What the caller said, for each answer."""
    return [line["caller"] for line in scene.lines() if line["saying"] == "answer"]


def test_what_was_cut_is_remembered_up_to_the_last_whole_word(virtual_time: RunVirtual) -> None:
    """D9."""

    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=1.2)
            await scene.say(WORDS, "What did you just say?")
            await scene.until_said(NEXT)
            cut = next(text for _, text, cut in scene.said() if cut)
            assert LONG.startswith(cut)
            assert LONG[len(cut)] == " ", "half a word"
            seconds = scene.heard_s(LONG)
            assert seconds - 0.8 < len(cut) * 0.06 <= seconds, "as many words as were heard"
            assert scene.asked()[-2:] == [
                {"role": "assistant", "content": cut + " ..."},
                {"role": "user", "content": "What did you just say?"},
            ]

    virtual_time(main())


def test_an_answer_nobody_heard_is_not_remembered_and_both_questions_are_answered_together(
    virtual_time: RunVirtual,
) -> None:
    """D10."""

    async def main() -> None:
        async with talk() as scene:
            scene.workers.llm.delay_s = 3.0
            await scene.ask("Tell me about bikes.", "They are nice.")
            await asyncio.sleep(1.5)
            scene.workers.llm.delay_s = 0.0
            await scene.say(WORDS, "I mean the red ones.")
            await scene.until_said("They are nice.")
            said = [(one["role"], one["content"]) for one in scene.asked()[3:]]
            assert said == [("user", "Tell me about bikes. I mean the red ones.")]
            assert scene.workers.llm.running == 0

    virtual_time(main())


@pytest.mark.parametrize("clip", [WORDS, "interrupt02.wav", "pay01.wav", "weather01.wav"])
def test_the_bot_is_silent_within_320_ms_of_the_first_sound_of_speech(
    virtual_time: RunVirtual, clip: str
) -> None:
    """At any phase between the caller's packets, the bot's frames and those of the voice detector."""
    bounds = voiced_bounds(np.frombuffer(speech(clip), "<i2"))
    assert bounds is not None

    async def main(phase: int) -> float:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=1.0 + phase * 0.02)
            await asyncio.sleep(phase * 0.003)
            began = scene.now + bounds[0] / 8000
            await scene.say(clip, "What did you just say?")
            await scene.until_said(NEXT)
            tones = {spoken.hz for spoken in scene.workers.tts.spoken if spoken.text in LONG}
            return max(spurt.end for spurt in scene.spurts() if spurt.hz in tones) - began

    took = [virtual_time(main(phase)) for phase in range(7)]
    assert max(took) <= 0.32, took
    assert median(took) <= 0.26, took


@pytest.mark.parametrize("clip", [WORDS, "interrupt02.wav", "pay01.wav", "weather01.wav"])
def test_200_ms_after_an_interruption_nobody_works_on_the_answer(virtual_time: RunVirtual, clip: str) -> None:
    """P4: the requests to the model and to the voice are closed."""

    async def main() -> None:
        async with talk() as scene:
            llm, tts = scene.workers.llm, scene.workers.tts
            llm.token_delay_s, tts.chunk_delay_s = 0.1, 0.08
            await scene.ask("Tell me about bikes.", f"{LONG} " * 3, NEXT)
            await scene.until_heard(LONG, for_s=1.0)
            assert (llm.running, tts.running) == (1, 1)
            saying = asyncio.ensure_future(scene.say(clip, "What did you just say?"))
            while not await scene.metric("voicebot_interruptions_total", verdict="meant"):  # noqa: ASYNC110 - over HTTP
                await asyncio.sleep(0.01)
            assert await scene.until(lambda: (llm.running, tts.running) == (0, 0)) <= 0.2
            assert (llm.aborted, tts.aborted) == (1, 1)
            await saying
            await scene.until_said(NEXT)

    virtual_time(main())


@pytest.mark.parametrize(("sound", "words"), [(COUGH, ""), (SHORT, "Mm-hm."), (SHORT, "Okay.")])
def test_a_sound_that_wants_nothing_costs_no_word(virtual_time: RunVirtual, sound: str, words: str) -> None:
    """D11: the voice goes on at the sample it stopped at, so it is heard as long as it was made."""

    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=1.0)
            await scene.say(sound, words)
            await scene.quiet(2.0)
            assert scene.heard_s(LONG) == pytest.approx(scene.whole_s(LONG), abs=0.06)
            assert ("answer", LONG, False) in scene.said()
            assert turns(scene) == ["Tell me about bikes."]
            assert await scene.metric("voicebot_interruptions_total", verdict="meant") == 0

    virtual_time(main())


@pytest.mark.parametrize("late_s", [0.0, 0.6, 1.2])
def test_a_short_yes_over_a_question_is_its_answer_however_late_it_is_read(
    virtual_time: RunVirtual, late_s: float
) -> None:
    """D12."""
    question = "Nineteen dollars a month, would you like to book it now?"

    async def main() -> None:
        async with talk() as scene:
            await scene.ask("How much is it?", question, NEXT)
            await scene.until_heard("would you like to book it now?", for_s=1.0)
            scene.workers.stt.delay_s = late_s
            await scene.say(SHORT, "Yes.")
            await scene.until_said(NEXT)
            assert turns(scene) == ["How much is it?", "Yes."]
            assert len(scene.workers.llm.requests) == 2, "answered once"

    virtual_time(main())


@pytest.mark.parametrize("late_s", [0.0, 0.6, 1.5])
def test_a_short_yes_after_the_question_is_never_lost(virtual_time: RunVirtual, late_s: float) -> None:
    """D12, when the bot has finished."""

    async def main() -> None:
        async with talk() as scene:
            await scene.ask("How much is it?", "Nineteen dollars. Would you like it?", NEXT)
            await scene.until_said("Would you like it?")
            scene.workers.stt.delay_s = late_s
            await scene.say(SHORT, "Yes.")
            await scene.until_said(NEXT)
            assert turns(scene) == ["How much is it?", "Yes."]

    virtual_time(main())


BABBLE = "pay01.wav"  # speech to the voice detector for longer than INTERRUPTION_LASTS_S


@pytest.mark.parametrize("words", ["", "Mm-hm.", "Okay."])
def test_loud_talk_in_the_room_does_not_take_the_turn_by_its_length(
    virtual_time: RunVirtual, words: str
) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=1.0)
            scene.workers.stt.choose = lambda _: words
            for _ in range(2):
                await scene.line.ear.say(speech(BABBLE))
            await scene.quiet(3.0)
            assert scene.heard_s(LONG) == pytest.approx(scene.whole_s(LONG), abs=0.06)
            assert ("answer", LONG, False) in scene.said()
            assert turns(scene) == ["Tell me about bikes."]

    virtual_time(main())


def test_words_in_lasting_speech_take_the_turn_while_it_lasts(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=1.0)
            heard_s = scene.heard_s(LONG)
            await scene.say(BABBLE, "No, I want to pay my bill.")
            assert await scene.metric("voicebot_interruptions_total", verdict="meant") == 1, (
                "while they speak"
            )
            await scene.until_said(NEXT)
            assert scene.heard_s(LONG) < heard_s + 0.6
            assert turns(scene)[-1] == "No, I want to pay my bill."

    virtual_time(main())


def test_when_nobody_can_read_it_lasting_speech_takes_the_turn(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=1.0)
            heard_s = scene.heard_s(LONG)
            scene.workers.stt.fault = Fault.status(500)
            await scene.line.ear.say(speech(BABBLE))
            scene.workers.stt.fault = None
            await scene.quiet(2.0)
            assert scene.heard_s(LONG) < heard_s + 0.6

    virtual_time(main())


DISCLOSURE = "This call is recorded so that we can learn from what we hear in it."


def test_speech_over_a_disclosure_lets_it_end_and_is_answered_then(virtual_time: RunVirtual) -> None:
    profile = PROFILE.model_copy(update={"disclosure": DISCLOSURE, "greeting": LONG})

    async def main() -> None:
        async with talk(profile) as scene:
            scene.workers.llm.replies = [NEXT]
            await scene.until_heard(DISCLOSURE, for_s=0.3)
            await scene.say(QUESTION, "How much is it?")
            await scene.until_said(NEXT)
            assert scene.heard_s(DISCLOSURE) == pytest.approx(len(DISCLOSURE) * 0.06, abs=0.06)
            assert len([spurt for spurt in scene.spurts() if spurt.seconds > 1.0]) == 2, "in one piece"
            assert scene.heard_s(LONG) < 0.3, "the rest of the greeting gives way"
            assert scene.said()[0][1].startswith(DISCLOSURE)
            assert scene.asked()[-1] == {"role": "user", "content": "How much is it?"}

    virtual_time(main())


def test_a_sound_over_a_disclosure_changes_nothing(virtual_time: RunVirtual) -> None:
    profile = PROFILE.model_copy(update={"disclosure": DISCLOSURE})

    async def main() -> None:
        async with talk(profile) as scene:
            await scene.until_heard(DISCLOSURE, for_s=0.3)
            await scene.say(SHORT, "Okay.")
            await scene.until_said("Hello.")
            assert scene.said() == [("greeting", f"{DISCLOSURE} Hello.", False)]
            assert not scene.workers.llm.requests

    virtual_time(main())


def test_speech_that_goes_on_after_the_disclosure_interrupts_what_follows(virtual_time: RunVirtual) -> None:
    profile = PROFILE.model_copy(update={"disclosure": "This call is recorded.", "greeting": LONG})

    async def main() -> None:
        async with talk(profile) as scene:
            scene.workers.llm.replies = [NEXT]
            await scene.until_heard("This call is recorded.", for_s=0.6)
            await scene.say(QUESTION, "How much is it?")
            await scene.until_said(NEXT)
            assert scene.heard_s("This call is recorded.") == pytest.approx(22 * 0.06, abs=0.06)
            assert scene.heard_s(LONG) < 0.3
            assert turns(scene) == ["How much is it?"]

    virtual_time(main())


def test_the_greeting_after_a_disclosure_may_be_interrupted(virtual_time: RunVirtual) -> None:
    profile = PROFILE.model_copy(update={"disclosure": "This call is recorded.", "greeting": LONG})

    async def main() -> None:
        async with talk(profile) as scene:
            scene.workers.llm.replies = [NEXT]
            await scene.until_heard(LONG, for_s=0.5)
            await scene.say(QUESTION, "How much is it?")
            await scene.until_said(NEXT)
            assert scene.heard_s(LONG) < 1.5
            assert scene.said()[0][2], "cut"

    virtual_time(main())


def test_a_passage_in_an_answer_is_heard_to_its_end(virtual_time: RunVirtual) -> None:
    passage = "The call costs two dollars a minute and is billed by your provider."
    profile = PROFILE.model_copy(update={"must_play": (passage,)})

    async def main() -> None:
        async with talk(profile) as scene:
            await scene.ask("What does it cost?", f"Sure. {passage} {LONG}", NEXT)
            await scene.until_heard(passage, for_s=0.5)
            await scene.say(SHORT, "That is too much.")
            await scene.until_said(NEXT)
            assert scene.heard_s(passage) == pytest.approx(len(passage) * 0.06, abs=0.1)
            assert scene.heard_s(LONG) < 0.3, "the rest gives way"
            assert scene.asked()[-1]["content"] == "That is too much."
            assert passage in scene.asked()[-2]["content"]

    virtual_time(main())


def test_yes_over_the_end_of_a_passage_that_asks_is_its_answer(virtual_time: RunVirtual) -> None:
    passage = "This call is recorded and kept for thirty days, do you agree to that?"
    profile = PROFILE.model_copy(update={"must_play": (passage,)})

    async def main() -> None:
        async with talk(profile) as scene:
            await scene.ask("What happens with my words?", passage, NEXT)
            await scene.until_heard(passage, for_s=len(passage) * 0.06 - 2.4)
            await scene.say("finished01.wav", "Yes.")
            await scene.until_said(NEXT)
            assert scene.heard_s(passage) == pytest.approx(len(passage) * 0.06, abs=0.1)
            assert scene.asked()[-1]["content"] == "Yes."

    virtual_time(main())
