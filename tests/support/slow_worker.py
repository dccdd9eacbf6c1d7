"""A worker's process of `gpu_workers.serving` whose model is never there, or whose answer never ends.

`python -m tests.support.slow_worker PORT loading|fetching|answering`. `fetching` runs pip, as a first start does.
"""

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from gpu_workers.models.index import _run_pip
from gpu_workers.models.progress import Progress
from gpu_workers.serving import create_app, in_daemon_thread, run_app
from gpu_workers.settings import SttSettings
from gpu_workers.status import Metrics, Status


def main(port: int, how: str) -> None:
    status, router = Status("stt", "m", "cpu", lambda: 0), APIRouter()

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        if how == "loading":
            await in_daemon_thread(threading.Event().wait)
        elif how == "fetching":
            await in_daemon_thread(lambda: _run_pip("nothing", Path.cwd(), 0, Progress("m", 1, print)))
        yield

    @router.post("/v1/answer")
    async def answer(request: Request) -> StreamingResponse:
        async def words() -> AsyncIterator[bytes]:
            yield b"One "
            while (await request.receive())["type"] != "http.disconnect":
                pass

        return StreamingResponse(words())

    app = create_app(status, Metrics(status), router, living, None, 1000)
    run_app(app, SttSettings(port=port), status)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
