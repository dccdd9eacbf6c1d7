"""What a caller does besides talking, on a real Asterisk: keys of the phone, and speech over a disclosure."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from caller_phone.phone import Phone
from caller_phone.ruler import talkspurts
from caller_phone.script import HangUp, Press, Say, Step, WaitAnswer, WaitGreeting, run_script
from tests.support.bot import PROFILE, running_bot
from tests.support.fake_workers import FakeWorkers, fake_workers
from voicebot.asterisk import AsteriskProcess

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.may_leave("the session's Asterisk")]

QUESTION = Path(__file__).parent.parent / "data" / "speech" / "price01.wav"
DISCLOSURE = "This call is recorded so that we can learn from all that we hear in it."


@pytest_asyncio.fixture(loop_scope="session")
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        yield fakes


def number(asterisk: AsteriskProcess) -> str:
    return f"sip:1000@127.0.0.1:{asterisk.sip_port}"


def lines(transcript: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in transcript.read_text().splitlines()]


async def test_digits_from_the_keys_are_the_answer(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    workers.stt.choose = lambda _: "Please call me back."
    workers.llm.choose = lambda messages: (
        "Thank you." if "5550123" in messages[-1]["content"] else "What is your phone number?"
    )
    transcript = tmp_path / "transcript.jsonl"
    async with running_bot(asterisk, workers, tmp_path, transcript=transcript) as bot, Phone() as phone:
        async with phone.call(number(asterisk)) as call:
            steps: list[Step] = [WaitGreeting(), Say(QUESTION), WaitAnswer(), Press("5550123#")]
            await run_script(call, steps)
            await call.wait_for_bot_speech(10)
            await call.wait_for_bot_quiet(800, 10)
            await call.hang_up()
        await bot.until_idle()
        assert await bot.metric("voicebot_digits_total", kind="taken") == 8
    assert [line["caller"] for line in lines(transcript)][1:] == ["Please call me back.", "5550123"]
    assert workers.llm.requests[-1]["messages"][-1]["content"] == "5550123"


async def test_a_disclosure_is_heard_to_its_end_and_what_was_said_over_it_is_answered(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    workers.stt.choose = lambda _: "How much is it?"
    workers.llm.replies = ["Nineteen dollars."]
    transcript = tmp_path / "transcript.jsonl"
    profile = PROFILE.model_copy(update={"disclosure": DISCLOSURE})
    async with (
        running_bot(asterisk, workers, tmp_path, profile=profile, transcript=transcript) as bot,
        Phone() as phone,
    ):
        async with phone.call(number(asterisk)) as call:
            await call.wait_for_bot_speech(10, since_s=call.answered_s)
            await run_script(call, [Say(QUESTION), WaitAnswer(), HangUp()])
        await bot.until_idle()
    said = lines(transcript)
    assert str(said[0]["bot"]).startswith(DISCLOSURE), "not one word less"
    assert (said[1]["caller"], said[1]["bot"]) == ("How much is it?", "Nineteen dollars.")
    first = talkspurts(call.recording().bot())[0]
    seconds = len(DISCLOSURE) * workers.tts.seconds_per_char
    # the answer was ready and may follow without a gap
    assert first.end_s - first.start_s > seconds - 0.25, "in one piece"
