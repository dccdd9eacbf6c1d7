"""Worker processes that are killed, stopped and started again under their clients (W1, W2, W4, W8, W11, W14)."""

import asyncio
import os
import re
import signal
import wave
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from gpu_workers.client import Limits, LlmClient, Message, SttClient, TtsClient, WorkerError
from tests.models.conftest import StartWorker

CLIP = Path(__file__).parents[1] / "data" / "speech" / "price01.wav"
WORDS = "How much does the monthly plan cost?"
TINY = {"model": "whisper-tiny.en", "turn_model": None}
SMALL = {"model": "smollm2-135m", "context_tokens": 2048, "threads": 1}
STORY = [Message("user", "Write a long story about a bicycle that crosses a desert.")]
PATIENCE_S = 4.0


async def heard(stt: SttClient, deadline_ms: int = 20_000) -> str:
    with wave.open(str(CLIP)) as file:
        pcm = file.readframes(file.getnframes())
    found = await stt.transcribe(
        pcm, 8000, priority="final", deadline_ms=deadline_ms, call_id="c", language="en"
    )
    return found.text


async def test_stt_freezes_or_dies_in_the_middle_of_an_utterance_and_the_other_hears_it(
    start_worker: StartWorker,
) -> None:
    """W1. A client's first request goes to the first of its replicas."""
    async with start_worker("stt", **TINY) as one, start_worker("stt", **TINY) as other:
        one.process.send_signal(signal.SIGSTOP)
        async with SttClient([one.url, other.url]) as stt:
            assert await heard(stt) == WORDS
        one.process.send_signal(signal.SIGCONT)
        async with SttClient([one.url, other.url], limits=Limits(other_s=20)) as stt:
            running = asyncio.create_task(heard(stt))
            await asyncio.sleep(0.05)
            one.process.kill()
            assert await running == WORDS
            assert [await heard(stt), await heard(stt)] == [WORDS, WORDS]


async def test_a_frozen_stt_keeps_nobody_waiting_and_is_back_when_it_thaws(start_worker: StartWorker) -> None:
    """W2."""
    async with start_worker("stt", **TINY) as worker, SttClient(worker.url) as stt:
        assert await heard(stt) == WORDS
        worker.process.send_signal(signal.SIGSTOP)
        callers = (asyncio.wait_for(heard(stt), PATIENCE_S) for _ in range(3))
        gave_up = await asyncio.gather(*callers, return_exceptions=True)
        assert all(isinstance(one, TimeoutError) for one in gave_up)
        with pytest.raises(WorkerError, match="none is asked"):
            await heard(stt)
        worker.process.send_signal(signal.SIGCONT)
        async with asyncio.timeout(20):
            while True:
                with suppress(WorkerError):
                    assert await heard(stt) == WORDS
                    break
                await asyncio.sleep(0.2)


async def test_the_llm_dies_in_mid_answer_is_started_again_and_answers(start_worker: StartWorker) -> None:
    """W4, W11."""
    async with start_worker("llm", **SMALL) as worker, LlmClient(worker.url) as llm:
        got: list[object] = []
        with pytest.raises(WorkerError, match=r"connection broke|stopped before its end") as caught:
            async with llm.stream(STORY, max_tokens=1500, temperature=0.0, call_id="c") as stream:
                async for piece in stream:
                    got.append(piece)
                    if len(got) == 3:
                        worker.process.kill()
        assert caught.value.retryable
        assert len(got) >= 3, "what was written before stays"
        with pytest.raises(WorkerError, match=r"cannot connect|none is asked"):
            await say(llm)
        async with start_worker("llm", **SMALL, port=int(worker.url.rpartition(":")[2])):
            async with asyncio.timeout(20):
                while True:
                    with suppress(WorkerError):
                        assert await say(llm)
                        break
                    await asyncio.sleep(0.2)


async def say(llm: LlmClient) -> str:
    asked = [Message("user", "What is the capital of France?")]
    async with llm.stream(asked, max_tokens=20, temperature=0.0, call_id="c") as stream:
        return "".join([piece async for piece in stream if isinstance(piece, str)])


async def test_twenty_interruptions_in_a_row_leave_the_llm_idle(start_worker: StartWorker) -> None:
    """W14: no slot stays taken, and what is answered next is its own."""
    async with start_worker("llm", **SMALL, parallel=2) as worker, LlmClient(worker.url) as llm:
        alone = await say(llm)
        for number in range(20):
            with suppress(TimeoutError):
                async with (
                    asyncio.timeout(0.02 * number),
                    llm.stream(STORY, max_tokens=1500, temperature=0.0, call_id="c") as stream,
                ):
                    async for _ in stream:
                        pass
        async with asyncio.timeout(20):
            while await processing(worker.url):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.05)
        assert alone
        after = await say(llm)
        assert after
        assert not re.search("bicycle|desert", after, re.IGNORECASE), (
            "of the story that nobody wanted any more"
        )


async def processing(url: str) -> bool:
    async with aiohttp.ClientSession() as http, http.get(f"{url}/metrics") as metrics:
        return "llamacpp:requests_processing 0" not in await metrics.text()


async def test_the_voice_dies_in_mid_sentence_and_another_speaks_the_next(start_worker: StartWorker) -> None:
    """W8, W9."""
    long = "This is the first of very many sentences that take a while. " * 30
    async with (
        start_worker("tts") as one,
        start_worker("tts") as other,
        TtsClient([one.url, other.url]) as tts,
    ):
        with pytest.raises(WorkerError, match=r"TTS worker at .*the connection broke") as caught:
            async with tts.speak(long, voice="joe", call_id="c") as speech:
                async for _ in speech:
                    one.process.kill()
        assert caught.value.retryable
        for _ in range(2):
            async with tts.speak("Hello there.", voice="joe", call_id="c") as speech:
                assert len([pcm async for pcm in speech])


async def test_a_worker_that_thaws_has_forgotten_who_left(start_worker: StartWorker) -> None:
    """W14: twenty requests whose callers left while it was frozen cost it nothing and keep nobody waiting."""
    async with start_worker("tts") as worker, TtsClient(worker.url) as tts:
        os.kill(worker.process.pid, signal.SIGSTOP)

        async def left() -> None:
            async with asyncio.timeout(0.5), tts.speak("Too late. " * 40, voice="joe", call_id="c"):
                pass

        assert all(
            isinstance(one, TimeoutError)
            for one in await asyncio.gather(*(left() for _ in range(20)), return_exceptions=True)
        )
        os.kill(worker.process.pid, signal.SIGCONT)
        async with (
            asyncio.timeout(20),
            tts.speak("Hello there.", voice="joe", call_id="c") as speech,
        ):
            assert len([pcm async for pcm in speech])
        async with aiohttp.ClientSession() as http, http.get(f"{worker.url}/health") as answer:
            assert (await answer.json())["queue"] == 0
