"""The worker with llama.cpp: our own API before it, its server in a child process."""

import asyncio
import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from prometheus_client import Gauge

from gpu_workers.errors import ModelError
from gpu_workers.llm.chat_api import routes
from gpu_workers.llm.line import MAX_BODY, Line
from gpu_workers.llm.llama_engine import LlamaEngine
from gpu_workers.llm.warm import SlotStates
from gpu_workers.models import fetch
from gpu_workers.serving import create_app, in_daemon_thread, run_app
from gpu_workers.settings import LlmSettings
from gpu_workers.status import Metrics, Phase, Status


def run(settings: LlmSettings, cache_dir: Path) -> None:
    """Serves until SIGTERM or Ctrl-C. Raises ModelError, also when llama.cpp ends by itself."""
    app, status = app_of(settings, cache_dir)
    run_app(app, settings, status)


def app_of(settings: LlmSettings, cache_dir: Path) -> tuple[FastAPI, Status]:
    """The ASGI app, which loads its model when it is started, and what it tells of itself."""
    line, engine = Line(settings.parallel, settings.queue_limit), LlamaEngine(settings)
    status = Status("llm", settings.model, settings.device, lambda: line.waiting, settings.max_calls)
    metrics = Metrics(status, engine.metrics)
    running = Gauge("voicebot_llm_running", "Answers that are being written.", registry=metrics.registry)
    running.set_function(lambda: line.running)

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        model, states = await in_daemon_thread(lambda: _prepare(settings, cache_dir, status))
        status.say(f"loading {settings.model} on {settings.device}")
        async with engine.started(model, states.folder):
            if settings.warm_talks:
                status.say("reading what talks begin with")
                await in_daemon_thread(lambda: _warm(states, engine, settings))
            watching = asyncio.create_task(_watch(engine, status))
            try:
                yield
            finally:
                watching.cancel()
                await asyncio.wait({watching})

    router = routes(line, engine, settings.model, settings.context_tokens)
    return create_app(status, metrics, router, living, settings.api_key, MAX_BODY), status


def _prepare(settings: LlmSettings, cache_dir: Path, status: Status) -> tuple[Path, SlotStates]:
    try:
        version = importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelError("xllamacpp is not installed; run: pip install 'voicebot[llm-cpu]'") from error
    model = fetch(settings.model, cache_dir, status.say).path
    if model.is_dir():
        raise ModelError(f"workers.llm.model is a folder ({model}); llama.cpp wants a .gguf file")
    layout = f"{version} {settings.context_tokens} {settings.parallel} {settings.device}"
    return model, SlotStates(cache_dir / "llm-prompts", model, layout)


def _warm(states: SlotStates, engine: LlamaEngine, settings: LlmSettings) -> None:
    states.prepare(engine.url, settings.warm_talks, engine.key)
    states.restore(engine.url, settings.warm_talks, settings.parallel, engine.key)


async def _watch(engine: LlamaEngine, status: Status) -> None:
    """Its end is ours: whoever started the worker starts it again."""
    status.enter(Phase.FAILED, await engine.failed())
