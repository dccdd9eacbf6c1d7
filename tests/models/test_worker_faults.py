"""Worker processes that are killed, stopped and started again under their clients (W1, W2, W4, W5, W8 to W11, W14)."""

import asyncio
import json
import os
import re
import resource
import signal
import socket
import sys
import wave
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from gpu_workers.client import Limits, LlmClient, Message, SttClient, TtsClient, WorkerError
from tests.models.conftest import PROGRAM, StartWorker

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
        await idle(worker.url)
        assert alone
        after = await say(llm)
        assert after
        assert not re.search("bicycle|desert", after, re.IGNORECASE), (
            "of the story that nobody wanted any more"
        )


async def test_who_leaves_before_the_first_token_stops_the_model(start_worker: StartWorker) -> None:
    """W14. llama.cpp by itself reads all of the prompt first, and without `stream` writes all of the answer."""
    prompt = " ".join(f"Bicycle number {number} costs {number * 7} dollars." for number in range(70))
    async with start_worker("llm", **SMALL, parallel=1) as worker, aiohttp.ClientSession() as http:
        await _read(http, worker.url, {**asked_of(prompt), "max_tokens": 1})
        all_of_it = await told(worker.url, "n_decode_total") or 0
        assert all_of_it >= 12
        for stream in (False, True):
            before = await told(worker.url, "n_decode_total") or 0
            asked = {**asked_of(f"Stream {stream}? {prompt}"), "max_tokens": 300, "stream": stream}
            leaving = asyncio.create_task(_read(http, worker.url, asked))
            async with asyncio.timeout(20):
                while await told(worker.url, "requests_processing") != 1:  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)
            leaving.cancel()
            await asyncio.wait({leaving})
            await idle(worker.url)
            steps = (await told(worker.url, "n_decode_total") or 0) - before
            assert steps <= all_of_it / 2, f"stream {stream}: {steps} of {all_of_it} steps"


def asked_of(text: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}]}


async def _read(http: aiohttp.ClientSession, url: str, asked: dict[str, object]) -> None:
    async with http.post(f"{url}/v1/chat/completions", json=asked) as answer:
        await answer.read()


async def test_an_endless_answer_is_cut_and_the_model_stops(start_worker: StartWorker) -> None:
    """W5: the sentences that may be said come, then the connection closes and nothing runs on."""
    asked = [Message("user", "Count from one to ten thousand. One, two, three,")]
    async with start_worker("llm", **SMALL) as worker, LlmClient(worker.url) as llm:
        written = ""
        async with llm.stream(asked, max_tokens=1900, temperature=0.0, call_id="c") as stream:
            async for piece in stream:
                written += str(piece)
                if len(written) > 200:
                    break
        assert stream.finish_reason is None, "it ended by itself: no test"
        await idle(worker.url)
        steps = await told(worker.url, "n_decode_total")
        await asyncio.sleep(0.5)
        assert await told(worker.url, "n_decode_total") == steps


async def test_llama_cpp_dies_and_the_worker_says_so_and_ends(start_worker: StartWorker) -> None:
    """W10, W11: as the kernel does where memory is out. Whoever started the worker starts it again."""
    async with start_worker("llm", **SMALL) as worker, LlmClient(worker.url) as llm:
        (child,) = children(worker.process.pid)
        got: list[object] = []
        with pytest.raises(WorkerError, match="error inside the answer stream: llama") as caught:
            async with llm.stream(STORY, max_tokens=1500, temperature=0.0, call_id="c") as stream:
                async for piece in stream:
                    got.append(piece)
                    if len(got) == 3:
                        os.kill(child, signal.SIGKILL)
        assert caught.value.retryable
        assert await asyncio.wait_for(worker.process.wait(), 20) == 1


async def test_a_worker_that_is_killed_takes_llama_cpp_along(start_worker: StartWorker) -> None:
    async with start_worker("llm", **SMALL) as worker:
        (child,) = children(worker.process.pid)
        worker.process.kill()
        async with asyncio.timeout(20):
            while alive(child):  # noqa: ASYNC110 - another process' end tells nobody
                await asyncio.sleep(0.02)


async def test_a_model_that_does_not_fit_into_memory_is_told(cache_dir: Path, tmp_path: Path) -> None:
    """W10."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = json.dumps({**SMALL, "context_tokens": 2_000_000, "parallel": 1, "port": port})
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, "llm", settings, str(cache_dir), stderr=log,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)),
        )  # fmt: skip
        assert await asyncio.wait_for(process.wait(), 60) == 1
    assert re.search("llama.cpp (cannot load|was killed|ended).*smollm2", (tmp_path / "log").read_text())


def children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def idle(url: str) -> None:
    async with asyncio.timeout(20):
        while await told(url, "requests_processing") != 0:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.05)


async def told(url: str, name: str) -> float | None:
    """What llama.cpp itself counts; None while it is too busy to say."""
    async with aiohttp.ClientSession() as http, http.get(f"{url}/metrics") as metrics:
        lines = (await metrics.text()).splitlines()
    return next((float(line.split()[1]) for line in lines if line.startswith(f"llamacpp:{name} ")), None)


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
