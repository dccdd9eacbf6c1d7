"""Several pieces of speech over the bot, judged late, and passages that come while the caller speaks: whole talks in
virtual time. What was said and meant is answered, what has to be heard is whole, and nobody waits for ever.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stasis_app.settings import Phrases
from tests.support.fake_workers import Fault
from tests.support.media_call import speech
from tests.support.talk import PROFILE, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

LONG = "This is a rather long sentence about very many bikes and all that can be done with them."
NEXT = "That was the answer."


def sound(clip: str, begins_s: float = 0.0, ends_s: float | None = None) -> bytes:
    return speech(clip)[int(16_000 * begins_s) // 2 * 2 : None if ends_s is None else int(16_000 * ends_s)]


def silence(seconds: float) -> bytes:
    return bytes(2 * int(8000 * seconds))


WORD = sound("finished01.wav", ends_s=0.69)  # 470 ms of voice, to its last sound
MORE = sound("short01.wav", begins_s=0.24)  # 640 ms, from its first sound
LASTING = sound("pay01.wav", begins_s=0.24, ends_s=2.28) * 3  # 6 s without a pause
ONE_PIECE_S = 1.3
"""Only the first word is shorter, with the quiet before and behind it."""


def turns(scene: Scene) -> list[str]:
    return [line["caller"] for line in scene.lines() if line["saying"] == "answer"]


def read_as(scene: Scene, word: str, whole: str) -> None:
    scene.workers.stt.choose = lambda heard: word if heard.seconds < ONE_PIECE_S else whole


@pytest.mark.parametrize("word", ["Uh.", "No."])
@pytest.mark.parametrize("late_s", [0.0, 0.6, 1.2, 1.45])
def test_a_word_a_pause_and_more_are_answered_whole_however_late_they_are_read(
    virtual_time: RunVirtual, word: str, late_s: float
) -> None:
    """The word alone is a sound of listening, or takes the turn; with 1.2 s it is read behind the second pause."""
    whole = f"{word} I want to come on Tuesday."

    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=0.5)
            scene.workers.stt.delay_s = late_s
            read_as(scene, word, whole)
            await scene.line.ear.say(WORD + silence(0.25) + MORE)
            await scene.until_said(NEXT)
            assert turns(scene) == ["Tell me about bikes.", whole]
            assert scene.heard_s(LONG) < 1.3

    virtual_time(main())


BEGUN, REST, TAIL = (
    "This offer ends on Friday",
    "and it cannot be combined with any other discount.",
    "Fees apply.",
)
OFFER = f"{BEGUN} {REST} {TAIL}"
MUST_PLAY = PROFILE.model_copy(update={"must_play": (OFFER,)})


def whole(scene: Scene, passage: str) -> bool:
    """Without a hole in a chunk; between two there may be one."""
    made = scene.whole_s(passage)
    return made >= 0.06 * len(passage) - 0.2 and scene.heard_s(passage) == pytest.approx(made, abs=0.06)


def test_speech_between_two_chunks_of_a_passage_does_not_cut_it(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(MUST_PLAY) as scene:
            await scene.quiet()
            scene.workers.tts.delay_s = 2.5  # a slow voice: the second chunk comes a second behind the first
            await scene.ask("Is there an offer?", f"{OFFER} {LONG}", NEXT)
            await scene.until_heard(BEGUN, for_s=0.06 * len(BEGUN) - 0.03)
            assert REST not in [spoken.text for spoken in scene.workers.tts.spoken]
            scene.workers.stt.choose = lambda _: "No, that is too much for me."
            await scene.line.ear.say(WORD)
            assert not scene.heard_s(REST), "all of it was said in the gap"
            await scene.until_said(NEXT)
            assert whole(scene, OFFER)
            assert not scene.heard_s(LONG)
            assert turns(scene)[-1] == "No, that is too much for me."

    virtual_time(main())


def test_a_key_between_two_chunks_of_a_passage_does_not_cut_it(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(MUST_PLAY) as scene:
            await scene.quiet()
            scene.workers.tts.delay_s = 2.5
            await scene.ask("Is there an offer?", f"{OFFER} {LONG}", NEXT)
            await scene.until_heard(BEGUN, for_s=0.06 * len(BEGUN) - 0.03)
            await scene.press("1#", gap_s=0.1)
            assert not scene.heard_s(REST)
            await scene.until_said(NEXT)
            assert whole(scene, OFFER)

    virtual_time(main())


def test_the_short_end_of_a_passage_is_heard_whole(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(MUST_PLAY) as scene:
            await scene.ask("Is there an offer?", f"{OFFER} {LONG}", NEXT)
            await scene.until_heard(TAIL, for_s=0.1)
            scene.workers.stt.choose = lambda _: "No, that is too much for me."
            await scene.line.ear.say(WORD[3200:])
            await scene.until_said(NEXT)
            assert whole(scene, OFFER)

    virtual_time(main())


def test_a_passage_that_begins_while_the_bot_talks_on_under_noise_is_whole(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(MUST_PLAY) as scene:
            await scene.ask("Is there an offer?", f"{LONG} {OFFER} {LONG}", NEXT)
            await scene.until_heard(LONG, for_s=3.0)
            scene.workers.stt.choose = lambda _: ""
            await scene.line.ear.say(LASTING)
            assert 0.1 < scene.heard_s(OFFER) < 3.0, "the noise pauses in the middle of it"
            scene.workers.stt.choose = lambda _: "No, that is too much for me."
            await scene.until_said(NEXT)
            assert whole(scene, OFFER)
            assert turns(scene)[-1] == "No, that is too much for me."

    virtual_time(main())


def test_noise_in_front_of_a_passage_that_is_ready_does_not_keep_the_bot_silent(
    virtual_time: RunVirtual,
) -> None:
    async def main() -> None:
        async with talk(MUST_PLAY) as scene:
            await scene.quiet()
            scene.workers.llm.delay_s = 1.0
            await scene.ask("Is there an offer?", OFFER)
            scene.workers.stt.choose = lambda _: ""
            await scene.line.ear.say(LASTING)
            assert scene.heard_s(OFFER) > 2.0, "while the noise lasts"
            await scene.until_said(TAIL)
            assert whole(scene, OFFER)
            assert turns(scene) == ["Is there an offer?"]

    virtual_time(main())


def test_a_key_in_front_of_a_passage_that_is_ready_takes_the_turn(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(MUST_PLAY) as scene:
            await scene.quiet()
            scene.workers.llm.delay_s = 0.8
            await scene.ask("Is there an offer?", OFFER, NEXT)
            scene.workers.stt.choose = lambda _: ""
            await scene.line.ear.say(LASTING[:16_000])
            await scene.press("1#", gap_s=0.05)
            await scene.until_said(NEXT, within_s=6.0)
            assert not scene.heard_s(OFFER)

    virtual_time(main())


def test_who_goes_on_in_front_of_a_passage_that_is_ready_is_answered(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(MUST_PLAY) as scene:
            await scene.quiet()
            scene.workers.llm.delay_s = 0.8
            await scene.ask("Is there an offer?", OFFER, NEXT)
            scene.workers.stt.delay_s = 1.0
            read_as(scene, "Um.", "Um, I mean for the red ones.")
            await scene.line.ear.say(WORD + silence(0.25) + MORE)
            await scene.until_said(NEXT)
            assert scene.asked()[-1]["content"].endswith("Um, I mean for the red ones.")

    virtual_time(main())


def test_a_sound_without_words_behind_a_filler_leads_back_to_listening(virtual_time: RunVirtual) -> None:
    profile = PROFILE.model_copy(update={"no_input_s": 3.0})

    async def main() -> None:
        async with talk(profile) as scene:
            await scene.quiet()
            scene.workers.stt.delay_s = 2.8  # a filler bridges it
            scene.workers.stt.choose = lambda _: ""
            await scene.line.ear.say(WORD)
            await scene.until(lambda: len(scene.spurts()) > 1)
            await scene.until(lambda: scene.said()[1:], within_s=8.0)
            assert scene.said()[1][0] == "still_there"

    virtual_time(main())


@pytest.mark.parametrize("breaks", [False, True])
def test_a_long_pause_of_playout_is_no_lateness_of_the_answer(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, breaks: bool
) -> None:
    """Most of the answer waits for room in playout while a sound over it is read for longer than answers may take.
    Also that of a model that dies meanwhile is heard as far as it was made.
    """
    pause_s = PROFILE.answer_timeout_s + 3.0

    async def read_late(*_: object) -> bool:
        await asyncio.sleep(pause_s)
        return False

    monkeypatch.setattr("stasis_app.judging._means", read_late)

    async def main() -> None:
        async with talk(may_be_silent=True) as scene:
            await scene.quiet()
            scene.workers.llm.token_delay_s = 2.0
            if breaks:
                scene.workers.llm.fault = Fault.die(after=3)
            await scene.ask("Tell me about bikes.", [f"{LONG} ", f"{LONG} ", "Well. ", NEXT])
            await scene.until_heard(LONG, for_s=0.5)
            await scene.say("finished01.wav", "")
            paused = scene.now
            await asyncio.sleep(pause_s - 1.0)
            assert scene.spurts()[-1].end < paused + 0.5, "it is silent"
            await scene.until_said(LONG)
            assert scene.heard_s(LONG) == pytest.approx(scene.whole_s(LONG), abs=0.1)
            heard = [one for saying, *one in scene.said() if saying == "answer"]
            if breaks:
                assert heard == [[LONG, True]]
                await scene.until_said(Phrases().apology)
            else:
                assert heard == [[f"{LONG} {LONG} Well. {NEXT}", False]]

    virtual_time(main())


def test_noise_that_could_not_be_read_in_time_does_not_cost_the_caller_their_answer(
    virtual_time: RunVirtual,
) -> None:
    """It counts as words, and turns out to have none when the answer is thrown away already."""

    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            scene.workers.llm.delay_s = 4.0
            await scene.ask("Tell me about bikes.", "They are nice.")
            await asyncio.sleep(0.6)
            scene.workers.llm.delay_s, scene.workers.stt.delay_s = 0.0, 3.2
            scene.workers.stt.choose = lambda _: ""
            await scene.line.ear.say(LASTING[: 4 * 16_000])
            await scene.until_said("They are nice.", within_s=8.0)
            asked = [one["content"] for one in scene.asked() if one["role"] == "user"]
            assert asked[-1] == "Tell me about bikes.", "once"
            assert ("answer", "They are nice.", False) in scene.said()

    virtual_time(main())
