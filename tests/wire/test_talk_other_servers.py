"""Workers that are other servers of the same API: what they ask of a request, and which models they serve."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from gpu_workers.client import Asked, health, worker_session
from tests.support.fake_workers import FakeLlm, FakeWorkers, fake_workers, served
from tests.support.talk import GREETING, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

NAMED = {
    "stt": {"model": "whisper-1"},
    "llm": {"model": "brain"},
    "tts": {"model": "tts-1", "voice": "alloy"},
}


def strict(workers: FakeWorkers) -> None:
    """As OpenAI's own server: each request names its model, and the voice."""
    workers.stt.wants = workers.llm.wants = ("model",)
    workers.tts.wants = ("model", "voice")
    for worker, model in ((workers.stt, "whisper-1"), (workers.llm, "brain"), (workers.tts, "tts-1")):
        worker.listed = [{"id": model, "owned_by": "system"}]


async def parts(scene: Scene) -> dict[str, str]:
    async with scene.http.get(f"{scene.web}/ready") as answer:
        said: dict[str, str] = (await answer.json())["parts"]
        return said


def test_a_server_that_wants_model_and_voice_named_serves_a_whole_call(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(prepare=strict, named=NAMED) as scene:
            await scene.until_said(GREETING)
            await scene.ask("What does it cost?", "Nineteen dollars.")
            await scene.until_heard("Nineteen dollars.")
            workers = scene.workers
            assert {request.model for request in workers.stt.requests} == {"whisper-1"}
            assert {request["model"] for request in workers.llm.requests} == {"brain"}
            assert {spoken.voice for spoken in workers.tts.spoken} == {"alloy"}

    virtual_time(main())


def test_of_a_server_elsewhere_nothing_is_named_that_is_not_written(virtual_time: RunVirtual) -> None:
    """The names of our own defaults would be refused by one that serves another model."""

    async def main() -> None:
        async with talk() as scene:
            await scene.until_said(GREETING)
            await scene.ask("What does it cost?", "Nineteen dollars.")
            await scene.until(lambda: scene.workers.llm.requests)
            workers = scene.workers
            assert {request.model for request in workers.stt.requests} == {None}
            assert all("model" not in request for request in workers.llm.requests)
            assert {spoken.voice for spoken in workers.tts.spoken} == {None}

    virtual_time(main())


def test_a_worker_that_serves_another_model_is_not_ready_and_the_log_says_it_once(
    virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with (
            fake_workers() as workers,
            talk(workers=workers, named={"llm": {"model": "brain"}}, prepare=well) as scene,
        ):
            await scene.until_said(GREETING)
            assert (await parts(scene))["llm"] == "ready"
            workers.llm.model = "qwen2.5-7b"
            await scene.until(lambda: caplog.records)
            what = (
                f"{workers.llm_url} serves qwen2.5-7b and is asked for brain: write what it serves as"
                " workers.llm.model"
            )
            await asyncio.sleep(10)
            assert (await parts(scene))["llm"] == what
            assert caplog.messages.count(what) == 1

    def well(workers: FakeWorkers) -> None:
        workers.llm.model = "/srv/models/brain"

    caplog.set_level(logging.WARNING)
    virtual_time(main())


@pytest.mark.parametrize(
    ("model", "listed", "ready", "unserved"),
    [
        ("brain", None, True, False),  # ours, by its name
        ("/models/brain", None, True, False),  # ours, by its path
        ("other", None, False, True),
        (None, [("brain", "vllm"), ("tail", "vllm")], True, False),
        (None, [("other", "vllm")], False, True),
        (None, [("other", "llamacpp")], True, True),  # it takes any name
        (None, [], True, False),
    ],
)
async def test_who_is_sure_to_refuse_the_name_is_not_ready(
    model: str | None, listed: list[tuple[str, str]] | None, ready: bool, unserved: bool
) -> None:
    worker = FakeLlm(model=model)
    worker.listed = None if listed is None else [{"id": name, "owned_by": owner} for name, owner in listed]
    async with served(worker, "/v1/chat/completions") as url, worker_session() as session:
        found = await health(session, url, asked=Asked("llm", "brain", "workers.llm.model"))
        assert (found.ready, bool(found.unserved)) == (ready, unserved)
        assert (await health(session, url)).ready
        if unserved:
            assert found.unserved == (
                f"{url} serves other and is asked for brain: write what it serves as workers.llm.model"
            )
