"""Whole calls on a real Asterisk while real worker processes are killed, frozen or broken (W9, W12, W13)."""

import asyncio
import dataclasses
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from caller_phone.call import Call
from caller_phone.g711 import decode
from caller_phone.phone import Phone
from caller_phone.script import HangUp, Say, Step, WaitAnswer, WaitGreeting, run_script
from caller_phone.sdp import Codec
from tests.models.conftest import StartWorker
from tests.support.bot import PROFILE, nothing_left, running_bot
from tests.support.fake_workers import fake_workers
from tests.support.rig import private_asterisk
from tests.support.speech import QUESTION
from voicebot.asterisk import AsteriskProcess

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.may_leave("the module's Asterisk"),
    pytest.mark.timeout(200),
]

BROKEN = Path(__file__).parents[1] / "support" / "broken_worker.py"
TINY = {"model": "whisper-tiny.en", "turn_model": None}
SMALL = {"model": "smollm2-135m", "context_tokens": 1024, "threads": 1}
# a slow machine makes no apology of an answer
PATIENT = PROFILE.model_copy(update={"answer_timeout_s": 30.0, "filler_s": 30.0, "no_input_s": 60.0})
STEP = 160
AUDIBLE = 500


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asterisk() -> AsyncIterator[AsteriskProcess]:
    async with private_asterisk() as process:
        yield process


@asynccontextmanager
async def call_to(asterisk: AsteriskProcess) -> AsyncIterator[Call]:
    async with Phone() as phone, phone.call(f"sip:1000@127.0.0.1:{asterisk.sip_port}") as call:
        yield call


async def test_all_workers_are_killed_before_the_call(
    asterisk: AsteriskProcess, start_worker: StartWorker, tmp_path: Path
) -> None:
    """W13: greeted, consoled and let go, all from the disk."""
    async with (
        start_worker("stt", **TINY) as stt,
        start_worker("llm", **SMALL) as llm,
        start_worker("tts") as tts,
        fake_workers() as fakes,
    ):
        real = dataclasses.replace(fakes, stt_url=stt.url, llm_url=llm.url, tts_url=tts.url)
        async with running_bot(asterisk, real, tmp_path) as bot:
            for worker in (stt, llm, tts):
                worker.process.kill()
                await worker.process.wait()
            async with call_to(asterisk) as call:
                steps: list[Step] = [WaitGreeting(), Say(QUESTION), WaitAnswer(), Say(QUESTION), WaitAnswer()]
                talk = await run_script(call, steps)
                await call.wait_for_end(20)  # the bot has said that it cannot go on
            await bot.until_idle()
            assert [turn.answered for turn in talk.turns] == [True, True]
            for saying in ("greeting", "apology"):
                assert await bot.metric("voicebot_turns_total", saying=saying, end="played") == 1, saying
        await nothing_left(asterisk)


async def test_a_voice_slower_than_speech_leaves_silence_and_no_gap(
    asterisk: AsteriskProcess, start_worker: StartWorker, tmp_path: Path
) -> None:
    """W9: the voice's process is frozen again and again; the caller hears it late, and packets go on."""
    answer = " ".join(f"This is sentence number {number} of what there is to say." for number in range(1, 6))
    async with start_worker("tts") as tts, fake_workers() as fakes:
        fakes.stt.answers, fakes.llm.replies = ["How much is it?"], [answer]
        workers = dataclasses.replace(fakes, tts_url=tts.url)
        async with (
            running_bot(asterisk, workers, tmp_path, profile=PATIENT) as bot,
            call_to(asterisk) as call,
        ):
            await run_script(call, [WaitGreeting()])
            bursts = asyncio.create_task(_freeze_in_bursts(tts.process))
            try:
                await run_script(call, [Say(QUESTION), WaitAnswer(timeout_s=40, quiet_ms=5000)])
            finally:
                bursts.cancel()
                await asyncio.wait({bursts})
                tts.process.send_signal(signal.SIGCONT)
            await run_script(call, [HangUp()])
            await bot.until_idle()
    packets = [
        packet.rtp for packet in call.recording().received if packet.rtp.payload_type == Codec.PCMU.value
    ]
    steps = [((b.sequence - a.sequence) & 0xFFFF, b.timestamp - a.timestamp) for a, b in pairwise(packets)]
    # a machine that is busy with something else may keep the bot from a tick or two; the voice is late every 1.3 s
    irregular = [step for step in steps if step != (1, STEP)]
    assert len(irregular) <= 4, f"the stream stood still or jumped: {irregular}"
    loud = np.array([np.abs(decode(packet.payload, Codec.PCMU)).max() > AUDIBLE for packet in packets])
    heard = np.flatnonzero(loud)
    answered = heard[heard > len(packets) // 4]
    assert np.diff(answered).max() > 25, "the voice was never late: no test"


async def _freeze_in_bursts(process: asyncio.subprocess.Process) -> None:
    while True:
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(1.2)
        process.send_signal(signal.SIGCONT)
        await asyncio.sleep(0.06)


@pytest.mark.parametrize("broken", ["stt", "llm"])
async def test_a_process_that_is_no_worker_costs_an_apology_and_nothing_else(
    asterisk: AsteriskProcess, tmp_path: Path, broken: str
) -> None:
    """W12: truncated, 2 GB, no HTTP, an endless head, no JSON, another version, in turn; the next caller is served."""
    async with fake_workers() as fakes, broken_worker() as url:
        fakes.stt.answers, fakes.llm.replies = ["How much is it?"], ["Nineteen dollars."]
        workers = dataclasses.replace(fakes)
        setattr(workers, f"{broken}_url", url)
        async with running_bot(asterisk, workers, tmp_path) as bot:
            for _ in range(2):
                async with call_to(asterisk) as call:
                    talk = await run_script(call, [WaitGreeting(), Say(QUESTION), WaitAnswer(), HangUp()])
                    assert talk.turns[0].answered
                await bot.until_idle()
            assert await bot.metric("voicebot_turns_total", saying="apology", end="played") == 2
            assert await bot.metric("voicebot_turns_total", saying="answer", end="played") == 0
            assert await bot.metric("voicebot_defects_total", fence="turn") == 0
        async with running_bot(asterisk, fakes, tmp_path) as bot, call_to(asterisk) as call:
            await run_script(call, [WaitGreeting(), Say(QUESTION), WaitAnswer(), HangUp()])
            await bot.until_idle()
            assert await bot.metric("voicebot_turns_total", saying="answer", end="played") == 1
        await nothing_left(asterisk)


@asynccontextmanager
async def broken_worker() -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(sys.executable, str(BROKEN), str(port))
    try:
        async with asyncio.timeout(20):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except ConnectionRefusedError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    await writer.wait_closed()
                    break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.wait()
