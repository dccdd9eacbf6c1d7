"""Work on an answer before the caller has finished: nothing of it is heard, remembered or left running (D22, D23)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from media_bridge.settings import EndpointSettings
from media_bridge.turn_end import end_wait_ms
from media_bridge.turn_end_waits import EndWaits
from stasis_app.settings import Phrases
from tests.support.fake_workers import FakeToolCall
from tests.support.talk import PROFILE, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

WORDS = "How late is the pharmacy open tonight?"
ENDPOINT = EndpointSettings()
PHRASES = [text for text in Phrases().model_dump().values() if text] + ["Hello."]
IN_PARTS = "unfinished13.wav"  # pauses from 1.28 to 2.18 and from 2.68 to 3.08 s
PARTS = (
    "Please put me down for",
    "Please put me down for Thursday at",
    "Please put me down for Thursday at eleven.",
)


async def says_in_parts(scene: Scene, first: str, second: str, whole: str) -> dict[str, list[float]]:
    """What is understood after each part. Seconds of the clip at which a request to each worker was open."""
    began = scene.now
    opened: dict[str, list[float]] = {"stt": [], "llm": [], "tts": []}
    speaking = asyncio.create_task(scene.say(IN_PARTS, ""))
    await asyncio.sleep(0.02)
    scene.workers.stt.choose = lambda heard: (
        first if heard.seconds < 2.2 else second if heard.seconds < 3.4 else whole
    )
    while not speaking.done():
        # what is read along while the caller speaks is no work on an answer
        early = scene.workers.stt.at_work("eager")
        for name, runs in (
            ("stt", early),
            ("llm", scene.workers.llm.running),
            ("tts", scene.workers.tts.running),
        ):
            if runs:
                opened[name].append(scene.now - began)
        await asyncio.sleep(0.01)
    return opened


# the first pause ends at 2.18 s: the voice detector is certain of the next word 60 to 100 ms later, and 200 ms are for
# the stopping
PAUSED, GOES_ON, STOPPED, PAUSES_AGAIN = 1.28, 2.18, 2.18 + 0.1 + 0.2, 2.68


def test_an_answer_begun_too_early_is_stopped_at_once_and_never_remembered(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            scene.workers.llm.token_delay_s = 0.05
            scene.workers.llm.replies = ["and so on " * 200]  # only what is stopped ever ends
            opened = (await says_in_parts(scene, *PARTS))["llm"]
            assert any(PAUSED < at < GOES_ON for at in opened), "work began in the first pause"
            assert not [at for at in opened if STOPPED < at < PAUSES_AGAIN], (
                "and ended when the caller went on"
            )
            assert scene.workers.llm.aborted >= 1
            assert [line["saying"] for line in scene.lines()] == ["greeting"], (
                "nothing was heard or remembered"
            )

    virtual_time(main())


@pytest.mark.parametrize("busy", ["stt", "llm", "tts"])
def test_more_speech_stops_whichever_worker_is_at_it(virtual_time: RunVirtual, busy: str) -> None:
    """Each of the three is in the middle of its work on the first part when the caller goes on."""

    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            workers = scene.workers
            workers.llm.replies = ["You are down for Thursday."]
            {"stt": workers.stt, "llm": workers.llm, "tts": workers.tts}[busy].delay_s = 5.0
            opened = (await says_in_parts(scene, *PARTS))[busy]
            assert [at for at in opened if PAUSED < at < GOES_ON], "at work in the pause"
            assert not [at for at in opened if STOPPED < at < PAUSES_AGAIN]

    virtual_time(main())


def test_the_answer_is_to_all_that_was_said_and_is_given_once(virtual_time: RunVirtual) -> None:
    """D23."""

    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            scene.workers.llm.replies = ["You are down for eleven."]
            await says_in_parts(scene, *PARTS)
            await scene.until_said("You are down for eleven.")
            await asyncio.sleep(3)
            assert [(line["saying"], line["caller"]) for line in scene.lines()] == [
                ("greeting", ""),
                ("answer", PARTS[-1]),
            ]
            assert scene.asked()[-1]["content"] == PARTS[-1]

    virtual_time(main())


def test_a_tool_that_an_early_answer_calls_for_is_never_run_nor_spoken(virtual_time: RunVirtual) -> None:
    """D23. No tools are offered, so a call of one in a model's stream is nothing at all, early or not."""

    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            call = FakeToolCall("book", {"day": "Thursday"})
            scene.workers.llm.choose = lambda said: (
                "You are down for eleven." if said[-1]["content"] == PARTS[-1] else call
            )
            await says_in_parts(scene, *PARTS)
            await scene.until_said("You are down for eleven.")
            await asyncio.sleep(3)
            assert [line["bot"] for line in scene.lines()] == ["Hello.", "You are down for eleven."]
            assert {spoken.text for spoken in scene.workers.tts.spoken} <= {
                "You are down for eleven.",
                *PHRASES,
            }

    virtual_time(main())


def test_after_a_tool_call_the_next_question_is_answered_as_if_it_had_not_been(
    virtual_time: RunVirtual,
) -> None:
    """D22: nothing of the call stays in progress or in the history."""

    async def main() -> None:
        async with talk() as scene:
            await scene.ask("Book it.", FakeToolCall("book", {"day": "Thursday"}))
            await scene.until_said(Phrases().apology)
            await scene.ask("How much is it?", "It is nineteen dollars.")
            await scene.until_said("It is nineteen dollars.")
            roles = [message["role"] for message in scene.asked()]
            assert set(roles) == {"system", "user", "assistant"}
            assert not any("tool" in key for message in scene.asked() for key in message)
            assert scene.workers.llm.running == 0

    virtual_time(main())


def test_a_dictated_number_is_one_turn_with_all_its_digits(virtual_time: RunVirtual) -> None:
    """D13: 900 and 400 ms between its groups, by what the profile says the greeting asks for."""
    number = "0 5 5, 1 2 3, 4 5 6 7."

    async def main() -> None:
        async with talk(PROFILE.model_copy(update={"expect": "digits:10"})) as scene:
            await scene.quiet()
            scene.workers.llm.replies = ["Thank you."]
            await says_in_parts(scene, "0 5 5", "0 5 5, 1 2 3", number)
            await scene.until_said("Thank you.")
            assert [line["caller"] for line in scene.lines()][1:] == [number]
            # all that was asked for is there: nothing more is waited for
            assert scene.lines()[-1]["ms_after_speech_end"]["first_packet"] < 500

    virtual_time(main())


def test_a_finished_sentence_ends_as_soon_as_ever(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(PROFILE.model_copy(update={"expect": "digits:10"})) as scene:
            await scene.ask(WORDS, "Until six.")
            await scene.until_said("Until six.")
            stages = scene.lines()[-1]["ms_after_speech_end"]
            # with workers that answer at once all that is ours is 40 ms behind the decision, 60 ms over the wait
            wait_ms = max(ENDPOINT.pause_ms, end_wait_ms(WORDS, None, EndWaits.around(ENDPOINT.end_ms)))
            assert stages["first_packet"] - stages["decision"] <= 40
            assert stages["first_packet"] <= wait_ms + 60

    virtual_time(main())
