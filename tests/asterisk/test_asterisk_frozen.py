"""Asterisk itself stands still for 8 s under many calls, as on a machine that swaps: A3 and A4, without a cut line."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from caller_phone.phone import Phone
from caller_phone.script import Say, WaitAnswer, run_script
from tests.support.bot import nothing_left
from tests.support.bot_process import WORKERS_KEY, Process, process
from tests.support.callers import greeted, until
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.rig import SippResult, private_asterisk, run_sipp
from tests.support.speech import QUESTION
from voicebot.asterisk import AsteriskProcess

FREEZE_S = 8.0
CALLS = int(os.environ.get("VOICEBOT_FROZEN_CALLS", "10"))
"""So many hang up while Asterisk is frozen, and so many after it."""


@pytest_asyncio.fixture
async def asterisk() -> AsyncIterator[AsteriskProcess]:
    async with private_asterisk() as own:
        yield own


@pytest_asyncio.fixture
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        for fake in (fakes.stt, fakes.llm, fakes.tts):
            fake.api_key = WORKERS_KEY
        fakes.stt.answers = ["How much is the walrus?"]
        fakes.llm.replies = ["The walrus is nineteen dollars."]
        yield fakes


@pytest.mark.timeout(300)
async def test_calls_live_through_it_and_what_ended_meanwhile_is_cleared(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    async with (
        process(asterisk, workers, tmp_path) as bot,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        call = await greeted(stack, phone, asterisk)

        def callers(count: int, stay_s: float) -> asyncio.Task[SippResult]:
            stays = {"rate": 40.0, "pause_ms": round(stay_s * 1000), "keys": {"rtp_port": "9"}}
            return asyncio.create_task(run_sipp("uac_silent", asterisk, calls=count, **stays))  # type: ignore[arg-type]

        staying, leaving = callers(CALLS, FREEZE_S + 10), callers(CALLS, 6)
        await until(lambda: has(bot, 2 * CALLS + 1))
        os.kill(asterisk.pid, signal.SIGSTOP)
        await asyncio.sleep(FREEZE_S)
        os.kill(asterisk.pid, signal.SIGCONT)
        await until(lambda: ready(bot))
        (turn,) = (await run_script(call, [Say(QUESTION), WaitAnswer()])).turns
        assert turn.answered, "who lived through it talks on"
        assert [result.failed for result in await asyncio.gather(leaving, staying)] == [0, 0]
        await call.hang_up()
        await bot.bot.until_idle(20)
        assert await bot.ended("caller_hung_up") == 2 * CALLS + 1
        assert await bot.bot.metric("voicebot_defects_total") == 0
        await nothing_left(asterisk)
        bot.send(signal.SIGTERM)
        assert await bot.exit_code() == 0
    assert "Traceback" not in bot.log.read_text()


async def has(bot: Process, calls: int) -> bool:
    return bool((await bot.bot.ready())["calls"] == calls)


async def ready(bot: Process) -> bool:
    return bool((await bot.bot.ready())["ready"])
