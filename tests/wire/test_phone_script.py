"""Scripted talks with a bot that is a second phone, whose own record of what it said is the truth."""

import asyncio
import contextlib
import wave
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest

from caller_phone.outgoing import Said
from caller_phone.phone import Call, Phone
from caller_phone.script import (
    HangUp,
    Interrupt,
    Murmur,
    Pause,
    Press,
    Say,
    Step,
    TalkResult,
    WaitAnswer,
    WaitGreeting,
    run_script,
)

Bot = Callable[[Call], Awaitable[list[Said]]]
QUIET_MS = 350.0


def tone(seconds: float) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    return (8000 * np.sin(2 * np.pi * 600 * np.arange(round(8000 * seconds)) / 8000)).astype(np.int16)


@pytest.fixture
def question(tmp_path: Path) -> Path:
    path = tmp_path / "question.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.pad(tone(0.3), 800).tobytes())
    return path


@contextlib.asynccontextmanager
async def called(bot: Bot) -> AsyncIterator[tuple[Call, "asyncio.Task[list[Said]]"]]:
    """A call to a phone that runs `bot` and hangs up when it returns."""

    async def run(phone: Phone) -> list[Said]:
        async with phone.answer(timeout_s=5) as call:
            return await bot(call)

    async with Phone() as caller, Phone() as callee, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(callee))
        host, port = callee.address
        async with caller.call(f"sip:bot@{host}:{port}") as call:
            yield call, running


async def talk(bot: Bot, steps: list[Step]) -> tuple[TalkResult, list[Said]]:
    async with called(bot) as (call, running):
        result = await run_script(call, steps)
        await call.hang_up()
        return result, await running


async def heard(call: Call, since_s: float) -> Said:
    """Wait for the caller's next words and their end."""
    first_s = await call.wait_for_bot_speech(5, since_s=since_s)
    return Said(first_s, await call.wait_for_bot_quiet(250, 5))


async def test_the_figures_of_a_polite_talk(question: Path) -> None:
    async def bot(call: Call) -> list[Said]:
        greeting = await call.say(tone(0.4).tobytes())
        asked = await heard(call, greeting.last_voiced_s)
        answer = await call.say(tone(0.5).tobytes())
        await call.wait_for_end(5)
        return [greeting, asked, answer]

    steps: list[Step] = [
        WaitGreeting(quiet_ms=QUIET_MS),
        Say(question),
        WaitAnswer(quiet_ms=QUIET_MS),
        Press("1"),
        Pause(0.05),
        HangUp(),
    ]
    result, (greeting, asked, answer) = await talk(bot, steps)
    (turn,) = result.turns
    assert result.finished
    assert not result.ended_by_far_end
    assert result.greeting_ms is not None
    assert result.greeting_ms < 1000 * (asked.first_voiced_s - greeting.first_voiced_s)
    assert turn.said == "question.wav"
    assert turn.answered
    assert turn.response_ms == pytest.approx(1000 * (answer.first_voiced_s - turn.last_voiced_s), abs=30)
    assert turn.answer_duration_ms == pytest.approx(500, abs=30)
    assert (turn.cut_ms, turn.early_ms) == (None, None)
    assert result.packets.missing == 0


async def test_an_interruption_is_cut_where_the_bot_ends(question: Path) -> None:
    async def bot(call: Call) -> list[Said]:
        asked = await heard(call, call.answered_s)
        long = await call.say(tone(1.2).tobytes())
        await heard(call, long.first_voiced_s)
        await call.sleep(0.4)
        short = await call.say(tone(0.2).tobytes())
        await call.wait_for_end(5)
        return [asked, long, short]

    steps: list[Step] = [Say(question), Interrupt(question, after_s=0.4), WaitAnswer(quiet_ms=QUIET_MS)]
    result, (_, long, short) = await talk(bot, steps)
    first, second = result.turns
    assert first.cut_ms is None
    assert first.answered
    assert second.cut_ms == pytest.approx(1000 * (long.last_voiced_s - second.first_voiced_s), abs=30)
    assert 400 < 1000 * (second.first_voiced_s - long.first_voiced_s) < 1100
    assert second.response_ms == pytest.approx(1000 * (short.first_voiced_s - second.last_voiced_s), abs=30)


async def test_a_sound_over_the_bot_is_no_turn_of_the_caller(question: Path) -> None:
    async def bot(call: Call) -> list[Said]:
        asked = await heard(call, call.answered_s)
        begun = await call.say(tone(0.9).tobytes())
        await heard(call, begun.first_voiced_s)
        await call.sleep(0.6)
        gone_on = await call.say(tone(0.6).tobytes())
        await call.wait_for_end(5)
        return [asked, begun, gone_on]

    steps: list[Step] = [Say(question), Murmur(question, after_s=0.3), WaitAnswer(quiet_ms=1000)]
    result, (_, begun, gone_on) = await talk(bot, steps)
    (turn,), (murmur,) = result.turns, result.murmurs
    assert turn.answered
    assert turn.cut_ms is None
    assert (murmur.said, murmur.over) == ("question.wav", "question.wav")
    assert murmur.pause_ms == pytest.approx(1000 * (gone_on.first_voiced_s - begun.last_voiced_s), abs=30)


async def test_a_bot_that_talks_into_the_question_is_early(question: Path) -> None:
    async def bot(call: Call) -> list[Said]:
        await call.wait_for_bot_speech(5)
        answer = await call.say(tone(0.6).tobytes())
        await call.wait_for_end(5)
        return [answer]

    result, (answer,) = await talk(bot, [Say(question), WaitAnswer(quiet_ms=QUIET_MS)])
    (turn,) = result.turns
    assert turn.answered
    assert turn.response_ms is None
    assert turn.early_ms == pytest.approx(1000 * (turn.last_voiced_s - answer.first_voiced_s), abs=30)


async def test_a_mute_bot_is_a_result_and_a_missing_greeting_stops_the_talk(question: Path) -> None:
    async def bot(call: Call) -> list[Said]:
        await call.wait_for_end(10)
        return []

    result, _ = await talk(bot, [Say(question), WaitAnswer(timeout_s=0.2)])
    assert result.finished
    assert not result.turns[0].answered
    assert (result.turns[0].response_ms, result.greeting_ms) == (None, None)
    # a bot that says nothing still sends its silence
    assert result.packets.packets > 10

    result, _ = await talk(bot, [WaitGreeting(timeout_s=0.1), Say(question)])
    assert not result.finished
    assert result.stopped_at is not None
    assert result.stopped_at.startswith("step 1 (WaitGreeting): the far end said nothing")


async def test_a_bot_that_hangs_up_ends_the_talk(question: Path) -> None:
    async def bot(call: Call) -> list[Said]:
        await heard(call, call.answered_s)
        return [await call.say(tone(0.3).tobytes())]

    result, _ = await talk(bot, [Say(question), WaitAnswer(), Say(question)])
    assert result.ended_by_far_end
    assert not result.finished
    assert len(result.turns) == 1
    assert result.turns[0].answered
