"""What our API before llama.cpp costs: the same request to it and to llama.cpp's own server behind it, in turn.

    python -m benchmarks.llm_front [--rounds 40] [--model smollm2-135m]

The smallest model and a prompt that is known already: little else is in the time to the first token. And how long a
request runs on in the engine when its caller has left.
"""

import argparse
import asyncio
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import uvicorn
from pydantic import SecretStr

from gpu_workers.llm.chat_api import routes
from gpu_workers.llm.line import MAX_BODY, Line
from gpu_workers.llm.llama_engine import LlamaEngine
from gpu_workers.models import fetch
from gpu_workers.serving import create_app
from gpu_workers.settings import LlmSettings
from gpu_workers.status import Metrics, Status
from voicebot.cache import default_cache_dir

PROMPT = "You answer the telephone of a bicycle shop. Answer with one short sentence."
LEAVE_AFTER_S = 0.3


@asynccontextmanager
async def both(model: str) -> AsyncIterator[dict[str, tuple[str, SecretStr]]]:
    """The addresses and keys of llama.cpp's server ("alone") and of our API before it ("ours")."""
    settings = LlmSettings(model=model, context_tokens=2048, parallel=1, threads=1)
    engine, line, key = LlamaEngine(settings), Line(1, 4), SecretStr("benchmark")
    status = Status("llm", model, "cpu", lambda: line.waiting)
    weights = fetch(model, default_cache_dir(), print).path

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        async with engine.started(weights, Path("/nonexistent")):
            yield

    app = create_app(status, Metrics(status), routes(line, engine, model, 2048), living, key, MAX_BODY)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))
        task = asyncio.create_task(server._serve([listening]))
        try:
            while status.refusal() is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            ours = f"http://127.0.0.1:{listening.getsockname()[1]}"
            yield {"alone": (engine.url, engine.key), "ours": (ours, key)}
        finally:
            server.should_exit = True
            await task


async def first_token_s(
    http: aiohttp.ClientSession, url: str, key: SecretStr, asked: Mapping[str, Any]
) -> float:
    began = time.perf_counter()
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"}
    async with http.post(f"{url}/v1/chat/completions", json=asked, headers=headers) as answer:
        seen = b""
        while b'"content":"' not in seen:
            seen += await answer.content.readany()
        took = time.perf_counter() - began
        await answer.read()
    return took


async def runs_on_s(
    http: aiohttp.ClientSession,
    url: str,
    key: SecretStr,
    engine: tuple[str, SecretStr],
    asked: Mapping[str, Any],
) -> float:
    """From the moment its caller leaves until the engine says that nothing runs."""
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"}
    asking = asyncio.create_task(
        http.post(f"{url}/v1/chat/completions", json=asked, headers=headers).__aenter__()
    )
    await asyncio.sleep(LEAVE_AFTER_S)
    if asking.done():
        (await asking).close()
    asking.cancel()
    left = time.perf_counter()
    base, engine_key = engine
    while True:
        headers = {"Authorization": f"Bearer {engine_key.get_secret_value()}"}
        async with http.get(f"{base}/metrics", headers=headers) as metrics:
            if "llamacpp:requests_processing 0" in await metrics.text():
                return time.perf_counter() - left
        await asyncio.sleep(0.005)


async def main(rounds: int, model: str) -> None:
    talk = [{"role": "system", "content": PROMPT}, {"role": "user", "content": "Hello?"}]
    asked = {"messages": talk, "max_tokens": 4, "temperature": 0, "stream": True}
    connector = aiohttp.TCPConnector(force_close=True)
    async with both(model) as servers, aiohttp.ClientSession(connector=connector) as http:
        took: dict[str, list[float]] = {name: [] for name in servers}
        for number in range(rounds + 2):
            for name, (url, key) in servers.items():
                seconds = await first_token_s(http, url, key, asked)
                if number >= 2:
                    took[name].append(seconds)
        left: dict[str, float] = {}
        for what, stream in (("prompt", True), ("whole", False)):
            for name, (url, key) in reversed(servers.items()):
                text = " ".join(f"{name} {what} bicycle number {number}." for number in range(60))
                asked = {"messages": [{"role": "user", "content": text}], "max_tokens": 100, "stream": stream}
                left[f"{what}_{name}_s"] = await runs_on_s(http, url, key, servers["alone"], asked)
    middle = {name: median(seconds) * 1000 for name, seconds in took.items()}
    print(
        "RESULT", f"first_token_ms={middle['ours']:.1f}", f"alone_ms={middle['alone']:.1f}",
        f"ratio={middle['ours'] / middle['alone']:.3f}",
        *(f"left_{name}={seconds:.2f}" for name, seconds in left.items()),
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--model", default="smollm2-135m")
    given = parser.parse_args()
    asyncio.run(main(given.rounds, given.model))
