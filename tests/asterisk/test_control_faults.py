"""What breaks between the bot and Asterisk, on the real thing (docs/control-faults.md names the rows)."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from caller_phone.phone import Phone
from caller_phone.script import Say, WaitAnswer, run_script
from stasis_app.ari.errors import AppReplaced
from stasis_app.reconcile import ORPHAN_GRACE_S
from stasis_app.settings import CallSettings
from tests.support.bot import MEDIA, PROFILE, Bot, nothing_left, running_bot
from tests.support.callers import PATIENCE_S, greeted, number, since, until
from tests.support.fake_workers import FakeWorkers, Fault, fake_workers
from tests.support.line import line_to
from tests.support.rig import HOST, private_asterisk
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

# what is promised, and as much again for a machine that is slow
FOR_A_SECOND_S, FOR_TWO_SECONDS_S = 2.0, 4.0
QUESTION = Path(__file__).parent.parent / "data" / "speech" / "price01.wav"


@pytest_asyncio.fixture(loop_scope="session")
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        yield fakes


async def connected(bot: Bot) -> bool:
    return bool(await bot.metric("voicebot_ari_connected"))


async def ended(bot: Bot, cause: str) -> float:
    return await bot.metric("voicebot_calls_ended_total", cause=cause)


async def refused(bot: Bot, reason: str) -> float:
    return await bot.metric("voicebot_calls_refused_total", reason=reason)


def logged_s(caplog: pytest.LogCaptureFixture, pattern: str) -> list[float]:
    """When the bot said so, by its own stamps."""
    return [it.created for it in caplog.records if re.search(pattern, it.getMessage())]


async def test_calls_live_through_cuts_and_silence_and_what_ended_meanwhile_is_cleared(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A2, A3, A4, A17, P7, D6."""
    caplog.set_level("INFO")
    async with (
        line_to(HOST, asterisk.http_port) as line,
        # noticed after 6 s: no connection of before is used again, see KEEP_ALIVE_S
        running_bot(asterisk, workers, tmp_path, ari_url=line.url, heartbeat_s=4.0) as bot,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        stays, first, second = [await greeted(stack, phone, asterisk) for _ in range(3)]
        # a loop that stands still is noticed, and no reason to lose the connection
        time.sleep(0.4)  # noqa: ASYNC251 - that is the fault
        await asyncio.sleep(0.5)
        assert await bot.metric("voicebot_loop_lag_seconds") >= 0.3
        assert await connected(bot)
        before_s = time.monotonic()

        line.shut = True
        line.cut()
        await first.hang_up()
        assert not (await bot.ready())["ready"]
        line.heal()
        await until(lambda: connected(bot))
        await until(lambda: bot.metric("voicebot_calls_ended_total", cause="caller_hung_up"))
        assert (await bot.ready())["calls"] == 2

        line.fall_silent()
        await second.hang_up()
        calling = asyncio.create_task(greeted(stack, phone, asterisk))
        await until(lambda: not_connected(bot))
        assert not (await bot.ready())["ready"]
        line.heal()
        await until(lambda: connected(bot))
        # who called while nobody was told is answered all the same
        late = await calling
        await until(lambda: ended_so_many(bot, 2))
        assert (await bot.ready())["calls"] == 2
        assert await refused(bot, "stopped") == 0
        assert stays.is_up
        assert since(stays, before_s)
        # within 2 s of each connection, the first of which was the bot's start
        back_s = logged_s(caplog, "^ARI events from")[1:]
        gone_s = logged_s(caplog, "ended after .* caller_hung_up")
        assert [gone - back <= 2 for back, gone in zip(back_s, gone_s, strict=True)] == [True, True]

        # both are still controllable: their ends are heard at once
        await stays.hang_up()
        await late.hang_up()
        await bot.until_idle()
        assert await ended(bot, "caller_hung_up") == 4
        assert await bot.metric("voicebot_defects_total") == 0
    await nothing_left(asterisk)


async def test_a_hold_is_known_that_nobody_told(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """A4: who is back is asked whether they are there, and who is not is left in peace, also when it was not told."""
    impatient = PROFILE.model_copy(update={"no_input_s": 1.0, "no_input_prompts": 1})
    async with (
        line_to(HOST, asterisk.http_port) as line,
        running_bot(asterisk, workers, tmp_path, ari_url=line.url, profile=impatient) as bot,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        back = await greeted(stack, phone, asterisk)
        await back.hold()
        line.shut = True
        line.cut()
        await back.unhold()
        line.heal()
        await until(lambda: not back.is_up)

        away = await greeted(stack, phone, asterisk)
        line.shut = True
        line.cut()
        await away.hold()
        line.heal()
        await until(lambda: connected(bot))
        await asyncio.sleep(6)  # asked and sent away by then if the bot thought that they were there
        assert away.is_up
        await away.unhold()
        await until(lambda: not away.is_up)
        assert await ended(bot, "normal") == 2
    await nothing_left(asterisk)


async def not_connected(bot: Bot) -> bool:
    return not await connected(bot)


async def ended_so_many(bot: Bot, count: int) -> bool:
    return await ended(bot, "caller_hung_up") == count


async def test_calls_end_with_asterisk_and_the_next_one_is_served(
    workers: FakeWorkers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A1, P8, D5: killed while one call listens, one thinks and one speaks."""
    caplog.set_level("INFO")
    workers.stt.answers = ["How much is it?"]
    workers.llm.replies = ["This is a long sentence about very many bikes of ours. " * 4]
    dying = private_asterisk()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(dying)
        bot = await stack.enter_async_context(running_bot(dying, workers, tmp_path))
        phone = await stack.enter_async_context(Phone())
        calls = AsyncExitStack()
        await greeted(calls, phone, dying)
        speaking = await greeted(calls, phone, dying)
        await run_script(speaking, [Say(QUESTION)])
        await speaking.wait_for_bot_speech(10, since_s=speaking.recording().sent[-1].at_s)
        workers.llm.fault = Fault.hang()
        thinking = await greeted(calls, phone, dying)
        await run_script(thinking, [Say(QUESTION)])
        await until(lambda: workers.llm.running)
        dying.kill()
        await bot.until_idle(FOR_A_SECOND_S)
        assert await ended(bot, "asterisk_lost") == 3
        (lost_s,) = logged_s(caplog, "^no ARI events from")
        assert max(logged_s(caplog, "ended after .* asterisk_lost")) - lost_s < 2, (
            "a second, and one for a slow machine"
        )
        await until(lambda: workers.llm.running == workers.tts.running == workers.stt.running == 0)
        assert not (await bot.ready())["ready"]
        await dying.wait()
        workers.llm.fault = None
        again = await stack.enter_async_context(same_ports(dying))
        await bot.until_ready(FOR_TWO_SECONDS_S)
        async with AsyncExitStack() as later:
            await greeted(later, phone, again)
        await bot.until_idle()
        assert await bot.metric("voicebot_defects_total") == 0
        await nothing_left(again)
        for call in (speaking, thinking):
            assert call.is_up, "nobody told the phone"
        await calls.aclose()


async def test_an_orderly_restart_of_asterisk_ends_the_calls_and_the_next_one_is_served(
    workers: FakeWorkers, tmp_path: Path
) -> None:
    """A1, P8: the callers are told, and the bot of each call's end, before the event socket closes.

    An Asterisk that was installed nowhere cannot start itself anew: it ends, and is started as by a service manager.
    """
    old = private_asterisk()
    async with (
        old,
        running_bot(old, workers, tmp_path) as bot,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        calls = [await greeted(stack, phone, old) for _ in range(3)]
        await old.cli("core restart now")
        await asyncio.gather(*(call.wait_for_end(PATIENCE_S) for call in calls))
        assert all(call.ended_by_far_end for call in calls)
        await old.wait()
        await bot.until_idle(FOR_A_SECOND_S)
        # the caller's channel or the bot's own may be the first to end, or the socket
        assert await bot.metric("voicebot_calls_ended_total") == 3
        async with same_ports(old) as again:
            await bot.until_ready(FOR_TWO_SECONDS_S)
            await greeted(stack, phone, again)
            assert await bot.metric("voicebot_calls") == 1
            await stack.aclose()
            await bot.until_idle()
            await nothing_left(again)
        assert await bot.metric("voicebot_calls_ended_total") == 4
        assert await bot.metric("voicebot_calls_refused_total") == 0
        assert await bot.metric("voicebot_defects_total") == 0


def same_ports(old: AsteriskProcess) -> AsteriskProcess:
    """Asterisk once more, as an admin starts it again."""
    return AsteriskProcess(
        old._install,
        ari_password=old.ari_password,
        sip_port=old.sip_port,
        http_port=old.http_port,
        rtp_start=old.rtp_ports[0],
        rtp_end=old.rtp_ports[1],
    )


async def test_a_second_bot_of_the_same_name_takes_over_and_the_first_finishes_its_call(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """A7: the caller of the first is answered as before; the next call is the second's."""
    workers.stt.answers, workers.llm.replies = ["How much is it?"], ["Nineteen dollars."]
    elsewhere = MEDIA.model_copy(update={"port_start": 32_702, "port_end": 32_766})
    async with AsyncExitStack() as stack:
        phone = await stack.enter_async_context(Phone())
        with pytest.RaisesGroup(AppReplaced, flatten_subgroups=True):
            patient = CallSettings(max_calls=5, drain_s=PATIENCE_S)
            async with running_bot(asterisk, workers, tmp_path / "one", calls=patient) as first:
                call = await greeted(stack, phone, asterisk)
                second = await stack.enter_async_context(
                    running_bot(asterisk, workers, tmp_path / "two", media=elsewhere)
                )
                assert not (await first.ready())["ready"]
                before_s = time.monotonic()
                await greeted(stack, phone, asterisk)
                # longer than the second looks before it takes an orphan for one
                await asyncio.sleep(4 * ORPHAN_GRACE_S)
                talk = await run_script(call, [Say(QUESTION), WaitAnswer()])
                assert [turn.answered for turn in talk.turns] == [True]
                assert since(call, before_s)
                assert ((await first.ready())["calls"], (await second.ready())["calls"]) == (1, 1)
                await call.hang_up()
                async with asyncio.timeout(PATIENCE_S):
                    await first.ended.wait()
        assert (await second.ready())["calls"] == 1
        assert await refused(second, "stopped") == 0
        await stack.aclose()
    await nothing_left(asterisk)


SCARCE = {
    "full": (CallSettings(max_calls=5, drain_s=0), MEDIA, None),
    "no_port": (None, MEDIA.model_copy(update={"port_start": 32_700, "port_end": 32_709}), None),
    "llm_full": (None, MEDIA, 5),
}


@pytest.mark.parametrize("reason", SCARCE)
async def test_of_nine_calls_at_once_four_are_taken_and_five_handed_back(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path, reason: str
) -> None:
    """P9, D24: whatever is scarce, again and again; the others hear the dialplan, and who talks hears no gap."""
    calls, media, room = SCARCE[reason]
    workers.llm.max_calls = room
    async with (
        running_bot(asterisk, workers, tmp_path, calls=calls, media=media) as bot,
        Phone() as phone,
        AsyncExitStack() as first,
    ):
        talks = await greeted(first, phone, asterisk)
        before_s = time.monotonic()
        for again in range(1, 4):
            async with AsyncExitStack() as stack:
                uri = number(asterisk)
                await asyncio.gather(*(stack.enter_async_context(phone.call(uri)) for _ in range(9)))
                assert (await bot.ready())["calls"] == 1 + 4
                assert await refused(bot, reason) == 5 * again
            await until(partial(ended_so_many, bot, 4 * again))
            # a port rests before it serves again
            await asyncio.sleep(2 * media.port_quarantine_s)
        assert since(talks, before_s)
        await talks.hang_up()
        await bot.until_idle()
        assert await ended(bot, "caller_hung_up") == 1 + 4 * 3
        assert await bot.metric("voicebot_calls_refused_total") == 5 * 3
    await nothing_left(asterisk)


async def test_the_dialplan_tells_a_caller_for_whom_a_worker_has_no_room_that_all_is_busy(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    workers.tts.max_calls = 1
    async with running_bot(asterisk, workers, tmp_path) as bot, Phone() as phone, AsyncExitStack() as stack:
        assert (await bot.ready())["max_calls"] == 1
        await greeted(stack, phone, asterisk)
        second = await greeted(stack, phone, asterisk)
        await second.wait_for_end(PATIENCE_S)
        assert second.cause == 17
        assert await refused(bot, "tts_full") == 1
