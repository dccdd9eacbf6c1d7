"""What vLLM's server does to its parent, without a model: it loads, serves, has an engine for a child, drains, dies.

FAKE_VLLM says how: {"load_s": ..., "warm_s": ..., "word_s": ..., "fails_with": ...}. While it drains it listens, and
answers a new request with nothing, as vLLM does.
"""

import argparse
import asyncio
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

HOW: dict[str, Any] = json.loads(os.environ.get("FAKE_VLLM", "{}"))


class Server(uvicorn.Server):
    """`answering`: how many answers are being written."""

    answering = 0
    drains = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.drains = True

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or (self.drains and not self.answering)


def app(server: Callable[[], Server]) -> FastAPI:
    made = FastAPI()
    asked: list[Any] = []

    @made.get("/health")
    async def health() -> Response:
        return Response()

    @made.get("/v1/models")
    async def models() -> JSONResponse:
        return JSONResponse({"data": []})

    @made.get("/v1/asked")
    async def what_was_asked() -> JSONResponse:
        return JSONResponse(asked)

    @made.get("/metrics")
    async def metrics() -> Response:
        return Response("vllm:num_requests_running 0\n")

    # vLLM has the second one too, and asks for its key below /v1, /v2, /inference and /cohere only
    @made.post("/v1/chat/completions")
    @made.post("/invocations")
    async def chat(request: Request) -> Response:
        body = await request.json()
        asked.append(body)
        await asyncio.sleep(HOW.get("warm_s", 0.0))

        async def pieces() -> AsyncIterator[bytes]:
            if server().drains:
                yield b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\ndata: [DONE]\n\n'
                return
            server().answering += 1
            try:
                async for piece in whole():
                    yield piece
            finally:
                server().answering -= 1

        async def whole() -> AsyncIterator[bytes]:
            for word in ("One ", "two ", "three."):
                yield b"data: " + json.dumps({"choices": [{"delta": {"content": word}}]}).encode() + b"\n\n"
                await asyncio.sleep(0 if body.get("max_tokens") == 1 else HOW.get("word_s", 0.0))
            yield b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'

        return StreamingResponse(pieces(), media_type="text/event-stream")

    return made


def main() -> None:
    given = argparse.ArgumentParser()
    for flag in ("--host", "--port", "--middleware"):
        given.add_argument(flag)
    chosen, _ = given.parse_known_args()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as engine:
        Path(HOW["pids"]).write_text(f"{os.getpid()} {engine.pid}", encoding="ascii")
        time.sleep(HOW.get("load_s", 0.0))
        if "fails_with" in HOW:
            os._exit(HOW["fails_with"])  # and leaves its engine behind
        made = app(lambda: server)
        module, _, name = chosen.middleware.rpartition(".")
        made.add_middleware(getattr(importlib.import_module(module), name))
        config = uvicorn.Config(made, host=chosen.host, port=int(chosen.port), log_level="warning")
        server = Server(config)
        server.run()
        engine.kill()


if __name__ == "__main__":
    main()
