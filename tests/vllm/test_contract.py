"""What our client and a call rest on, asked of vLLM itself. In order: the last test of each worker ends it."""

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI
from pydantic import SecretStr

from gpu_workers.client import Limits, LlmClient, Message, WorkerError, health
from tests.vllm.conftest import CONTEXT, KEY, PARALLEL, PROMPT, WAITING, Worker, started

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(400)]

LONG = "Write a long story about a bicycle that crosses a desert, and describe every day of the journey."
CHAT = "/v1/chat/completions"
BLOCK = 128  # tokens of vLLM's prefix cache on a CPU


def client(worker: Worker, **changed: Any) -> LlmClient:
    # the machine may be slow and shared: how long it takes is not what is asked here
    limits = Limits(connect_s=10, silence_s=90, total_s=120)
    given: dict[str, Any] = {
        "model": worker.model, "api_key": SecretStr(KEY), "limits": limits, **changed
    }  # fmt: skip
    return LlmClient(worker.url, **given)


def talk(*said: str, prompt: str = PROMPT) -> list[Message]:
    """As a call has it: the prompt first, then the greeting, then the caller."""
    return [
        Message("system", prompt),
        Message("user", "Hello."),
        Message("assistant", "Lakeside Bikes, hello."),
        *(Message("user", words) for words in said),
    ]


async def answer(
    llm: LlmClient, messages: list[Message], max_tokens: int = 24
) -> tuple[list[str], str | None]:
    async with llm.stream(messages, max_tokens=max_tokens, temperature=0.0, call_id="c") as stream:
        pieces = [piece async for piece in stream if isinstance(piece, str)]
        return pieces, stream.finish_reason


async def test_nobody_is_served_before_it_is_warm_and_then_the_prompt_is_known(worker: Worker) -> None:
    assert set(worker.statuses) <= {503}, "ready is said only once it is so"
    async with aiohttp.ClientSession() as http:
        said = await health(http, worker.url)
    assert (said.ready, said.model, said.device) == (True, worker.model, "cpu")
    assert await worker.metric("prefix_cache_queries_total") > 128, "the beginning of the talk was read"
    hits = await worker.metric("prefix_cache_hits_total")
    async with client(worker) as llm:
        await answer(llm, talk("What does number three cost?"))
    assert await worker.metric("prefix_cache_hits_total") - hits >= 512, "by the first caller already"


async def test_an_answer_comes_piece_by_piece(worker: Worker) -> None:
    async with client(worker) as llm:
        asked = [Message("user", "What is the capital of France?")]
        pieces, reason = await answer(llm, asked)
        assert "Paris" in "".join(pieces)
        assert (len(pieces) > 3, reason) == (True, "stop")
        assert (await answer(llm, asked, max_tokens=3))[1] == "length"


async def test_callers_are_answered_side_by_side(worker: Worker) -> None:
    most = 0.0
    async with client(worker) as llm, asyncio.TaskGroup() as group:
        asking = [group.create_task(answer(llm, talk(f"Bicycle {n}?"), 24)) for n in range(PARALLEL + 2)]
        while not all(task.done() for task in asking):
            most = max(most, await worker.metric("num_requests_running"))
            await asyncio.sleep(0.05)
    assert all(task.result()[0] for task in asking)
    assert most == PARALLEL, "as many as the settings say, and no more"


async def test_the_prompt_is_read_once_for_all_calls(
    worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prefix cache hits only if every call sends the same bytes first."""
    async with client(worker) as llm:
        asked, hits = await _cache(worker)
        for question in ("What does number nine cost?", "Do you sell helmets?", "When do you open?"):
            await answer(llm, talk(question), 4)
        asked, hits = (
            after - before for after, before in zip(await _cache(worker), (asked, hits), strict=True)
        )
        # whole blocks are kept: the prompt ends within one, and the question is new
        assert asked - hits < 3 * 2 * BLOCK
        told(capsys, f"prefix_cache_hit_percent={100 * hits / asked:.0f} of_tokens={asked / 3:.0f}")
        asked, hits = await _cache(worker)
        await answer(llm, talk("When do you open?", prompt="It is nine o'clock. " + PROMPT), 4)
        assert (await _cache(worker))[1] == hits, "one word before it and nothing is known"


async def _cache(worker: Worker) -> tuple[float, float]:
    return await worker.metric("prefix_cache_queries_total"), await worker.metric("prefix_cache_hits_total")


async def test_a_cancelled_answer_costs_nothing_more(
    worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    """Barge-in: the connection is closed and the model stops."""
    async with client(worker) as llm:
        before = await worker.metric("generation_tokens_total")
        async with llm.stream(
            [Message("user", LONG)], max_tokens=1500, temperature=0.0, call_id="c"
        ) as stream:
            for _ in range(5):
                await anext(stream)
            assert await worker.metric("num_requests_running") == 1
            left = time.monotonic()
        await worker.idle(within_s=5)
        idle_ms = 1000 * (time.monotonic() - left)
        written = await worker.metric("generation_tokens_total")
        assert written - before < 100
        told(capsys, f"abort_ms={idle_ms:.0f} tokens_written={written - before:.0f} tokens_asked=1500")
        await asyncio.sleep(1)
        assert await worker.metric("generation_tokens_total") == written


def told(capsys: pytest.CaptureFixture[str], figures: str) -> None:
    """Figures are shown and not judged: the machine may be slow and shared."""
    with capsys.disabled():
        print(f"\nRESULT {figures}")


async def test_twenty_interruptions_in_a_row_leave_nothing_behind(worker: Worker) -> None:
    """W14: cancelled before the first token, in the middle, and while others are answered."""
    async with client(worker) as llm:

        async def interrupted(after_s: float) -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(after_s):
                    await answer(llm, [Message("user", LONG)], 1500)

        whole = asyncio.create_task(answer(llm, talk("What does number three cost?"), 24))
        for number in range(20):
            await interrupted(0.02 * number)
        alone = (await whole)[0]
        await worker.idle(within_s=10)
        assert alone == (await answer(llm, talk("What does number three cost?"), 24))[0], (
            "no piece of another's answer"
        )


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"model": "no-such-model"}, 404, "no-such-model"),
        ({"messages": [{"role": "user", "content": "word " * CONTEXT}]}, 400, "context length"),
        ({"max_tokens": -1}, 400, "max_tokens"),
        ({"max_tokens": 10**9}, 400, "max_tokens|context length"),
        ({"temperature": -3}, 400, "temperature"),
        ({"prompt": None, "messages": []}, 400, ""),
        ({"messages": "hello"}, 400, "messages"),
        ({"messages": [{"role": "user", "content": "a"}], "logit_bias": {"999999": 1}}, 400, "vocab|token"),
        (b"{not json", 400, ""),
        (b"\xff\xfe\x00", 400, ""),
        (b"[" * 100_000, 400, ""),
    ],
)
async def test_what_is_wrong_with_a_request_is_said_and_harms_nobody(
    worker: Worker, asked: dict[str, Any] | bytes, status: int, said: str
) -> None:
    good = {"model": worker.model, "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 2}
    given: dict[str, Any] = {"data": asked} if isinstance(asked, bytes) else {"json": good | asked}
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(headers=headers) as http:
        async with http.post(worker.url + CHAT, **given) as reply:
            body = await reply.json()
            assert reply.status == status, body
            # what is no text or nested too deep fails in FastAPI, before vLLM can dress it as OpenAI does
            message = body["error"]["message"] if said else str(body)
            assert any(word in message for word in said.split("|")), message
        async with http.post(worker.url + CHAT, json=good) as reply:
            assert reply.status == 200


async def test_a_stock_client_gets_its_own_exceptions(worker: Worker) -> None:
    said: list[Any] = [{"role": "user", "content": "Hi."}]
    url = f"{worker.url}/v1"
    async with (
        AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=120) as llm,
        AsyncOpenAI(base_url=url, api_key="wrong", max_retries=0, timeout=120) as nobody,
    ):
        with pytest.raises(openai.NotFoundError, match="no-such-model"):
            await llm.chat.completions.create(model="no-such-model", messages=said, max_tokens=2)
        with pytest.raises(openai.BadRequestError, match="temperature"):
            await llm.chat.completions.create(model=worker.model, messages=said, temperature=-3)
        with pytest.raises(openai.AuthenticationError):
            await nobody.chat.completions.create(model=worker.model, messages=said, max_tokens=2)
        many = (
            llm.chat.completions.create(model=worker.model, messages=said, max_tokens=30)
            for _ in range(PARALLEL + WAITING + 5)
        )
        found = await asyncio.gather(*many, return_exceptions=True)
        refused = [one for one in found if isinstance(one, openai.RateLimitError)]
        assert {one.response.headers["retry-after"] for one in refused} == {"1"}
        assert len([one for one in found if isinstance(one, BaseException)]) == len(refused) == 5
        stream = await llm.chat.completions.create(
            model=worker.model, messages=said, max_tokens=8, stream=True
        )
        assert len([event async for event in stream]) > 3


async def test_our_client_says_whose_fault_it_was(worker: Worker) -> None:
    async with client(worker, model="no-such-model") as llm:
        with pytest.raises(WorkerError, match=r"status 404.*check the worker's url and model") as caught:
            await answer(llm, talk("Hello?"))
        assert not caught.value.retryable
    async with client(worker, api_key=None) as llm:
        with pytest.raises(WorkerError, match=r"status 401.*set the worker's api_key"):
            await answer(llm, talk("Hello?"))
    good = {"model": worker.model, "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 2}
    async with aiohttp.ClientSession() as http, http.post(f"{worker.url}/invocations", json=good) as reply:
        assert reply.status == 404, "vLLM answers a chat there without a key"
    async with client(worker) as llm:
        with pytest.raises(WorkerError, match=r"status 400.*context length") as caught:
            await answer(llm, [Message("user", "word " * CONTEXT)])
        assert not caught.value.retryable
        assert (await answer(llm, talk("Hello?"), 4))[0], "and is not held against it"


async def test_beyond_its_line_a_caller_is_told_when_to_come_again(worker: Worker) -> None:
    asked = {
        "model": worker.model, "messages": [{"role": "user", "content": LONG}], "max_tokens": 30,
        "stream": True,
    }  # fmt: skip

    async def status(http: aiohttp.ClientSession) -> tuple[int, str | None]:
        async with http.post(worker.url + CHAT, json=asked) as reply:
            await reply.read()
            return reply.status, reply.headers.get("Retry-After")

    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {KEY}"}) as http:
        found = await asyncio.gather(*(status(http) for _ in range(PARALLEL + WAITING + 5)))
    assert sorted(found) == [(200, None)] * (PARALLEL + WAITING) + [(429, "1")] * 5


async def test_sigterm_lets_the_answer_end_and_leaves_nothing(worker: Worker) -> None:
    below = worker.children()
    assert len(below) >= 2, "server and engine"
    async with client(worker) as llm:
        async with llm.stream([Message("user", LONG)], max_tokens=60, temperature=0.0, call_id="c") as stream:
            await anext(stream)
            worker.process.terminate()
            pieces = [piece async for piece in stream]
            assert stream.finish_reason in {"length", "stop"}
        assert len(pieces) > 20
    assert await asyncio.wait_for(worker.process.wait(), 40) == 0
    assert not any(map(_runs, below))


async def test_an_engine_that_dies_ends_the_worker_which_says_so(tmp_path: Path) -> None:
    """W10: as after running out of the card's memory. Whoever started the worker starts it again."""
    async with started(tmp_path) as worker:
        below = worker.children()
        for pid in below[1:]:
            os.kill(pid, signal.SIGKILL)
        async with client(worker) as llm:
            with pytest.raises(WorkerError) as caught:
                await answer(llm, talk("Hello?"))
            assert caught.value.retryable
        assert await asyncio.wait_for(worker.process.wait(), 40) == 1
        assert "while serving" in worker.log.read_text()
        assert not any(map(_runs, below))


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
