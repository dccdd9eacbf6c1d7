"""The language model's API before llama.cpp, over HTTP on loopback; only the engine is a fake."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from gpu_workers.client import LlmClient, Message, ToolCall, WorkerError, health
from gpu_workers.errors import RequestError
from gpu_workers.llm.chat_api import routes
from gpu_workers.llm.line import Line
from gpu_workers.serving import create_app
from gpu_workers.status import Metrics, Phase, Status
from tests.support.fake_engine import HELLO, PROGRESS, FakeEngine, piece
from tests.support.worker_app import BEARER, KEY, eventually, serving

ASKED = {"messages": [{"role": "user", "content": "Hello?"}]}
TOOL = {"type": "function", "function": {"name": "transfer", "parameters": {"type": "object"}}}


@dataclass
class Worker:
    url: str
    http: aiohttp.ClientSession
    engine: FakeEngine
    line: Line

    def post(self, asked: Any, **headers: str) -> Any:
        url = f"{self.url}/v1/chat/completions"
        return self.http.post(url, json=asked, headers={**BEARER, **headers})

    async def refused(self, asked: Any) -> tuple[int, dict[str, Any]]:
        async with self.post(asked) as answer:
            return answer.status, (await answer.json())["error"]


@asynccontextmanager
async def a_worker(parallel: int = 2, limit: int = 2, allowed: int = 1 << 30) -> AsyncIterator[Worker]:
    engine, line = FakeEngine(allowed), Line(parallel, limit)
    status = Status("llm", "fake", "cpu", lambda: line.waiting, max_calls=7)

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        yield

    app = create_app(
        status, Metrics(status, engine.metrics), routes(line, engine, "fake", 512), living, KEY, 64 * 1024
    )
    async with aiohttp.ClientSession() as http, serving(app) as url:
        await eventually(lambda: status.phase is Phase.READY)
        yield Worker(url, http, engine, line)


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    async with a_worker() as running:
        yield running


async def test_an_answer_as_it_is_written_and_as_a_whole(worker: Worker) -> None:
    async with worker.post({**ASKED, "stream": True}) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        events = (await answer.text()).split("\n\n")
    assert [json.loads(one.removeprefix("data: ")) for one in events[:-2]] == HELLO[1:-1]
    assert events[-2:] == ["data: [DONE]", ""]
    async with worker.post(ASKED) as answer:
        said = await answer.json()
    assert said["object"] == "chat.completion"
    assert said["choices"][0]["message"] == {"role": "assistant", "content": "Hello there."}
    assert said["choices"][0]["finish_reason"] == "stop"
    assert said["usage"]["total_tokens"] == 11


async def test_usage_is_told_in_the_stream_only_to_who_asks(worker: Worker) -> None:
    async with worker.post({**ASKED, "stream": True, "stream_options": {"include_usage": True}}) as answer:
        assert '"total_tokens": 11' in await answer.text()


async def test_tool_calls_whole_and_as_our_client_reads_them(worker: Worker) -> None:
    first = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "transfer", "arguments": '{"to":'},
    }
    worker.engine.says = [
        piece(tool_calls=[first]),
        piece(tool_calls=[{"index": 0, "function": {"arguments": ' "7"}'}}]),
        piece(reason="tool_calls"),
    ]
    async with worker.post({**ASKED, "tools": [TOOL]}) as answer:
        message = (await answer.json())["choices"][0]["message"]
    whole = {"id": "c1", "type": "function", "function": {"name": "transfer", "arguments": '{"to": "7"}'}}
    assert message == {"role": "assistant", "content": None, "tool_calls": [whole]}
    call = ToolCall("c1", "transfer", '{"to": "7"}')
    told = [Message("user", "Seven."), Message("assistant", "", (call,)), Message("tool", "done", (), "c1")]
    async with (
        LlmClient(worker.url, api_key=KEY) as llm,
        llm.stream(told, max_tokens=9, temperature=0, call_id="c", tools=[TOOL]) as stream,
    ):
        assert [one async for one in stream] == [call]
    assert worker.engine.asked[-1]["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [whole]},
        {"role": "tool", "content": "done", "tool_call_id": "c1"},
    ]


async def test_its_line_has_an_end_and_is_served_in_order() -> None:
    async with a_worker(parallel=1, limit=1, allowed=0) as worker, AsyncExitStack() as stack:
        held = asyncio.create_task(stack.enter_async_context(worker.post(ASKED)))
        await eventually(lambda: worker.engine.running == 1)
        waits = asyncio.create_task(stack.enter_async_context(worker.post(ASKED)))
        await eventually(lambda: worker.line.waiting == 1)
        async with worker.post(ASKED) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            error = (await answer.json())["error"]
        assert (error["type"], error["code"]) == ("rate_limit_error", "queue_full")
        async with worker.http.get(f"{worker.url}/health") as answer:
            said = await answer.json()
        assert (said["queue"], said["max_calls"]) == (1, 7)
        assert (await health(worker.http, worker.url)).max_calls == 7
        worker.engine.may_say.release()
        for _ in range(100):
            worker.engine.may_say.release()
        assert [(await one).status for one in (held, waits)] == [200, 200]
    assert (worker.line.running, worker.line.waiting) == (0, 0)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("after", [0, 1, 2])
async def test_who_leaves_stops_the_engine(stream: bool, after: int) -> None:
    """Before anything was read, amid the prompt, amid the answer; nothing else ends this engine."""
    async with a_worker(parallel=1, limit=1, allowed=after) as worker:
        asking = asyncio.create_task(_read(worker, {**ASKED, "stream": stream}))
        await eventually(lambda: worker.engine.running == 1 and worker.engine.may_say.locked())
        waits = asyncio.create_task(_read(worker, ASKED))
        await eventually(lambda: worker.line.waiting == 1)
        waits.cancel()
        await eventually(lambda: worker.line.waiting == 0)
        assert worker.engine.running == 1
        asking.cancel()
        await eventually(lambda: worker.engine.running == 0 and worker.line.running == 0)
        await asyncio.wait({asking, waits})
        assert len(worker.engine.asked) == 1


async def _read(worker: Worker, asked: Any) -> None:
    async with worker.post(asked) as answer:
        await answer.read()


async def test_each_token_is_sent_when_it_is_written() -> None:
    async with a_worker(allowed=2) as worker, worker.post({**ASKED, "stream": True}) as answer:
        seen = b""
        while b"Hello" not in seen:
            seen += await answer.content.readany()
        assert b"there" not in seen
        worker.engine.may_say.release()
        while b"there" not in seen:
            seen += await answer.content.readany()
        for _ in range(5):
            worker.engine.may_say.release()
        assert (await answer.read()).endswith(b"data: [DONE]\n\n")


async def test_what_fails_in_the_engine_is_told_by_status_or_in_the_stream(worker: Worker) -> None:
    worker.engine.refuses = RequestError(400, "too long", code="context_length_exceeded", param="messages")
    for stream in (False, True):
        status, error = await worker.refused({**ASKED, "stream": stream})
        assert (status, error["code"]) == (400, "context_length_exceeded")
    worker.engine.refuses = None
    worker.engine.says = [PROGRESS, {"error": {"code": 500, "message": "no memory", "type": "server_error"}}]
    status, error = await worker.refused(ASKED)
    assert (status, error["type"], error["message"]) == (500, "server_error", "llama.cpp failed: no memory")
    worker.engine.says = [piece("Hel"), {"error": {"code": 500, "message": "no memory"}}]
    async with LlmClient(worker.url, api_key=KEY) as llm:
        with pytest.raises(WorkerError, match="error inside the answer stream: llama") as caught:
            async with llm.stream([Message("user", "?")], max_tokens=9, temperature=0, call_id="c") as said:
                async for _ in said:
                    pass
    assert caught.value.retryable
    worker.engine.says = [piece("Hel")]
    assert (await worker.refused(ASKED))[1]["message"].endswith("its answer stopped before its end")
    worker.engine.says = []
    assert (await worker.refused({**ASKED, "stream": True}))[1]["message"].endswith("its answer is empty")
    assert worker.line.running == 0


USER = {"role": "user", "content": "a"}
BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "x"}, "messages"),
    ({"messages": [{"role": "clown", "content": "x"}]}, "messages.0"),
    ({"messages": [{"role": "user"}]}, "messages.0.user.content"),
    ({"messages": [{"role": "assistant"}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "messages.0"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.tool.tool_call_id"),
    ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]}, "messages.0.assistant.tool_calls"),
    ({"messages": [{"role": "user", "content": "x" * 17_000}]}, "messages"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": 513}, "max_tokens"),
    ({"max_completion_tokens": 513, "max_tokens": 5}, "max_completion_tokens"),
    ({"max_tokens": "5"}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"temperature": 2.1}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_p": 0}, "top_p"),
    ({"stream": "yes"}, "stream"),
    ({"n": 2}, "n"),
    ({"stop": [""]}, "stop"),
    ({"stop": ["a"] * 17}, "stop"),
    ({"logit_bias": {"5": -100}}, "logit_bias"),
    ({"logprobs": True}, "logprobs"),
    ({"response_format": {"type": "json_schema"}}, "response_format"),
    ({"functions": []}, "functions"),
    ({"grammar": "root ::= x"}, "grammar"),
    ({"json_schema": {}}, "json_schema"),
    ({"tools": []}, "tools"),
    ({"tools": [{"type": "function"}]}, "tools.0.function"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools.0.function.name"),
    ({"tools": [TOOL, TOOL]}, "tools"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "param"), BAD, ids=[f"{number}-{param}" for number, (_, param) in enumerate(BAD)]
)
async def test_what_is_wrong_with_a_request_is_named(
    worker: Worker, fields: dict[str, Any], param: str
) -> None:
    asked = fields if "messages" in fields or not fields else {"messages": [USER], **fields}
    status, error = await worker.refused(asked)
    assert (status, error["type"]) == (400, "invalid_request_error"), error
    assert error["param"].startswith(param) or param in error["message"], error
    assert not worker.engine.asked


async def test_an_unknown_model_is_404_and_a_body_too_large_413(worker: Worker) -> None:
    status, error = await worker.refused({**ASKED, "model": "llama-70b"})
    assert (status, error["code"], error["param"]) == (404, "model_not_found", "model")
    for model in (None, "", "fake", "gpt-4o-mini"):
        async with worker.post({**ASKED, "model": model}) as answer:
            assert answer.status == 200
    status, error = await worker.refused({"messages": [{"role": "user", "content": "x" * 70_000}]})
    assert (status, error["code"]) == (413, "request_too_large")


BODIES = {
    "junk": (b'{"messages":', "application/json"),
    "an array": (b"[]", "application/json"),
    "deep": (b'{"messages":' + b"[" * 30_000, "application/json"),
    "half a character": (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', "application/json"),
    "not UTF-8": (b'{"messages": [{"role": "user", "content": "\xff"}]}', "application/json"),
    "a form": (b"messages=x", "application/x-www-form-urlencoded"),
    "plain text": (json.dumps(ASKED).encode(), "text/plain"),
    "nothing": (b"", "application/json"),
    "not a number": (
        b'{"messages": [{"role": "user", "content": "a"}], "temperature": NaN}',
        "application/json",
    ),
}


@pytest.mark.parametrize(("body", "kind"), BODIES.values(), ids=BODIES)
async def test_what_is_no_json_object_is_400(worker: Worker, body: bytes, kind: str) -> None:
    headers = {**BEARER, "Content-Type": kind}
    async with worker.http.post(f"{worker.url}/v1/chat/completions", data=body, headers=headers) as answer:
        assert answer.status == 400
        assert (await answer.json())["error"]["type"] == "invalid_request_error"
    assert not worker.engine.asked


async def test_the_key_is_asked_for_and_requests_are_counted(worker: Worker) -> None:
    for key in ("", "Bearer wrong"):
        async with worker.post(ASKED, Authorization=key) as answer:
            assert answer.status == 401
    async with worker.http.get(f"{worker.url}/v1/models", headers=BEARER) as answer:
        assert [one["id"] for one in (await answer.json())["data"]] == ["fake"]
    async with worker.http.get(f"{worker.url}/metrics") as answer:
        said = await answer.text()
    assert 'voicebot_llm_requests_total{status="401"} 2.0' in said
    assert "llamacpp:requests_processing 0" in said


async def test_what_only_others_know_is_dropped_and_the_rest_passed_on(worker: Worker) -> None:
    tool = {"type": "function", "function": {"name": "dial", "parameters": {"properties": {
        "number": {"type": "string", "pattern": "^(a?){50}$"}, "pattern": {"type": "string"}}}}}  # fmt: skip
    parts = [{"type": "text", "text": one} for one in ("Be ", "brief.")]
    asked = {
        "messages": [{"role": "developer", "content": parts}, USER],
        "max_tokens": 0, "max_completion_tokens": None, "temperature": 0, "stop": "x", "seed": -1, "cache_prompt": True,
        "tools": [TOOL, tool], "tool_choice": {"type": "function", "function": {"name": "dial"}},
        "user": "u", "store": False, "id_slot": 0, "n_predict": 900, "samplers": ["junk"], "lora": [{}],
    }  # fmt: skip
    async with worker.post(asked) as answer:
        assert answer.status == 200, await answer.text()
    bare = {"properties": {"number": {"type": "string"}, "pattern": {"type": "string"}}}
    assert worker.engine.asked == [{
        "messages": [{"role": "system", "content": "Be brief."}, USER],
        "max_tokens": 0, "temperature": 0, "stop": "x", "seed": (1 << 32) - 1, "cache_prompt": True,
        "tools": [{"type": "function", "function": {"name": "dial", "parameters": bare}}], "tool_choice": "required",
        "stream": True, "stream_options": {"include_usage": True}, "return_progress": True,
    }]  # fmt: skip


@pytest.mark.parametrize(
    "parameters",
    [
        json.loads('{"a":' * 20 + "{}" + "}" * 20),
        {"type": "object", "properties": {f"p{number}": {} for number in range(300)}},
        {"description": "x" * 66_000},
    ],
    ids=["deep", "many", "long"],
)
async def test_tools_that_cost_the_engine_too_much_are_400(
    worker: Worker, parameters: dict[str, Any]
) -> None:
    status, error = await worker.refused({
        **ASKED, "tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    })  # fmt: skip
    assert (status, error.get("param")) in {(400, "tools"), (413, None)}
