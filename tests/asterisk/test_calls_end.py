"""How calls are taken, refused and brought to their end, over every transport."""

import asyncio
import random

import pytest

from caller_phone.script import Say, WaitAnswer, run_script
from media_bridge.settings import MediaOverride, TransportName
from stasis_app.ari.rest import Ari
from stasis_app.legs import _Build
from stasis_app.settings import CallSettings
from tests.support.bot import PROFILE, until
from tests.support.every_transport import Line, over_every_transport
from tests.support.speech import QUESTION

pytestmark = pytest.mark.asyncio(loop_scope="session")

MEDIA_CHANNEL = {"rtp": "UnicastRTP/", "websocket": "WebSocket/", "audiosocket": "AudioSocket/"}


def own_tasks() -> int:
    """Tasks running now, but for the fakes' kept-alive connections and what comes and goes while nobody calls."""
    passing = ("RequestHandler", "health", "send_frame")
    return sum(not any(name in repr(task.get_coro()) for name in passing) for task in asyncio.all_tasks())


async def hears_the_fallback(line: Line) -> bool:
    """Call the bot; whether the dialplan speaks to the caller and hangs up."""
    async with line.call() as call:
        await call.wait_for_bot_speech(10)
        await call.wait_for_end(30)
        return call.ended_by_far_end


@over_every_transport
async def test_one_call_too_many_goes_back_to_the_dialplan(line: Line) -> None:
    async with line.bot(calls=CallSettings(max_calls=1, drain_s=0)) as bot, line.call() as first:
        await first.wait_for_bot_speech(5)
        assert await hears_the_fallback(line)
        assert first.is_up
        assert await bot.metric("voicebot_calls_refused_total", reason="full") == 1


@over_every_transport
async def test_fifty_hang_ups_at_random_moments_leave_nothing(line: Line) -> None:
    chance, workers = random.Random(7), line.workers
    workers.llm.token_delay_s = 0.02
    workers.llm.replies = ["One two three four five. Six seven eight nine ten. Eleven twelve."]
    five_at_once = asyncio.Semaphore(5)

    async def one_call(hang_up_s: float) -> None:
        async with five_at_once, line.call() as call:
            talk = asyncio.create_task(run_script(call, [Say(QUESTION), WaitAnswer()]))
            await asyncio.sleep(hang_up_s)
            talk.cancel()
            await asyncio.wait({talk})

    async with line.bot() as bot:
        await line.meet()
        tasks = own_tasks()
        await line.meet()
        await asyncio.gather(*(one_call(chance.uniform(0, 6)) for _ in range(50)))
        await bot.until_idle()
        await line.nothing_left()
        assert await bot.metric("voicebot_defects_total", fence="turn") == 0
        assert await bot.metric("voicebot_defects_total", fence="call") == 0
        assert await bot.metric("voicebot_calls_ended_total", cause="caller_hung_up") == 50
        assert await until(lambda: workers.stt.running == workers.llm.running == workers.tts.running == 0)
        await line.meet()
        assert await until(lambda: own_tasks() <= tasks), asyncio.all_tasks()
        await line.meet()


@over_every_transport
async def test_drain_says_goodbye_to_running_calls(line: Line) -> None:
    async with line.bot() as bot, line.call() as call:
        await call.wait_for_bot_speech(5)
        bot.stop.set()
        await call.wait_for_end(15)
        assert call.ended_by_far_end
    await line.nothing_left()


@over_every_transport
async def test_a_hang_up_is_heard_while_draining(line: Line) -> None:
    async with line.bot(calls=CallSettings(max_calls=5, drain_s=30)) as bot, line.call() as call:
        await call.wait_for_bot_speech(5)
        bot.stop.set()
        await asyncio.sleep(0.5)
        assert (await bot.ready())["parts"]["asterisk"] == "ready"
        await call.hang_up()
        async with asyncio.timeout(5):
            await bot.ended.wait()
    await line.nothing_left()


@over_every_transport
async def test_an_unknown_profile_is_said_and_handed_back(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    async with line.bot(profile_name=f"other-{line.transport}") as bot:
        assert await hears_the_fallback(line)
        assert await bot.metric("voicebot_calls_refused_total", reason="unknown_profile") == 1
    assert f"no profile 'default' in voicebot.yaml (there are: other-{line.transport})" in caplog.text


@over_every_transport
async def test_a_caller_is_not_left_on_a_dead_line_when_the_process_ends_at_once(line: Line) -> None:
    async with line.bot() as bot, line.call() as call:
        await call.wait_for_bot_speech(5)
        bot.end_at_once()
        await bot.ended.wait()
        # the dialplan's fallback speaks, then hangs up
        await call.wait_for_end(30)
        assert call.ended_by_far_end
    await line.nothing_left()


@over_every_transport
async def test_a_caller_whose_call_is_still_connecting_goes_on_in_the_dialplan(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends at once while Asterisk has not yet said that the call's leg is there."""
    building = asyncio.Event()
    media_started = _Build._media_started

    async def never(build: _Build, media_id: str, limit_s: float) -> None:
        assert isinstance(build._ari, Ari)
        if build._ari.app != line.app:
            return await media_started(build, media_id, limit_s)
        building.set()
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(_Build, "_media_started", never)
    async with line.bot() as bot:
        calling = asyncio.create_task(hears_the_fallback(line))
        await building.wait()
        bot.end_at_once()
        await bot.ended.wait()
        assert await calling
    await line.nothing_left()


@over_every_transport
async def test_a_caller_refused_as_the_process_ends_goes_on_in_the_dialplan(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hand-back is under way when the process is told to end at once."""
    begun = asyncio.Event()
    set_variable = Ari.set_variable

    async def slow(ari: Ari, channel_id: str, name: str, value: str) -> None:
        if ari.app == line.app:
            begun.set()
            await asyncio.sleep(0.2)
        await set_variable(ari, channel_id, name, value)

    monkeypatch.setattr(Ari, "set_variable", slow)
    async with line.bot(profile_name="other") as bot:
        calling = asyncio.create_task(hears_the_fallback(line))
        await begun.wait()
        bot.end_at_once()
        await bot.ended.wait()
        assert await calling
    await line.nothing_left()


@over_every_transport
async def test_a_profile_may_choose_its_own_way(line: Line) -> None:
    profile = PROFILE.model_copy(update={"media": MediaOverride(transport=line.transport)})
    others: TransportName = "websocket" if line.transport == "rtp" else "rtp"
    async with line.bot(profile=profile, transport=others) as bot:
        async with line.call() as call:
            await call.wait_for_bot_speech(5)
            assert MEDIA_CHANNEL[line.transport] in await line.asterisk.cli("core show channels concise")
        await bot.until_idle()
        await line.nothing_left()


@over_every_transport
async def test_a_media_channel_that_is_taken_away_ends_the_call(line: Line) -> None:
    async with line.bot() as bot, line.call() as call:
        await call.wait_for_bot_speech(5)
        rows = (await line.asterisk.cli("core show channels concise")).splitlines()
        (name,) = [row.split("!")[0] for row in rows if row.startswith(MEDIA_CHANNEL[line.transport])]
        await line.asterisk.cli(f"channel request hangup {name}")
        await call.wait_for_end(5)
        assert call.ended_by_far_end
        await bot.until_idle()
        await line.nothing_left()
        assert await bot.metric("voicebot_calls_ended_total", cause="media_closed") == 1
