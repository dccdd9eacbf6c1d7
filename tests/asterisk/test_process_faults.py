"""`voicebot run` as a process of its own: frozen, killed, told to stop, out of disk; and what its logs may not hold."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
import pytest_asyncio

from asterisk_conf import CONF_DIR
from caller_phone.phone import Phone
from caller_phone.script import Say, WaitAnswer, run_script
from tests.support.bot import Bot, nothing_left
from tests.support.bot_process import ROOT, WORKERS_KEY, Process, process
from tests.support.callers import PATIENCE_S, greeted, until
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.rig import SippResult, private_asterisk, run_sipp
from voicebot.asterisk import AsteriskProcess

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

QUESTION = ROOT / "tests" / "data" / "speech" / "price01.wav"
FREEZE_S = 8.0
CALLS = int(os.environ.get("VOICEBOT_FROZEN_CALLS", "25"))
"""So many hang up while the bot is frozen, and so many after it."""
ROW, ROW_RATE = map(int, os.environ.get("VOICEBOT_ROW", "70,10").split(","))
"""So many calls in a row, three times, and how many a second begin."""

SECRETS = ("for-tests-only", WORKERS_KEY)
"""Of ARI (tests/support/rig.py) and of the workers."""
SAID = ("walrus", "1555014277", "90817263")
"""Words of both sides, the caller's number, keys that were pressed."""


@pytest_asyncio.fixture(loop_scope="session")
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        for fake in (fakes.stt, fakes.llm, fakes.tts):
            fake.api_key = WORKERS_KEY
        fakes.stt.answers = ["How much is the walrus?"]
        fakes.llm.replies = ["The walrus is nineteen dollars."]
        yield fakes


async def test_frozen_for_eight_seconds_under_many_calls_it_leaves_nothing(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """A9, E13, P1: callers who hang up and callers who come meanwhile. The log of it holds no secret, at any level."""
    async with (
        process(asterisk, workers, tmp_path, level="debug") as frozen,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        call = await greeted(stack, phone, asterisk, SAID[1])

        def callers(count: int, stay_s: float) -> asyncio.Task[SippResult]:
            stays = {"rate": 40.0, "pause_ms": round(stay_s * 1000), "keys": {"rtp_port": "9"}}
            return asyncio.create_task(run_sipp("uac_silent", asterisk, calls=count, **stays))  # type: ignore[arg-type]

        leaving, staying = callers(CALLS, 6), callers(CALLS, FREEZE_S + 8)
        await until(lambda: all_answered(frozen, asterisk, 2 * CALLS + 1))
        frozen.send(signal.SIGSTOP)
        stopped_s = time.monotonic()
        coming = callers(10, 4)
        await asyncio.sleep(FREEZE_S)
        frozen.send(signal.SIGCONT)
        failed = sum([result.failed for result in await asyncio.gather(leaving, staying, coming)])
        # the call that lived through it goes on
        await run_script(call, [Say(QUESTION), WaitAnswer()])
        assert call.is_up
        back = [packet.at_s for packet in call.recording().received if packet.at_s > stopped_s + 1]
        assert burst(back) < 50, "what was missed is not sent after it"
        await call.hang_up()
        await frozen.bot.until_idle(20)
        # who was frozen while being connected goes on in the dialplan, and on a slow machine who finds it overloaded
        half_connected = await frozen.ended("media_failed")
        turned_away = await frozen.bot.metric("voicebot_calls_refused_total", reason="overloaded")
        assert half_connected <= 10
        assert failed <= half_connected + turned_away
        assert await frozen.ended("caller_hung_up") + half_connected + turned_away == 2 * CALLS + 11
        assert await frozen.bot.metric("voicebot_defects_total") == 0
        await nothing_left(asterisk)
        frozen.send(signal.SIGTERM)
        assert await frozen.exit_code() == 0
    log = frozen.log.read_text()
    assert "Traceback" not in log
    assert not [secret for secret in SECRETS if secret in log]


async def all_answered(bot: Process, asterisk: AsteriskProcess, count: int) -> bool:
    """Or as many as ever will be: on a slow machine the first leave before the last are there."""
    rows = (await asterisk.cli("core show channels concise")).splitlines()
    answered = sum(row.startswith("PJSIP/") and row.split("!")[4] == "Up" for row in rows)
    return answered == count or await bot.ended("caller_hung_up") > 0


def burst(instants: list[float]) -> int:
    """The most packets in 0.2 s."""
    return max(sum(start <= at < start + 0.2 for at in instants) for start in instants)


async def test_two_hundred_calls_in_a_row_leave_the_process_as_it_was(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """P1, D28: files, threads and memory after the first 70 calls, and after 140 more."""
    async with process(asterisk, workers, tmp_path) as bot:
        held = []
        for _ in range(3):
            result = await run_sipp(
                "uac_silent", asterisk, calls=ROW, rate=ROW_RATE, pause_ms=800, keys={"rtp_port": "9"}
            )
            assert result.failed == 0
            await bot.bot.until_idle(20)
            await nothing_left(asterisk)
            held.append(Held.of(bot.running.pid))
        assert await bot.ended("caller_hung_up") == 3 * ROW
    warm, *later = held
    for now in later:
        assert now.files <= warm.files + 2, held
        assert now.threads <= warm.threads + 1, held
        assert now.memory_mib <= warm.memory_mib + 8, held


@dataclass(frozen=True)
class Held:
    """What a process has in hand."""

    files: int
    threads: int
    memory_mib: float

    @classmethod
    def of(cls, pid: int) -> Self:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return cls(files, int(status["Threads"]), int(status["VmRSS"].split()[0]) / 1024)


async def test_killed_and_told_to_stop(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """A8, A16, P10, P12, D25: the callers of a killed one go on in the dialplan; a drain loses nobody."""
    async with Phone() as phone, AsyncExitStack() as stack:
        async with process(asterisk, workers, tmp_path) as killed:
            orphan = await greeted(stack, phone, asterisk, SAID[1])
            killed.send(signal.SIGKILL)
            await killed.exit_code()
            killed_s = time.monotonic() + 0.5
            assert orphan.is_up
        async with process(asterisk, workers, tmp_path, drain_s=4) as draining:
            # the dialplan's fallback: the bot that died says no more
            await orphan.wait_for_bot_speech(PATIENCE_S, since_s=killed_s)
            await orphan.hang_up()
            ends, first, second = [await greeted(stack, phone, asterisk, SAID[1]) for _ in range(3)]
            await run_script(ends, [Say(QUESTION), WaitAnswer()])
            await ends.press(SAID[2])
            draining.send(signal.SIGTERM)
            await until(lambda: is_draining(draining.bot))
            await greeted(stack, phone, asterisk, SAID[1])  # by the dialplan
            assert await draining.bot.metric("voicebot_calls_refused_total", reason="draining") == 1
            await ends.hang_up()
            # the others hear the goodbye when the time is over
            await asyncio.gather(first.wait_for_end(PATIENCE_S), second.wait_for_end(PATIENCE_S))
            assert await draining.exit_code() == 0
        await stack.aclose()
    await nothing_left(asterisk)
    logs = killed.log.read_text() + draining.log.read_text() + asterisk.log_path.read_text()
    # three calls, a full record each; the killed one's was lost with it
    assert draining.log.read_text().count(" ended after ") == 3
    assert "reconcile: HandBack" in draining.log.read_text()
    assert "Traceback" not in logs
    assert not [told for told in (*SECRETS, *SAID) if told in logs], logs


async def is_draining(bot: Bot) -> bool:
    body = await bot.ready()
    return bool(body["parts"]["calls"] == "draining") and not body["ready"]


async def test_a_replaced_one_keeps_its_callers_until_it_is_killed(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """A7, A8: and one whose last call ends has the exit code that says why."""
    async with (
        process(asterisk, workers, tmp_path, drain_s=600) as first,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        orphan = await greeted(stack, phone, asterisk, SAID[1])
        async with process(asterisk, workers, tmp_path, drain_s=600) as second:
            stays = await greeted(stack, phone, asterisk, SAID[1])
            async with process(asterisk, workers, tmp_path) as third:
                await asyncio.sleep(3)
                assert (await first.bot.ready())["calls"] == (await second.bot.ready())["calls"] == 1
                assert await third.bot.metric("voicebot_calls_refused_total") == 0
                first.send(signal.SIGKILL)
                await first.exit_code()
                await until(lambda: third.bot.metric("voicebot_calls_refused_total", reason="stopped"))
                # the dialplan's fallback
                await orphan.wait_for_bot_speech(PATIENCE_S, since_s=time.monotonic())
                assert stays.is_up
                assert (await second.bot.ready())["calls"] == 1
                await stays.hang_up()
                assert await second.exit_code() == 75
                assert await third.bot.metric("voicebot_calls_refused_total", reason="stopped") == 1
                await orphan.hang_up()
        await stack.aclose()
    await nothing_left(asterisk)
    assert second.log.read_text().count(" ended after ") == 1


async def test_a_user_that_may_only_read_ends_it_with_one_line(workers: FakeWorkers, tmp_path: Path) -> None:
    """A18: before a caller is taken whom it could neither answer nor send on."""
    conf = tmp_path / "conf"
    shutil.copytree(CONF_DIR, conf, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    users = conf / "voicebot" / "ari_voicebot.conf"
    users.write_text(users.read_text().replace("\nread_only = no\n", "\nread_only = yes\n"))
    async with private_asterisk(conf) as reading, process(reading, workers, tmp_path) as refused:
        assert await refused.exit_code() == 78
    complaints = [line for line in refused.log.read_text().splitlines() if "INFO" not in line]
    assert len(complaints) == 1, complaints
    assert "HTTP 403" in complaints[0]
    assert "read_only=no" in complaints[0]


async def test_without_disk_calls_go_on_and_a_second_signal_ends_at_once(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """A14, A16: nowhere to write logs, transcript and phrases; a signal to hurry hands the caller back."""
    (tmp_path / "cache").touch()
    full = Path("/dev/full")
    arguments = ("--transcript-file", str(full))
    async with (
        process(asterisk, workers, tmp_path, drain_s=600, log=full, arguments=arguments) as bare,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        call = await greeted(stack, phone, asterisk, SAID[1])
        talk = await run_script(call, [Say(QUESTION), WaitAnswer()])
        assert [turn.answered for turn in talk.turns] == [True]
        assert (await bare.bot.ready())["ready"]
        assert await bare.bot.metric("voicebot_defects_total") == 0
        bare.send(signal.SIGTERM)
        await until(lambda: is_draining(bare.bot))
        bare.send(signal.SIGTERM)
        assert await bare.exit_code() == 0
        # the dialplan's fallback
        await call.wait_for_bot_speech(PATIENCE_S, since_s=time.monotonic())
        await call.hang_up()
    await nothing_left(asterisk)
