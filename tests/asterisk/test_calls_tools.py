"""What the model does to a real call: it puts the caller through in the dialplan, and it hangs up."""

import pytest

from caller_phone.script import Say, WaitAnswer, WaitGreeting, run_script
from stasis_app.settings import Profile
from stasis_app.tools.settings import Tools
from tests.asterisk.test_calls import said
from tests.support.every_transport import Line, over_every_transport
from tests.support.fake_workers import FakeToolCall
from tests.support.speech import QUESTION

pytestmark = pytest.mark.asyncio(loop_scope="session")

# it waits until the test listens
LANDING = ("NoOp(${VOICEBOT_TRANSFER})", "Wait(3)", "Playback(all-circuits-busy-now)", "Hangup(16)")
PLACE = "2100"
WORDS = "The workshop will help you with that."


def profile(**tools: object) -> Profile:
    return Profile(
        prompt="You are a test.", greeting="Hello.", language="en", tools=Tools.model_validate(tools)
    )


async def add_landing(line: Line, context: str) -> None:
    """An extension that speaks and hangs up."""
    for priority, step in enumerate(LANDING, 1):
        await line.asterisk.cli(f"dialplan add extension {PLACE},{priority},{step} into {context} replace")


@over_every_transport
async def test_the_caller_lands_where_the_model_puts_them_through(line: Line) -> None:
    await add_landing(line, "voicebot-transfer")
    line.workers.stt.answers = ["I want to talk to the workshop."]
    line.workers.llm.replies = [FakeToolCall("transfer", {"target": "workshop"}, said=WORDS)]
    async with line.bot(profile=profile(transfer={"targets": {"workshop": PLACE}})) as bot:
        async with line.call() as call:
            await run_script(call, [WaitGreeting(), Say(QUESTION)])
            await bot.until_idle(within_s=20)
            # the bot is out of it, and the dialplan speaks
            await call.wait_for_bot_speech(10)
            await call.wait_for_end(30)
            assert call.ended_by_far_end
        await line.nothing_left()
        assert await bot.metric("voicebot_calls_ended_total", cause="transferred") == 1
        assert await bot.metric("voicebot_tools_total", outcome="ok") == 1
        assert await bot.metric("voicebot_defects_total") == 0
    assert said(line)[-1]["bot"] == WORDS
    assert not said(line)[-1]["cut"]


@over_every_transport
async def test_a_target_that_the_dialplan_lacks_keeps_the_caller(line: Line) -> None:
    line.workers.stt.answers = ["I want to talk to the workshop."]
    line.workers.llm.replies = [FakeToolCall("transfer", {"target": "workshop"}), "Nobody is there now."]
    async with line.bot(profile=profile(transfer={"targets": {"workshop": "2199"}})) as bot:
        async with line.call() as call:
            await run_script(call, [WaitGreeting(), Say(QUESTION), WaitAnswer()])
            assert call.is_up
            assert (await bot.ready())["calls"] == 1
            await call.hang_up()
        await bot.until_idle()
        await line.nothing_left()
    assert said(line)[-1]["bot"] == "Nobody is there now."


@over_every_transport
async def test_the_model_hangs_up_after_its_last_word(line: Line) -> None:
    line.workers.stt.answers = ["That is all."]
    line.workers.llm.replies = [FakeToolCall("hang_up", said="Have a nice day.")]
    async with line.bot(profile=profile(hang_up=True)) as bot:
        async with line.call() as call:
            await run_script(call, [WaitGreeting(), Say(QUESTION)])
            await call.wait_for_end(20)
            assert call.ended_by_far_end
        await line.nothing_left()
        assert await bot.metric("voicebot_calls_ended_total", cause="model_hung_up") == 1
    assert (said(line)[-1]["bot"], said(line)[-1]["cut"]) == ("Have a nice day.", False)
