"""Callers who hang up while their call is being made: before the answer, and right after it."""

import asyncio
import re
from pathlib import Path

import pytest

from stasis_app.settings import CallSettings
from tests.support.bot import Bot, nothing_left, running_bot
from tests.support.fake_workers import fake_workers
from tests.support.rig import run_sipp
from tests.support.stalls import stalls
from voicebot.asterisk import AsteriskProcess

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.counts]

NOWHERE = {"rtp_port": "9"}
ROOM = CallSettings(max_calls=500, drain_s=0)
# a machine that never kept a program waiting for more than a tick and a half
KEPT_UP_S = 0.03
# within which Asterisk and the bot have told each other all, whatever else runs
TOLD_S = 0.2


async def elsewhere(bot: Bot, stood_still_s: float) -> float:
    """How many the bot sent on in the dialplan: only as many as a slow machine is the reason for."""
    overloaded = await bot.metric("voicebot_calls_refused_total", reason="overloaded")
    unfinished = await bot.metric("voicebot_calls_refused_total", reason="media_failed")
    assert unfinished <= 2 or stood_still_s > TOLD_S
    assert overloaded <= 50 or stood_still_s > KEPT_UP_S
    return overloaded + unfinished


async def test_who_gives_up_before_the_answer_leaves_nothing(
    asterisk: AsteriskProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A12, D4, A5: CANCEL at any step of a call's beginning; some cross the answer."""
    async with (
        fake_workers() as workers,
        running_bot(asterisk, workers, tmp_path, calls=ROOM) as bot,
        stalls() as stood,
    ):
        result = await run_sipp("uac_cancel", asterisk, calls=200, rate=40, keys=NOWHERE)
        assert (result.exit_code, result.successful, result.failed) == (0, 200, 0), result.errors
        await bot.until_idle()
        await nothing_left(asterisk)
        cancelled = len(
            set(re.findall(r"^SIP/2.0 487 .*?^Call-ID: *(\S+)", result.messages, re.MULTILINE | re.DOTALL))
        )
        known = await bot.metric("voicebot_calls_ended_total", cause="caller_hung_up")
        others = await elsewhere(bot, stood.longest_s)
        assert cancelled >= 20
        # the others had gone before Asterisk came to the bot
        assert 100 <= known + others <= 200
        assert await bot.metric("voicebot_calls") == 0
        assert await bot.metric("voicebot_defects_total") == 0
    assert not [record.getMessage() for record in caplog.records if "left behind" in record.getMessage()]


async def test_five_hundred_callers_who_hang_up_as_soon_as_they_are_answered(
    asterisk: AsteriskProcess, tmp_path: Path
) -> None:
    """A5, A12, D3, P1: 0 to 50 ms after the answer, which is the last step of a call's beginning."""
    async with (
        fake_workers() as workers,
        running_bot(asterisk, workers, tmp_path, calls=ROOM) as bot,
        stalls() as stood,
    ):
        results = await asyncio.gather(
            *(
                run_sipp("uac_silent", asterisk, calls=125, rate=20, pause_ms=stays_ms, keys=NOWHERE)
                for stays_ms in (0, 10, 25, 50)
            )
        )
        await bot.until_idle()
        # whose leg did not start in time has a 503
        refused = await bot.metric("voicebot_calls_refused_total", reason="media_failed")
        assert sum(result.failed for result in results) <= refused
        assert sum(result.successful + result.failed for result in results) == 500
        ends = await bot.metric("voicebot_calls_ended_total", cause="caller_hung_up")
        assert ends + await elsewhere(bot, stood.longest_s) == 500
        assert ends >= 100
        assert await bot.metric("voicebot_defects_total") == 0
        assert await bot.metric("voicebot_calls") == 0
    await nothing_left(asterisk)
