"""`voicebot run` as a process of its own: frozen, killed, told to stop, out of disk; and what its logs may not hold."""

import asyncio
import os
import shutil
import signal
import time
import wave
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
import pytest_asyncio

from asterisk_conf import CONF_DIR
from caller_phone.phone import Phone
from caller_phone.ruler import talkspurts
from caller_phone.script import Say, WaitAnswer, run_script
from media_bridge.g711 import pcm_to_ulaw
from tests.support.bot import Bot, nothing_left
from tests.support.bot_process import WORKERS_KEY, Process, process
from tests.support.callers import PATIENCE_S, dial, greeted, until
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.rig import SippResult, private_asterisk, run_sipp
from tests.support.speech import QUESTION, SHORT
from voicebot.asterisk import AsteriskProcess

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

SILENCE = b"\xff"
FREEZE_S = 8.0
CALLS = int(os.environ.get("VOICEBOT_FROZEN_CALLS", "50"))
"""So many hang up while the bot is frozen, and so many after it."""
COMING = 10
"""So many call meanwhile."""
CONNECTED_AT_A_TIME = 6
"""The bot may not know yet that they are answered."""
ROW, ROW_RATE = map(int, os.environ.get("VOICEBOT_ROW", "100,10").split(","))
"""So many calls in a row, twice, and how many a second begin."""

DRAIN_S = 3.0
FOR_THE_MACHINE_S = 0.5
"""What a limit is widened by where others may have the machine."""

AT_ONCE_S = 10.0
"""A process that waits for nobody has ended by then on any machine."""

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
        before = Held.of(frozen.running.pid)

        def callers(count: int, stay_s: float) -> asyncio.Task[SippResult]:
            stays = {"rate": 40.0, "pause_ms": round(stay_s * 1000), "keys": {"rtp_port": "9"}}
            return asyncio.create_task(run_sipp("uac_silent", asterisk, calls=count, **stays))  # type: ignore[arg-type]

        leaving, staying = callers(CALLS, 7), callers(CALLS, FREEZE_S + 8)
        await until(lambda: all_there(frozen, asterisk, 2 * CALLS + 1))
        still_coming = 2 * CALLS + 1 - await answered(asterisk)
        found_no_room = await frozen.bot.metric("voicebot_calls_refused_total", reason="overloaded")
        frozen.send(signal.SIGSTOP)
        stopped_s = time.monotonic()
        coming = callers(COMING, 4)
        await asyncio.sleep(FREEZE_S)
        frozen.send(signal.SIGCONT)
        failed = sum([result.failed for result in await asyncio.gather(leaving, staying, coming)])
        # the call that lived through it goes on
        (turn,) = (await run_script(call, [Say(QUESTION), WaitAnswer()])).turns
        assert turn.answered
        assert call.is_up
        back = [packet.at_s for packet in call.recording().received if packet.at_s > stopped_s + 1]
        assert burst(back) < 50, "what was missed is not sent after it"
        await call.hang_up()
        await frozen.bot.until_idle(20)
        # who was frozen while being connected goes on in the dialplan, and on a slow machine who finds it overloaded
        half_connected = await frozen.ended("media_failed")
        turned_away = await frozen.bot.metric("voicebot_calls_refused_total", reason="overloaded")
        assert found_no_room <= CALLS
        assert half_connected + turned_away - found_no_room <= COMING + still_coming + CONNECTED_AT_A_TIME
        assert failed <= half_connected + turned_away
        assert await frozen.ended("caller_hung_up") + half_connected + turned_away == 2 * CALLS + 1 + COMING
        assert await frozen.bot.metric("voicebot_defects_total") == 0
        await nothing_left(asterisk)
        # idle connections to Asterisk are closed after a few seconds
        await until(lambda: Held.of(frozen.running.pid).files <= before.files)
        assert Held.of(frozen.running.pid).threads <= before.threads + 1
        frozen.send(signal.SIGTERM)
        assert await frozen.exit_code() == 0
    log = frozen.log.read_text()
    assert "Traceback" not in log
    assert not [secret for secret in SECRETS if secret in log]


async def all_there(bot: Process, asterisk: AsteriskProcess, count: int) -> bool:
    """All are answered, by the bot or behind it; or, on a slow machine, the first leave before the last are there."""
    with_it, refused = [
        await bot.bot.metric(name) for name in ("voicebot_calls", "voicebot_calls_refused_total")
    ]
    there = with_it + refused >= count and await answered(asterisk) >= count
    return there or await bot.ended("caller_hung_up") > 0


async def answered(asterisk: AsteriskProcess) -> int:
    rows = (await asterisk.cli("core show channels concise")).splitlines()
    return sum(row.startswith("PJSIP/") and row.split("!")[4] == "Up" for row in rows)


def burst(instants: list[float]) -> int:
    """The most packets in 0.2 s."""
    return max(sum(start <= at < start + 0.2 for at in instants) for start in instants)


async def test_two_hundred_talks_leave_the_process_as_the_first_hundred_did(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """P1, D28: half of the callers hear their answer to its end, the others speak over it. Files, threads, memory,
    requests to models, ports.
    """
    patient, impatient = tmp_path / "patient", tmp_path / "impatient"
    patient.write_bytes(ulaw(SHORT) + SILENCE * 64_000)
    impatient.write_bytes(ulaw(SHORT) + SILENCE * 8000)
    workers.llm.replies = ["Nineteen dollars."]
    async with process(asterisk, workers, tmp_path) as bot:
        held = []
        for _ in range(2):
            stays: Any = {"calls": ROW // 2, "rate": ROW_RATE / 2, "pause_ms": 4000, "timeout_s": 200}
            rows = [run_sipp("uac_talk", asterisk, media=media, **stays) for media in (patient, impatient)]
            results = await asyncio.gather(*rows)
            assert [(result.successful, result.failed) for result in results] == [(ROW // 2, 0)] * 2
            await bot.bot.until_idle(20)
            await nothing_left(asterisk)
            await until(lambda: workers.stt.running == workers.llm.running == workers.tts.running == 0)
            await until(lambda: not ports_of(bot.running.pid))
            held.append(Held.of(bot.running.pid))
            # idle connections to workers and Asterisk are closed after some seconds
            await until(lambda: Held.of(bot.running.pid).files <= held[0].files + 2)
        for end in ("played", "cut"):
            assert await bot.bot.metric("voicebot_turns_total", saying="answer", end=end) >= ROW // 4
        # a slow machine has no room for some
        overloaded = await bot.bot.metric("voicebot_calls_refused_total", reason="overloaded")
        assert await bot.ended("caller_hung_up") == 2 * ROW - overloaded >= ROW
        assert await bot.bot.metric("voicebot_defects_total") == 0
    first, second = held
    assert second.threads <= first.threads + 1, held
    # of two rows of a thousand the second adds 0.1 MiB; a process of a hundred calls is not yet as large as it gets
    assert second.memory_mib <= first.memory_mib + (5 if ROW >= 1000 else 12), held


def ulaw(clip: Path) -> bytes:
    with wave.open(str(clip)) as file:
        return pcm_to_ulaw(file.readframes(file.getnframes()))


def ports_of(pid: int) -> set[int]:
    """The UDP ports that the process has, which are those of its calls."""
    rows = [line.split() for line in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]]
    ports = {f"socket:[{row[9]}]": int(row[1].partition(":")[2], 16) for row in rows}
    return {ports[name] for name in map(os.readlink, Path(f"/proc/{pid}/fd").iterdir()) if name in ports}


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
            (turn,) = (await run_script(ends, [Say(QUESTION), WaitAnswer()])).turns
            assert turn.answered
            await ends.press(SAID[2])
            # so there is something that the logs could tell
            await until(partial(draining.bot.metric, "voicebot_digits_total", kind="taken"))
            assert await draining.bot.metric("voicebot_digits_total", kind="taken") == len(SAID[2])
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
    connected_s, sent_on_s = [logged_s(draining, said) for said in ("ARI events from", "reconcile: HandBack")]
    assert sent_on_s - connected_s <= 2 + FOR_THE_MACHINE_S
    assert "Traceback" not in logs
    assert not [told for told in (*SECRETS, *SAID) if told in logs], logs


def logged_s(bot: Process, text: str) -> float:
    """When it first said so, by its own stamp, in seconds of the day's date."""
    line = next(line for line in bot.log.read_text().splitlines() if text in line)
    return datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").timestamp()  # noqa: DTZ007 - two are subtracted


async def is_draining(bot: Bot) -> bool:
    body = await bot.ready()
    return bool(body["parts"]["calls"] == "draining") and not body["ready"]


async def test_twenty_callers_hear_the_goodbye_when_the_drain_is_over_and_not_before(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    """A16, P10, D25."""
    async with (
        process(asterisk, workers, tmp_path, drain_s=DRAIN_S) as draining,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        calls = await dial(stack, phone, asterisk, 20)
        await asyncio.gather(*(call.wait_for_bot_quiet(1000, PATIENCE_S) for call in calls))
        told_s = time.monotonic()
        draining.send(signal.SIGTERM)
        await asyncio.gather(*(call.wait_for_end(PATIENCE_S) for call in calls))
        for call in calls:
            (goodbye,) = [spurt for spurt in talkspurts(call.recording().bot()) if spurt.end_s > told_s]
            assert goodbye.start_s >= told_s + DRAIN_S - 0.5
            assert call.ended_by_far_end
        assert await draining.exit_code() == 0
    await nothing_left(asterisk)
    log = draining.log.read_text()
    assert log.count(" ended after ") == 20
    assert "Traceback" not in log


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


async def test_a_phone_that_is_gone_ends_the_call_of_a_bot_that_is_gone(
    workers: FakeWorkers, tmp_path: Path
) -> None:
    """A8: Asterisk ends it by `rtp_timeout`, and the next bot removes what is left of it."""
    conf = tmp_path / "conf"
    shutil.copytree(CONF_DIR, conf, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    phones = conf / "pjsip.conf"
    phones.write_text(phones.read_text().replace("\nrtp_timeout = 90\n", "\nrtp_timeout = 2\n"))
    async with private_asterisk(conf) as own, Phone() as phone, AsyncExitStack() as stack:
        async with process(own, workers, tmp_path) as killed:
            call = await greeted(stack, phone, own)
            killed.send(signal.SIGKILL)
            await killed.exit_code()
            assert call.is_up
            call.suppress_silence()
            await call.wait_for_end(PATIENCE_S)
            assert await answered(own) == 0
            assert await own.channels() == 1, "the bot's own, which nobody ends"
        async with process(own, workers, tmp_path) as after:
            await nothing_left(own)
            assert await after.bot.metric("voicebot_calls_refused_total") == 0


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
        async with asyncio.timeout(AT_ONCE_S):
            assert await bare.exit_code() == 0
        # the dialplan's fallback
        await call.wait_for_bot_speech(PATIENCE_S, since_s=time.monotonic())
        await call.hang_up()
    await nothing_left(asterisk)
