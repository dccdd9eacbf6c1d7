"""`voicebot worker llm` with vLLM itself, as `make test-vllm` has prepared it. No part of `make test`."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from gpu_workers.client import health
from tests.vllm import prepare

KEY = "s3cret-key"
PARALLEL, WAITING, CONTEXT = 4, 8, 2048
# longer than a block of the CPU's prefix cache, which has 128 tokens
PROMPT = "You answer the telephone of Lakeside Bikes, a bicycle shop. " + " ".join(
    f"The bicycle number {number} costs {number * 7 + 90} dollars and is painted in colour {number % 5}."
    for number in range(1, 31)
)
START_S = 300  # read from a cold disk on a busy machine


@dataclass(frozen=True)
class Worker:
    """`statuses`: what POST /v1/chat/completions said while it came up."""

    url: str
    model: str
    process: asyncio.subprocess.Process
    log: Path
    statuses: list[int]

    async def metric(self, name: str) -> float:
        """Of vLLM's own; summed over its labels."""
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"vllm:{name}{{")]
        assert found, f"vLLM has no metric {name}"
        return sum(found)

    async def idle(self, within_s: float) -> None:
        """Until no request runs or waits."""
        async with asyncio.timeout(within_s):
            while await self.metric("num_requests_running") + await self.metric("num_requests_waiting"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    def children(self) -> list[int]:
        """Process ids of what it has started, directly or not."""
        return _below(self.process.pid)


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[Worker]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    model = str(prepare.model())
    config, log = folder / "voicebot.yaml", folder / "llm.log"
    llm = {
        "engine": "vllm", "python": str(prepare.python()), "model": model, "port": port, "api_key": KEY,
        "context_tokens": CONTEXT, "parallel": PARALLEL, "queue_limit": WAITING,
    }  # fmt: skip
    profile = {"prompt": PROMPT, "greeting": "Lakeside Bikes, hello."}
    config.write_text(json.dumps({"workers": {"llm": llm}, "profiles": {"default": profile}}))
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "voicebot", "worker", "llm", "-c", str(config),
            stdout=output, stderr=output, env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
    worker = Worker(f"http://127.0.0.1:{port}", model, process, log, [])
    try:
        await _until_ready(worker)
        yield worker
    finally:
        left = worker.children()
        for pid in [process.pid, *left]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()


async def _until_ready(worker: Worker) -> None:
    asked = {"model": worker.model, "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 1}
    headers = {"Authorization": f"Bearer {KEY}"}
    async with aiohttp.ClientSession(headers=headers) as http, asyncio.timeout(START_S):
        while not (await health(http, worker.url)).ready:
            assert worker.process.returncode is None, worker.log.read_text()[-3000:]
            with contextlib.suppress(aiohttp.ClientError):
                async with http.post(f"{worker.url}/v1/chat/completions", json=asked) as answer:
                    worker.statuses.append(answer.status)
            await asyncio.sleep(0.1)


def _below(parent: int) -> list[int]:
    with contextlib.suppress(OSError):
        direct = [
            int(pid)
            for task in Path(f"/proc/{parent}/task").iterdir()
            for pid in (task / "children").read_text().split()
        ]
        return direct + [one for pid in direct for one in _below(pid)]
    return []


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def session_loop() -> AsyncIterator[None]:
    """Made before any test looks which descriptors it leaves open."""
    yield


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def worker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worker]:
    async with started(tmp_path_factory.mktemp("vllm")) as running:
        yield running
