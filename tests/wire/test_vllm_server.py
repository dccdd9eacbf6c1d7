"""`voicebot worker llm` and the server it starts, with a stand-in for vLLM: same module, same gate, no model.

`make test-vllm` does the same with vLLM itself.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gpu_workers.client import Health, LlmClient, Message, health
from gpu_workers.llm.gate import Gate, Terms

STAND_IN = Path(__file__).parents[1] / "support" / "fake_vllm"
TALK = [{"role": "system", "content": "Be brief."}, {"role": "assistant", "content": "Hello."}]
ASKED = [Message("user", "Count.")]


@dataclass(frozen=True)
class Running:
    """`voicebot worker llm` as a process, and what it started."""

    url: str
    process: asyncio.subprocess.Process
    pids_file: Path
    log: Path
    temporary: Path

    @property
    def folders(self) -> list[str]:
        """What it has in the folder for temporary files."""
        return sorted(path.name for path in self.temporary.iterdir())

    @property
    def pids(self) -> list[int]:
        """Of the server and of its engine."""
        return [int(pid) for pid in self.pids_file.read_text().split()]

    async def ready(self, http: aiohttp.ClientSession) -> Health:
        while not (found := await health(http, self.url)).ready:
            assert self.process.returncode is None, self.log.read_text()
            await asyncio.sleep(0.02)
        return found

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), 40)


Start = Callable[..., contextlib.AbstractAsyncContextManager[Running]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    @asynccontextmanager
    async def started(settings: dict[str, Any] | None = None, **how: object) -> AsyncIterator[Running]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        llm = {"engine": "vllm", "model": "/models/m", "python": sys.executable, "port": port}
        config = tmp_path / "voicebot.yaml"
        config.write_text(
            json.dumps({"workers": {"llm": {**llm, "warm_talks": [TALK, TALK], **(settings or {})}}})
        )
        pids, log = tmp_path / "pids", tmp_path / "log"
        temporary = tmp_path / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = {
            "PYTHONPATH": str(STAND_IN), "FAKE_VLLM": json.dumps({"pids": str(pids), **how}),
            "TMPDIR": str(temporary),
        }  # fmt: skip
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "voicebot", "worker", "llm", "-c", str(config),
                env={**os.environ, **environment}, stdout=output, stderr=output,
            )  # fmt: skip
        try:
            yield Running(f"http://127.0.0.1:{port}", process, pids, log, temporary)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            if pids.exists():
                for pid in map(int, pids.read_text().split()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    return started


async def gone(pids: list[int]) -> None:
    async with asyncio.timeout(20):
        while any(map(_runs, pids)):  # noqa: ASYNC110 - another process' end tells nobody
            await asyncio.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_it_is_ready_only_when_it_is_warm(start: Start) -> None:
    async with start(warm_s=0.6) as worker, aiohttp.ClientSession() as http:
        refused: list[tuple[int, str | None, str]] = []
        while not (await health(http, worker.url)).ready:
            with contextlib.suppress(aiohttp.ClientError):
                async with http.post(f"{worker.url}/v1/chat/completions", json={"messages": []}) as answer:
                    if answer.status == 200:  # it has become warm since it was asked
                        assert (await health(http, worker.url)).ready
                        continue
                    said = await answer.json()
                    refused.append((answer.status, answer.headers.get("Retry-After"), said["error"]["code"]))
            await asyncio.sleep(0.02)
        assert set(refused) == {(503, "5", "loading")}
        async with http.get(f"{worker.url}/v1/asked") as answer:
            (warmed,) = [one for one in await answer.json() if one["messages"]]
        assert warmed == {"model": "/models/m", "messages": TALK, "max_tokens": 1}, "each beginning once"
        assert await health(http, worker.url) == Health(True, "/models/m", "cpu", "ready")


async def test_vllms_other_ways_in_are_closed(start: Start) -> None:
    """Its key guards a few prefixes, and its other paths answer a chat all the same: past key, line and size."""
    async with start() as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        for method, path in (
            ("POST", "/invocations"),
            ("GET", "/invocations"),
            ("POST", "/health"),
            ("POST", "/v1"),
            ("DELETE", "/v2/models"),
            ("OPTIONS", "/tokenize"),
        ):
            async with http.request(method, worker.url + path, json={"messages": []}) as answer:
                assert answer.status == 404, f"{method} {path}"
                assert (await answer.json())["error"]["code"] == "not_found"
        for path in ("/health", "/metrics", "/docs", "/openapi.json", "/v1/models"):
            async with http.get(worker.url + path) as answer:
                assert answer.status == 200, path
        async with http.get(f"{worker.url}/v1/asked") as answer:
            assert len(await answer.json()) == 1, "nothing but the warm-up got through"


async def test_a_websocket_does_not_get_to_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """One would stand in no line."""
    terms = Terms("/nowhere", "token", running=1, waiting=1, model="m", device="cpu")
    monkeypatch.setenv(*terms.to_environment().popitem())
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it got through")

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    await Gate(app)({"type": "websocket", "path": "/v1/realtime", "headers": []}, receive, send)
    assert sent == [{"type": "websocket.close"}]


async def test_when_its_line_is_full_it_says_so(start: Start) -> None:
    async with (
        start({"parallel": 2, "queue_limit": 1}, word_s=0.4) as worker,
        aiohttp.ClientSession() as http,
    ):
        await worker.ready(http)
        url = f"{worker.url}/v1/chat/completions"
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(3):
                answer = await stack.enter_async_context(http.post(url, json={"messages": []}))
                assert answer.status == 200
            async with http.post(url, json={"messages": []}) as answer:
                assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
                assert (await answer.json())["error"]["type"] == "rate_limit_error"
            async with http.get(f"{worker.url}/health") as answer:
                assert (await answer.json())["queue"] == 1


async def test_sigterm_lets_answers_end_and_leaves_nothing(start: Start) -> None:
    async with start(word_s=0.3) as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        async with (
            LlmClient(worker.url) as llm,
            llm.stream(ASKED, max_tokens=9, temperature=0, call_id="c") as answer,
        ):
            first = await anext(answer)
            worker.process.terminate()
            rest = [piece async for piece in answer]
        assert [first, *rest] == ["One ", "two ", "three."]
        assert await worker.ended() == 0
        await gone(worker.pids)


async def test_while_it_drains_a_new_question_is_refused(start: Start) -> None:
    """vLLM listens on while its engine drains, and would answer it with nothing."""
    async with start(word_s=30) as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        url = f"{worker.url}/v1/chat/completions"
        async with http.post(url, json={"messages": []}) as running:
            await running.content.readany()
            worker.process.terminate()
            async with asyncio.timeout(20):
                while (told := await health(http, worker.url)).ready:  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.02)
            assert (told.status, told.detail) == (503, "draining")
            async with http.post(url, json={"messages": []}) as answer:
                assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
                assert (await answer.json())["error"]["code"] == "draining"
            worker.process.terminate()
        assert await worker.ended() == 0


async def test_a_second_sigterm_does_not_wait(start: Start) -> None:
    async with start(word_s=30) as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        async with http.post(f"{worker.url}/v1/chat/completions", json={"messages": []}) as answer:
            await answer.content.readany()
            worker.process.terminate()
            await asyncio.sleep(0.3)
            assert worker.process.returncode is None
            worker.process.terminate()
            assert await worker.ended() == 0
        await gone(worker.pids)


async def test_it_can_be_stopped_while_it_loads(start: Start) -> None:
    async with start(load_s=60) as worker:
        while not worker.pids_file.exists() or len(worker.pids_file.read_text().split()) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        worker.process.terminate()
        assert await worker.ended() == 0
        await gone(worker.pids)


async def test_a_server_that_cannot_load_is_told(start: Start) -> None:
    async with start(fails_with=7) as worker:
        assert await worker.ended() == 1
        assert "vLLM ended with exit code 7 before it could serve /models/m" in worker.log.read_text()
        await gone(worker.pids)


async def test_a_server_that_is_killed_is_told_and_its_engine_goes_too(start: Start) -> None:
    """W10, W11: whoever started the worker starts it again."""
    async with start() as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        server, engine = worker.pids
        os.kill(server, signal.SIGKILL)
        assert await worker.ended() == 1
        assert "vLLM was killed by SIGKILL while serving /models/m" in worker.log.read_text()
        await gone([server, engine])


async def test_a_worker_that_is_killed_takes_its_server_along(start: Start) -> None:
    async with start() as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        worker.process.kill()
        await worker.process.wait()
        await gone(worker.pids[:1])


async def test_it_leaves_no_folder_and_sweeps_those_of_killed_ones(start: Start) -> None:
    async with start() as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        (left,) = worker.folders
        worker.process.kill()
        await worker.process.wait()
        await gone(worker.pids[:1])
        assert worker.folders == [left], "a killed process cleans nothing up"
    async with start() as worker, aiohttp.ClientSession() as http:
        await worker.ready(http)
        (used,) = worker.folders
        assert used != left
        async with start() as other:
            await other.ready(http)
            assert used in other.folders, "somebody uses it"
            assert len(other.folders) == 2
            other.process.send_signal(signal.SIGHUP)
            assert await other.ended() == 0
        assert worker.folders == [used]
        worker.process.terminate()
        assert await worker.ended() == 0
        assert worker.folders == []


async def test_a_port_in_use_is_named_before_anything_is_loaded(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with start({"port": taken.getsockname()[1]}) as worker:
            assert await worker.ended() == 1
            assert "cannot listen on 127.0.0.1" in worker.log.read_text()
            assert not worker.pids_file.exists()
