"""Calls in which a worker fails, over every transport."""

import pytest

from caller_phone.script import HangUp, Say, Step, WaitAnswer, WaitGreeting, run_script
from tests.support.bot import PROFILE, until
from tests.support.every_transport import Line, over_every_transport
from tests.support.fake_workers import Fault
from tests.support.speech import QUESTION

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("broken", ["stt", "llm", "tts"])
@over_every_transport
async def test_a_dead_worker_is_an_apology_and_then_the_end(line: Line, broken: str) -> None:
    line.workers.stt.answers = ["How much is it?"]
    async with line.bot() as bot:
        getattr(line.workers, broken).fault = Fault.status(500)
        async with line.call() as call:
            steps: list[Step] = [WaitGreeting(), Say(QUESTION), WaitAnswer(), Say(QUESTION), WaitAnswer()]
            talk = await run_script(call, steps)
            await call.wait_for_end(15)
        await bot.until_idle()
        assert [turn.answered for turn in talk.turns] == [True, True]
        assert await bot.metric("voicebot_turns_total", saying="apology", end="played") == 1
        assert await bot.metric("voicebot_calls_ended_total", cause="normal") == 1
        await line.nothing_left()


@over_every_transport
async def test_a_sentence_that_breaks_off_is_not_said_again(line: Line) -> None:
    workers = line.workers
    workers.stt.answers = ["How much is it?"]
    workers.llm.replies = ["The first sentence breaks off. The second one is whole."]
    async with line.bot() as bot, line.call() as call:
        await run_script(call, [WaitGreeting()])
        workers.tts.spoken.clear()
        workers.tts.faults = [Fault.die(after=5)]
        await run_script(call, [Say(QUESTION), WaitAnswer(), HangUp()])
        await bot.until_idle()
    assert [spoken.text for spoken in workers.tts.spoken] == [
        "The first sentence breaks off.",
        "The second one is whole.",
    ]


@over_every_transport
async def test_a_voice_that_falls_silent_in_mid_answer_is_an_apology(line: Line) -> None:
    workers = line.workers
    workers.stt.answers = ["How much is it?"]
    workers.llm.replies = [["Sure, I can tell you that. ", *"And there is more to say of it. ".split(" ")]]
    workers.llm.token_delay_s = 0.4
    impatient = PROFILE.model_copy(update={"answer_timeout_s": 2.0})
    async with line.bot(profile=impatient) as bot, line.call() as call:
        await run_script(call, [WaitGreeting()])
        asked = await call.say(QUESTION)
        await call.wait_for_bot_speech(10, since_s=asked.last_voiced_s)
        workers.tts.fault = Fault.hang()
        await call.sleep(9)
        assert await bot.metric("voicebot_turns_total", saying="answer", end="cut") == 1
        assert await bot.metric("voicebot_turns_total", saying="apology", end="played") == 1
        await call.hang_up()
        await bot.until_idle()
    assert await until(lambda: workers.tts.running == 0)
