"""Each worker against its own OpenAPI description: any request, as described or not, gets an answer as described.

The server is the real one, the models behind it are fakes. vLLM describes itself.
"""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
import uvicorn
from fastapi import APIRouter, FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok

from gpu_workers.errors import RequestError
from gpu_workers.llm import chat_api
from gpu_workers.llm.line import Line
from gpu_workers.serving import create_app
from gpu_workers.status import Metrics, Phase, Status
from gpu_workers.stt import api as stt_api
from gpu_workers.stt.line import Priority
from gpu_workers.stt.scheduler import Scheduler, Transcript, Utterance
from gpu_workers.tts import api as tts_api
from gpu_workers.tts.speaker import Speaker
from gpu_workers.tts.voices import Voices
from tests.support.fake_engine import FakeEngine
from tests.support.fake_models import FakeVoice

EXAMPLES = 80
START_S = 20.0

# a file that is no WAV, a text without a word and a language nobody knows are refused for what no schema can say
load_all_checks()
CHECKED = [CHECKS.get_one(name) for name in CHECKS.get_all_names() if name != "positive_data_acceptance"]


class Echo:
    """A recogniser that has heard its prompt."""

    batch_limit = 4

    def window_s(self, length_s: float) -> float:
        return length_s

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]:
        return [Transcript(one.prompt, one.language or "en", one.length_s, 0, 0) for one in batch]


class Service:
    """The STT worker's, less the loading of a model."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    async def submit(
        self, utterance: Utterance, priority: Priority, deadline_s: float | None, call_id: str | None
    ) -> Transcript:
        return await self._scheduler.submit(utterance, priority, deadline_s, call_id)

    def check_language(self, language: str | None) -> None:
        if language not in {None, "en", "de"}:
            raise RequestError(400, "unknown language", code="invalid_language", param="language")


@dataclass
class Worker:
    url: str
    status: Status


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """In a thread of its own: what calls it is not asynchronous."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))
        thread = threading.Thread(target=lambda: asyncio.run(server._serve([listening])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(params=["stt", "tts", "llm"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    scheduler, speaker = Scheduler(8), Speaker(8)
    routers: dict[str, APIRouter] = {
        "stt": stt_api.routes(Service(scheduler), "fake-model", "en"),
        "tts": tts_api.routes(speaker),
        "llm": chat_api.routes(Line(2, 8), FakeEngine(), "fake", 4096),
    }
    status = Status(request.param, "fake", "cpu", lambda: 0)

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        async with scheduler.running(Echo(), 1), speaker.running(Voices([FakeVoice(1 << 30)]), 1):
            yield

    app = create_app(status, Metrics(status), routers[request.param], living, None, 1 << 20)
    with served(app) as url:
        give_up_at = time.monotonic() + START_S
        while status.phase is not Phase.READY and time.monotonic() < give_up_at:
            time.sleep(0.01)
        yield Worker(url, status)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_any_request_gets_an_answer_as_described(worker: Worker, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{worker.url}/openapi.json")
    asked: dict[str, int] = {}
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def try_one(case: Any) -> None:
            asked[operation.label] = asked.get(operation.label, 0) + 1  # noqa: B023 - called within the loop
            case.call_and_validate(checks=CHECKED)

        if mode is GenerationMode.POSITIVE or operation.method == "post":
            try_one()
    assert worker.status.phase is Phase.READY
    assert any(label.startswith("POST /v1/") and count > EXAMPLES / 2 for label, count in asked.items())
