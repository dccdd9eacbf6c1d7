"""What stands of the bot's turns in transcript, history and metrics: of each kind, and however its call ends."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import pytest

from media_bridge.settings import TransportName
from stasis_app.settings import Phrases, Profile
from tests.support import talk as talks
from tests.support.fake_workers import Fault
from tests.support.talk import CALLER, PROFILE, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

PHRASES: Final = Phrases()
QUESTION: Final = "How much is it?"
ANSWER: Final = "It costs nineteen dollars a month."
LONG: Final = "We have very many red and yellow and blue bikes here and all of them are new."
DISCLOSURE: Final = "This call is recorded."
IMPATIENT: Final = PROFILE.model_copy(update={"no_input_s": 2.0, "no_input_prompts": 0})


async def bot_says_goodbye_to_a_silent_caller(scene: Scene) -> None:
    await scene.quiet()


async def bot_says_goodbye_to_one_who_takes_leave(scene: Scene) -> None:
    await scene.ask("Thank you, bye.")


async def model_fails_twice(scene: Scene) -> None:
    await one_failure(scene)
    await scene.until_said(PHRASES.apology)
    await scene.ask(QUESTION, "never")


async def one_failure(scene: Scene) -> None:
    scene.workers.llm.fault = Fault.status(400)
    await scene.ask(QUESTION, "never")


async def process_drains(scene: Scene) -> None:
    await scene.quiet()
    scene.stop.set()


async def answer(scene: Scene) -> None:
    await scene.ask(QUESTION, LONG)


async def nothing(_: Scene) -> None:
    pass


LAST_WORDS: Final = {
    "silent": (IMPATIENT, bot_says_goodbye_to_a_silent_caller, "goodbye", PHRASES.goodbye),
    "took leave": (PROFILE, bot_says_goodbye_to_one_who_takes_leave, "goodbye", PHRASES.goodbye),
    "drained": (PROFILE, process_drains, "goodbye", PHRASES.goodbye),
    "failed twice": (PROFILE, model_fails_twice, "trouble", PHRASES.trouble),
}
Begin = Callable[[Scene], Coroutine[Any, Any, None]]


@pytest.mark.parametrize("transport", ["rtp", "websocket", "audiosocket"])
@pytest.mark.parametrize("ending", LAST_WORDS)
def test_the_last_words_of_a_call_that_the_bot_ends_were_played(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, ending: str, transport: TransportName
) -> None:
    profile, begin, saying, text = LAST_WORDS[ending]
    monkeypatch.setattr(talks, "TRANSPORT", transport)

    async def main() -> None:
        async with talk(profile) as scene:
            await begin(scene)
            await scene.until(lambda: not scene.is_up, within_s=60)
            assert scene.said()[-1] == (saying, text, False)
            if not scene.stop.is_set():  # else its web port is closed
                assert await scene.metric("voicebot_turns_total", saying=saying, end="played") == 1
                assert await scene.metric("voicebot_turns_total", saying=saying, end="cut") == 0

    virtual_time(main())


def test_a_caller_who_was_never_heard_was_told_so(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            scene.line.dead = True
            await scene.until(lambda: not scene.is_up, within_s=60)
            assert scene.said()[-1] == ("not_heard", PHRASES.not_heard, False)

    virtual_time(main())


def hung_up(scene: Scene) -> None:
    scene.hang_up()


def leg_taken_down(scene: Scene) -> None:
    (leg,) = [channel for channel in scene.ari.channels if channel != CALLER]
    scene.ari.end(leg)


def process_ended(scene: Scene) -> None:
    scene.end_at_once()


SPOKEN: Final[dict[str, tuple[Profile, Begin, str, str]]] = {
    "greeting": (PROFILE.model_copy(update={"greeting": LONG}), nothing, "greeting", LONG),
    "passage": (PROFILE.model_copy(update={"disclosure": DISCLOSURE}), nothing, "greeting", DISCLOSURE),
    "answer": (PROFILE, answer, "answer", LONG),
    "prompt": (
        IMPATIENT.model_copy(update={"no_input_prompts": 1}), nothing, "still_there", PHRASES.still_there,
    ),
    "apology": (PROFILE, one_failure, "apology", PHRASES.apology),
    **LAST_WORDS,
}  # fmt: skip


@pytest.mark.parametrize("end", [hung_up, leg_taken_down, process_ended])
@pytest.mark.parametrize("kind", SPOKEN)
def test_of_what_the_end_cuts_the_words_that_were_heard_stand_there(
    virtual_time: RunVirtual, kind: str, end: Callable[[Scene], None]
) -> None:
    profile, begin, saying, text = SPOKEN[kind]

    async def main() -> None:
        async with talk(profile) as scene:
            await begin(scene)
            await scene.until_heard(text, 0.6 * len(text) * 0.06)
            written = len(scene.lines())
            end(scene)
            await scene.until(lambda: len(scene.lines()) > written, within_s=1)
            said, heard, cut = scene.said()[-1]
            assert (said, cut) == (saying, True)
            assert text.startswith(heard)
            assert text[len(heard)] == " ", "cut at a word"
            assert 0.3 * len(text) < len(heard) < 0.7 * len(text)
            assert len(scene.lines()) == written + 1

    virtual_time(main())


def test_a_goodbye_is_written_down_whole_however_long_it_takes(
    virtual_time: RunVirtual,
) -> None:
    goodbye = f"{LONG} " * 4
    endless = IMPATIENT.model_copy(update={"phrases": Phrases(goodbye=goodbye)})

    async def main() -> None:
        async with talk(endless) as scene:
            await scene.until(lambda: not scene.is_up, within_s=60)
            assert scene.said()[-1] == ("goodbye", goodbye.strip(), False)
            assert await scene.metric("voicebot_turns_total", saying="goodbye", end="cut") == 0

    virtual_time(main())


def test_ready_phrases_are_remembered_like_answers_and_a_filler_is_not(virtual_time: RunVirtual) -> None:
    patient = PROFILE.model_copy(update={"no_input_s": 3.0, "disclosure": DISCLOSURE})

    async def main() -> None:
        async with talk(patient) as scene:
            await scene.until_said(PHRASES.still_there)
            await one_failure(scene)
            await scene.until_said(PHRASES.apology)
            scene.workers.llm.fault = None
            scene.workers.llm.delay_s = 6.0
            await scene.ask(QUESTION, ANSWER)
            await scene.until_said(ANSWER)
            assert scene.heard_s(PHRASES.filler) > 0
            remembered = [one["content"] for one in scene.asked() if one["role"] == "assistant"]
            assert remembered == [
                f"{DISCLOSURE} {PROFILE.greeting} {PHRASES.still_there}",
                PHRASES.apology,
            ]
            assert [(saying, text) for saying, text, _ in scene.said()] == [
                ("greeting", f"{DISCLOSURE} {PROFILE.greeting}"),
                ("still_there", PHRASES.still_there),
                ("answer", ""),  # it stands there with the caller's words
                ("apology", PHRASES.apology),
                ("answer", ANSWER),
            ]

    virtual_time(main())


def test_a_caller_who_leaves_before_the_answer_has_their_words_written_down(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            scene.workers.llm.delay_s = 2.0
            await scene.ask(QUESTION, ANSWER)
            await asyncio.sleep(1.2)
            scene.hang_up()
            await scene.until(lambda: len(scene.lines()) == 2, within_s=1)
            line = scene.lines()[-1]
            assert (line["caller"], line["bot"], line["cut"]) == (QUESTION, "", True)

    virtual_time(main())
