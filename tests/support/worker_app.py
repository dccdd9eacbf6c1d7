"""An STT and a TTS worker in the test's own process, over HTTP on loopback; only the models are fakes."""

import asyncio
import io
import socket
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import numpy as np
import uvicorn
from fastapi import APIRouter, FastAPI
from pydantic import SecretStr

from gpu_workers.errors import RequestError
from gpu_workers.serving import config_of, create_app
from gpu_workers.status import Metrics, Phase, Status
from gpu_workers.stt import api as stt_api
from gpu_workers.stt.line import Priority
from gpu_workers.stt.scheduler import Scheduler, Transcript, Utterance
from gpu_workers.tts import api as tts_api
from gpu_workers.tts.speaker import Speaker
from gpu_workers.tts.voices import Voices
from tests.support.fake_models import FakeRecogniser, FakeVoice

KEY = SecretStr("s3cret-key")
BEARER = {"Authorization": "Bearer s3cret-key"}
PCM = np.full(8000, 1000, "<i2").tobytes()


@dataclass
class Worker:
    """A worker that runs in this test."""

    url: str
    http: aiohttp.ClientSession
    status: Status
    scheduler: Scheduler
    model: FakeRecogniser
    voice: FakeVoice
    speaker: Speaker

    async def post_wav(self, body: bytes, **fields: str) -> tuple[int, Any]:
        form = aiohttp.FormData()
        form.add_field("file", io.BytesIO(body), filename="a.wav")
        for name, value in fields.items():
            form.add_field(name, value)
        url = f"{self.url}/v1/audio/transcriptions"
        async with self.http.post(url, data=form, headers=BEARER) as answer:
            return answer.status, await answer.json()

    async def speech(self, **asked: Any) -> tuple[int, bytes, Any]:
        async with self.http.post(f"{self.url}/v1/audio/speech", json=asked, headers=BEARER) as answer:
            return answer.status, await answer.read(), answer.headers


class Service:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    async def submit(
        self, utterance: Utterance, priority: Priority, deadline_s: float | None, call_id: str | None
    ) -> Transcript:
        return await self._scheduler.submit(utterance, priority, deadline_s, call_id)

    def check_language(self, language: str | None) -> None:
        if language == "xx":
            raise RequestError(400, "unknown language 'xx'", code="invalid_language", param="language")


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    with listening:
        server = uvicorn.Server(config_of(app))
        # its signal handlers are not wanted here
        task = asyncio.create_task(server._serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


@asynccontextmanager
async def a_worker(
    loaded: asyncio.Event, *, max_body: int = 1 << 20, queue_limit: int = 8
) -> AsyncIterator[Worker]:
    model, voice = FakeRecogniser(), FakeVoice()
    scheduler, speaker = Scheduler(queue_limit), Speaker(queue_limit)
    status = Status("stt", "fake-model", "cpu", lambda: scheduler.waiting)
    router = APIRouter()
    router.include_router(stt_api.routes(Service(scheduler), "fake-model", "en"))
    router.include_router(tts_api.routes(speaker))

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        await loaded.wait()
        async with scheduler.running(model, 1), speaker.running(Voices([voice, FakeVoice(name="other")]), 1):
            yield

    app = create_app(status, Metrics(status), router, living, KEY, max_body)
    async with aiohttp.ClientSession() as http, serving(app) as url:
        yield Worker(url, http, status, scheduler, model, voice, speaker)


@asynccontextmanager
async def a_ready_worker(*, max_body: int = 1 << 20, queue_limit: int = 8) -> AsyncIterator[Worker]:
    loaded = asyncio.Event()
    loaded.set()
    async with a_worker(loaded, max_body=max_body, queue_limit=queue_limit) as running:
        await eventually(lambda: running.status.phase is Phase.READY)
        yield running


def wav(pcm: bytes = PCM, rate: int = 8000, channels: int = 1, width: int = 2) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(pcm)
    return out.getvalue()


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in the server
            await asyncio.sleep(0.005)
