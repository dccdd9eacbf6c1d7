"""The recogniser as a process that is killed, stopped and left by its clients (W1, W2, W11, W14), with a real model."""

import asyncio
import signal
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gpu_workers.client import SttClient, Transcript, WorkerError, health
from gpu_workers.client.link import Limits
from gpu_workers.client.stt import Priority
from tests.models.conftest import StartWorker, WorkerProcess, begun, decoded

SPEECH = Path(__file__).parents[1] / "data" / "speech"
CLIPS = ("price01", "pay01", "short01", "no01", "weather01")
WORDS = "How much does the monthly plan cost?"
TINY = {"model": "whisper-tiny.en", "turn_model": None}
PATIENT = Limits(silence_s=60.0)
PAUSE = bytes(16_000)
# three windows of 30 s, seconds of work
LONG_S = 64


def clip(name: str) -> bytes:
    with wave.open(str(SPEECH / f"{name}.wav")) as file:
        return bytes(file.readframes(file.getnframes()))


PCM = clip("price01")
LONG = (PAUSE.join(clip(name) for name in CLIPS * 8))[: LONG_S * 16_000]


async def hear(
    stt: SttClient, sound: bytes, *, priority: Priority = "final", call_id: str = "c1", deadline_ms: int = 60_000
) -> Transcript:  # fmt: skip
    return await stt.transcribe(
        sound, 8000, priority=priority, deadline_ms=deadline_ms, call_id=call_id, language="en"
    )


async def heard_at_last(stt: SttClient) -> Transcript:
    """A worker that failed is asked again once it answers its health probe."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await hear(stt, PCM)
            except WorkerError:
                await asyncio.sleep(0.1)


async def waiting(http: aiohttp.ClientSession, worker: WorkerProcess, number: int) -> None:
    async with asyncio.timeout(20):
        while True:
            async with http.get(f"{worker.url}/health") as answer:
                if (await answer.json())["queue"] == number:
                    return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def http_session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as http:
        yield http


async def test_an_utterance_outlives_the_worker_that_was_at_it(start_worker: StartWorker) -> None:
    async with (
        start_worker("stt", **TINY) as first,
        start_worker("stt", **TINY) as second,
        SttClient([first.url, second.url], limits=PATIENT) as stt,
        http_session() as http,
    ):
        running = asyncio.create_task(hear(stt, LONG))
        await begun(http, first)
        first.process.kill()
        assert (await running).text.count("Chicago") > 1
        assert (await hear(stt, PCM)).text == WORDS
        assert (await decoded(http, second))[1] == 2


async def test_a_frozen_worker_costs_no_more_than_the_deadline_and_serves_again(
    start_worker: StartWorker,
) -> None:
    async with (
        start_worker("stt", **TINY) as worker,
        SttClient(worker.url, limits=PATIENT) as stt,
        http_session() as http,
    ):
        assert (await hear(stt, PCM)).text == WORDS
        worker.process.send_signal(signal.SIGSTOP)
        began = asyncio.get_running_loop().time()
        with pytest.raises(WorkerError) as caught:
            await hear(stt, PCM, deadline_ms=700)
        assert asyncio.get_running_loop().time() - began < 5
        assert caught.value.retryable
        assert not (await health(http, worker.url, timeout_s=0.5)).ready
        worker.process.send_signal(signal.SIGCONT)
        assert (await heard_at_last(stt)).text == WORDS


async def test_who_leaves_the_line_is_never_decoded(start_worker: StartWorker) -> None:
    """One caller keeps the model busy; twenty who wait hang up, and a newer partial replaces an older one."""
    async with (
        start_worker("stt", **TINY) as worker,
        SttClient(worker.url, limits=PATIENT) as stt,
        http_session() as http,
    ):
        busy = asyncio.create_task(hear(stt, LONG))
        await begun(http, worker)
        leaving = [asyncio.create_task(hear(stt, PCM, call_id=f"gone{number}")) for number in range(20)]
        await waiting(http, worker, 20)
        for one in leaving:
            one.cancel()
        await asyncio.wait(leaving)
        await waiting(http, worker, 0)
        stale = asyncio.create_task(hear(stt, PCM, priority="partial", call_id="c2"))
        await waiting(http, worker, 1)
        newer = asyncio.create_task(hear(stt, PCM, priority="partial", call_id="c2"))
        with pytest.raises(WorkerError, match="409"):
            await stale
        assert await decoded(http, worker) == (1, 1), "the model was idle too early for this test"
        assert (await newer).text == WORDS
        await busy
        assert await decoded(http, worker) == (2, 2)


async def test_what_waits_is_decoded_two_at_a_time(start_worker: StartWorker) -> None:
    async with (
        start_worker("stt", **TINY) as worker,
        SttClient(worker.url, limits=PATIENT) as stt,
        http_session() as http,
    ):
        busy = asyncio.create_task(hear(stt, LONG))
        await begun(http, worker)
        callers = [asyncio.create_task(hear(stt, PCM, call_id=f"c{number}")) for number in range(6)]
        await waiting(http, worker, 6)
        assert [(await one).text for one in callers] == [WORDS] * 6
        await busy
        assert await decoded(http, worker) == (4, 7)
