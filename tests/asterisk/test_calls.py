"""Whole talks over every transport: a phone, a real Asterisk, the real call process; only the models are made up."""

import json
import wave
from pathlib import Path
from typing import Any

import pytest

from caller_phone.ruler import talkspurts
from caller_phone.script import (
    HangUp,
    Interrupt,
    Pause,
    Press,
    Say,
    Step,
    WaitAnswer,
    WaitGreeting,
    run_script,
)
from stasis_app.settings import CallSettings
from tests.support.bot import MEDIA, PROFILE, until
from tests.support.every_transport import Line, over_every_transport
from tests.support.flight_sound import interruption_ms
from tests.support.speech import NO, QUESTION, SHORT
from voicebot.replay import replay_file

pytestmark = pytest.mark.asyncio(loop_scope="session")

DISCLOSURE = "This call is recorded so that we can learn from all that we hear in it."


def said(line: Line) -> list[dict[str, Any]]:
    """The lines of the transcript."""
    return [json.loads(text) for text in line.transcript.read_text().splitlines()]


def wav(path: Path) -> bytes:
    """The pcm of a clip."""
    with wave.open(str(path)) as clip:
        pcm: bytes = clip.readframes(clip.getnframes())
    return pcm


@over_every_transport
async def test_a_question_is_answered(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "stasis_app.application")
    line.workers.stt.answers = ["How much does the monthly plan cost?"]
    line.workers.llm.replies = ["Nineteen dollars a month. Do you want it?"]
    async with line.bot() as bot:
        async with line.call() as call:
            talk = await run_script(call, [WaitGreeting(), Say(QUESTION), WaitAnswer(), HangUp()])
        await bot.until_idle()
        await line.nothing_left()
        assert await bot.metric("voicebot_calls_ended_total", cause="caller_hung_up") == 1
        assert await bot.metric("voicebot_defects_total") == 0
        assert await bot.metric("voicebot_call_mos_count") == 1
        assert await bot.metric("voicebot_call_loss_ratio_bucket", le="0.1") == 1
    records = [vars(record) for record in caplog.records if hasattr(record, "mos")]
    (left,) = [record for record in records if record["transport"] == line.transport]
    assert 3.0 < left["mos"] <= 4.5
    assert talk.stopped_at is None
    assert [turn.answered for turn in talk.turns] == [True]
    assert talk.packets.missing == 0
    # where the machine itself stood still, the timestamps say so
    assert talk.packets.timestamp_steps[160] >= 0.97 * talk.packets.packets
    assert {step % 160 for step in talk.packets.timestamp_steps} == {0}
    wide = line.transport != "rtp"
    assert {heard.rate for heard in line.workers.stt.requests} == {16_000 if wide else 8000}
    asked = line.workers.llm.requests[-1]["messages"]
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]
    assert asked[-1]["content"] == "How much does the monthly plan cost?"
    greeting, answer = said(line)
    assert (greeting["saying"], greeting["bot"], greeting["cut"]) == ("greeting", "Hello.", False)
    assert (answer["saying"], answer["bot"], answer["cut"]) == (
        "answer",
        "Nineteen dollars a month. Do you want it?",
        False,
    )
    stages = answer["ms_after_speech_end"]
    order = ["stt_done", "first_token", "first_sentence", "first_audio", "first_packet"]
    assert [stages[name] for name in order] == sorted(stages[name] for name in order)
    assert stages["first_packet"] >= stages["decision"]


@over_every_transport
async def test_an_interruption_stops_the_answer_and_is_answered(line: Line) -> None:
    """P4, by the bot's own clock: how long it takes on the wire is a matter of the machine, too."""
    workers = line.workers
    workers.stt.answers = [
        "Tell me about your bikes.",
        "No, that is not what I meant.",
        "No, that is not what I meant.",
    ]
    workers.llm.replies = [
        "This is a long sentence about very many bikes of ours. " * 4,
        "What did you mean?",
    ]
    flights = line.folder / "flights"
    async with line.bot(calls=CallSettings(max_calls=60, drain_s=0, flight_recorder=flights)) as bot:
        async with line.call() as call:
            steps: list[Step] = [
                WaitGreeting(),
                Say(QUESTION),
                Interrupt(NO, after_s=1.5),
                WaitAnswer(),
                HangUp(),
            ]
            talk = await run_script(call, steps)
        await bot.until_idle()
        assert await bot.metric("voicebot_interruptions_total", verdict="meant") == 1
    cut = talk.turns[1]
    assert cut.answered
    assert cut.cut_ms is not None, "the caller spoke over it"
    assert interruption_ms(flights) <= 320, "the bot talked on"
    assert replay_file(next(flights.glob("*.flight")), print) == 0, (
        "in real time, too, it is heard again as it was"
    )
    interrupted = next(spoken for spoken in said(line) if spoken["cut"])
    assert interrupted["bot"]
    remembered = workers.llm.requests[-1]["messages"][-2]
    assert remembered == {"role": "assistant", "content": interrupted["bot"] + " ..."}
    assert await until(lambda: workers.llm.running == workers.tts.running == 0)


@over_every_transport
async def test_a_cough_over_the_bot_resumes(line: Line) -> None:
    line.workers.stt.choose = lambda heard: "Mm-hm." if heard.seconds < 2.0 else "Tell me about your bikes."
    answer = "This is a rather long sentence about very many bikes. "
    line.workers.llm.replies = [answer]
    async with line.bot() as bot:
        async with line.call() as call:
            steps: list[Step] = [
                WaitGreeting(),
                Say(QUESTION),
                Interrupt(SHORT, after_s=1.0),
                Pause(6),
                HangUp(),
            ]
            await run_script(call, steps)
        await bot.until_idle()
        assert await bot.metric("voicebot_interruptions_total", verdict="ignored") == 1
    assert [(spoken["bot"], spoken["cut"]) for spoken in said(line)[1:2]] == [(answer.strip(), False)]


@over_every_transport
async def test_words_after_a_sound_of_listening_are_answered(line: Line) -> None:
    """ "Okay" over the bot is no turn; what follows it in the same breath is."""
    workers = line.workers
    workers.stt.choose = lambda heard: "Okay." if heard.seconds < 1.7 else "Okay. And how much is it?"
    workers.llm.replies = ["This is a rather long sentence about very many bikes. " * 3, "Nineteen dollars."]
    breath = wav(SHORT)[: int(8000 * 0.95) * 2] + bytes(2 * int(8000 * 0.35)) + wav(QUESTION)
    async with line.bot() as bot, line.call() as call:
        await run_script(call, [WaitGreeting()])
        asked = await call.say(QUESTION)
        await call.wait_for_bot_speech(10, since_s=asked.last_voiced_s)
        await call.sleep(1.0)
        await call.say(breath)
        await call.sleep(4)
        await call.hang_up()
        await bot.until_idle()
    messages = workers.llm.requests[-1]["messages"]
    by_caller = [message["content"] for message in messages if message["role"] == "user"]
    assert by_caller[-1].endswith("Okay. And how much is it?")


@over_every_transport
async def test_silence_is_asked_about_twice_and_then_ended(line: Line) -> None:
    quick = PROFILE.model_copy(update={"no_input_s": 0.6})
    async with line.bot(profile=quick) as bot:
        async with line.call() as call:
            await call.wait_for_end(30)
            assert call.ended_by_far_end
        await bot.until_idle()
        assert await bot.metric("voicebot_turns_total", saying="still_there", end="played") == 2
        assert await bot.metric("voicebot_calls_ended_total", cause="normal") == 1
        await line.nothing_left()


@over_every_transport
async def test_a_farewell_ends_the_call(line: Line) -> None:
    line.workers.stt.answers = ["Thank you, goodbye."]
    async with line.bot() as bot:
        async with line.call() as call:
            await run_script(call, [WaitGreeting(), Say(SHORT)])
            await call.wait_for_end(15)
        await bot.until_idle()
        assert not line.workers.llm.requests
        ends = [
            await bot.metric("voicebot_turns_total", saying="goodbye", end=end) for end in ("cut", "played")
        ]
        assert sum(ends) == 1


@over_every_transport
async def test_a_caller_on_hold_is_not_asked_whether_they_are_there(line: Line) -> None:
    quick = PROFILE.model_copy(update={"no_input_s": 1.0, "no_input_prompts": 1})
    impatient = MEDIA.model_copy(update={"media_timeout_s": 1.0})
    async with line.bot(profile=quick, media=impatient) as bot, line.call() as call:
        await call.wait_for_bot_speech(5)
        await call.hold()
        # nothing comes from a phone on hold: neither of the two timers may run meanwhile
        await call.sleep(4)
        assert await bot.metric("voicebot_turns_total", saying="still_there") == 0
        await call.unhold()
        await call.wait_for_bot_speech(5)
        await call.wait_for_end(15)
        assert call.ended_by_far_end
        await bot.until_idle()
        assert await bot.metric("voicebot_turns_total", saying="still_there", end="played") == 1
        assert await bot.metric("voicebot_calls_ended_total", cause="normal") == 1
        await line.nothing_left()


@over_every_transport
async def test_digits_from_the_keys_are_the_answer(line: Line) -> None:
    line.workers.stt.choose = lambda _: "Please call me back."
    line.workers.llm.choose = lambda messages: (
        "Thank you." if "5550123" in messages[-1]["content"] else "What is your phone number?"
    )
    async with line.bot() as bot:
        async with line.call() as call:
            steps: list[Step] = [WaitGreeting(), Say(QUESTION), WaitAnswer(), Press("5550123#")]
            await run_script(call, steps)
            await call.wait_for_bot_speech(10)
            await call.wait_for_bot_quiet(800, 10)
            await call.hang_up()
        await bot.until_idle()
        assert await bot.metric("voicebot_digits_total", kind="taken") == 8
    assert [spoken["caller"] for spoken in said(line)][1:] == ["Please call me back.", "5550123"]
    assert line.workers.llm.requests[-1]["messages"][-1]["content"] == "5550123"


@over_every_transport
async def test_a_disclosure_is_heard_to_its_end_and_what_was_said_over_it_is_answered(line: Line) -> None:
    line.workers.stt.choose = lambda _: "How much is it?"
    line.workers.llm.replies = ["Nineteen dollars."]
    async with line.bot(profile=PROFILE.model_copy(update={"disclosure": DISCLOSURE})) as bot:
        async with line.call() as call:
            await call.wait_for_bot_speech(10, since_s=call.answered_s)
            await run_script(call, [Say(QUESTION), WaitAnswer(), HangUp()])
        await bot.until_idle()
    disclosed, answered = said(line)[:2]
    assert disclosed["bot"].startswith(DISCLOSURE), "not one word less"
    assert (answered["caller"], answered["bot"]) == ("How much is it?", "Nineteen dollars.")
    first = talkspurts(call.recording().bot())[0]
    seconds = len(DISCLOSURE) * line.workers.tts.seconds_per_char
    # the answer was ready and may follow without a gap
    assert first.end_s - first.start_s > seconds - 0.25, "in one piece"
