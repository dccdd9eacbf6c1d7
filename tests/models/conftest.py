"""Real models, fetched once into the user's cache (about 630 MB), and workers as the processes they are."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from gpu_workers.client import health
from gpu_workers.models import fetch
from gpu_workers.stt.whisper import WhisperRecogniser
from gpu_workers.tts.piper import PiperSpeech
from voicebot.cache import default_cache_dir

# what `voicebot worker KIND` does, without a configuration file
PROGRAM = """
import importlib, json, logging, pathlib, sys
logging.basicConfig(level=logging.INFO)
kind, settings, cache = sys.argv[1:]
name = {"stt": "SttSettings", "tts": "TtsSettings", "llm": "LlmSettings"}[kind]
settings = getattr(importlib.import_module("gpu_workers.settings"), name)(**json.loads(settings))
importlib.import_module("gpu_workers." + kind).serve(settings, pathlib.Path(cache))
"""
_START_S = 60


@dataclass(frozen=True)
class WorkerProcess:
    url: str
    process: asyncio.subprocess.Process

    async def stop(self) -> int:
        """SIGTERM; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), 30)


StartWorker = Callable[..., AbstractAsyncContextManager[WorkerProcess]]


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    return default_cache_dir()


@pytest.fixture(scope="session")
def whisper(cache_dir: Path) -> WhisperRecogniser:
    files = fetch("whisper-tiny.en", cache_dir, print)
    return WhisperRecogniser(files.path, "cpu", "int8", threads=1, copies=1)


@pytest.fixture(scope="session")
def piper(cache_dir: Path) -> PiperSpeech:
    files = fetch("joe", cache_dir, print)
    return PiperSpeech("joe", files.path, "cpu", threads=1)


@pytest.fixture
def start_worker(cache_dir: Path) -> StartWorker:
    @asynccontextmanager
    async def start(kind: str, cache: Path = cache_dir, **settings: object) -> AsyncIterator[WorkerProcess]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            settings.setdefault("port", free.getsockname()[1])
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, kind, json.dumps(settings), str(cache),
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        worker = WorkerProcess(f"http://127.0.0.1:{settings['port']}", process)
        try:
            await _until_ready(worker)
            yield worker
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    return start


async def _until_ready(worker: WorkerProcess) -> None:
    async with aiohttp.ClientSession() as http, asyncio.timeout(_START_S):
        while not (await health(http, worker.url)).ready:
            assert worker.process.returncode is None, "the worker ended before it was ready"
            await asyncio.sleep(0.05)


async def decoded(http: aiohttp.ClientSession, worker: WorkerProcess) -> tuple[int, int]:
    """Batches that were begun, and the utterances in them."""
    async with http.get(f"{worker.url}/metrics") as metrics:
        lines = (await metrics.text()).splitlines()
    counted = dict(line.split() for line in lines if line.startswith("voicebot_stt_batch_"))
    return int(float(counted["voicebot_stt_batch_count"])), int(float(counted["voicebot_stt_batch_sum"]))


async def begun(http: aiohttp.ClientSession, worker: WorkerProcess) -> None:
    async with asyncio.timeout(20):
        while not (await decoded(http, worker))[0]:  # noqa: ASYNC110 - what is waited for happens in the process
            await asyncio.sleep(0.02)
