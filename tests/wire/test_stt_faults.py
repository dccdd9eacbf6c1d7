"""The recogniser fails its client (W1, W11, W12, W14), on fakes; tests/models/test_stt_faults.py: the real process."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
from yarl import URL

from gpu_workers.client import SttClient, WorkerError
from tests.support.fake_workers import FakeStt, served, tone
from tests.support.raw_http import raw_server

PATH = "/v1/audio/transcriptions"
PCM = tone(440, 0.5, 8000)
HUGE = 2 * 1024**3


async def heard(stt: SttClient, deadline_ms: int = 5000) -> str:
    transcript = await stt.transcribe(
        PCM, 8000, priority="final", deadline_ms=deadline_ms, call_id="c1", language="en"
    )
    return transcript.text


async def heard_at_last(stt: SttClient) -> str:
    """A worker that failed is asked again once it answers its health probe."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await heard(stt)
            except WorkerError:
                await asyncio.sleep(0.05)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the other side is a server, with counters only
            await asyncio.sleep(0.005)


async def test_a_worker_that_dies_over_an_utterance_is_followed_by_another() -> None:
    dying, other = FakeStt(delay_s=60), FakeStt(answers=["Two people."])
    async with served(other, PATH) as second, AsyncExitStack() as life:
        first = await life.enter_async_context(served(dying, PATH))
        async with SttClient([first, second]) as stt:
            running = asyncio.create_task(heard(stt))
            await until(lambda: dying.running == 1)
            await life.aclose()
            assert await running == "Two people."
            assert await heard(stt) == "Two people."
    assert other.finished == 2


async def test_a_worker_that_comes_back_is_used_again() -> None:
    worker = FakeStt(answers=["Here I am."])
    async with served(worker, PATH) as url:
        pass
    async with SttClient(url) as stt:
        with pytest.raises(WorkerError, match="cannot connect") as caught:
            await heard(stt)
        assert caught.value.retryable
        async with served(worker, PATH, port=URL(url).port or 0):
            assert await heard_at_last(stt) == "Here I am."


async def test_two_gigabytes_of_an_answer_are_not_waited_for() -> None:
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {HUGE}\r\n\r\n".encode())
        try:
            while sent < HUGE:
                writer.write(bytes(1 << 16))
                await writer.drain()
                sent += 1 << 16
        except ConnectionError:
            pass
        writer.close()

    async with raw_server(pour) as url, SttClient(url) as stt:
        with pytest.raises(WorkerError, match="longer than") as caught:
            await heard(stt)
    assert not caught.value.retryable
    assert sent < HUGE / 16


async def test_an_answer_that_is_cut_is_an_error_that_may_be_tried_again() -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{"text": "Two')
        await writer.drain()
        writer.close()

    async with raw_server(cut) as url, SttClient(url) as stt:
        with pytest.raises(WorkerError, match="the connection broke") as caught:
            await heard(stt)
    assert caught.value.retryable


async def test_twenty_interruptions_in_a_row_leave_nothing_behind() -> None:
    worker = FakeStt(delay_s=60, answers=["At last."])
    async with served(worker, PATH) as url, SttClient(url) as stt:
        for number in range(20):
            asked = asyncio.create_task(heard(stt, 60_000))
            await until(lambda: worker.running == 1)
            asked.cancel()
            await asyncio.wait({asked})
            await until(lambda: worker.running == 0)
            assert worker.aborted == number + 1
        worker.delay_s = 0
        assert await heard(stt) == "At last."
