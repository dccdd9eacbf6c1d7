"""The three that are measured, each with the same model on the same device: ours as its own process behind HTTP,
faster-whisper called one utterance at a time, and its batched pipeline. The latter two get their samples for nothing:
no HTTP, no decoding of a WAV file."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from socket import SOCK_STREAM
from typing import Any, Final

import aiohttp
import yaml
from faster_whisper import BatchedInferencePipeline, WhisperModel  # type: ignore[import-untyped]

from benchmarks.stt_clips import RATE, Clip
from gpu_workers.client import SttClient, health
from gpu_workers.client.link import Limits
from gpu_workers.client.stt import wav_file
from gpu_workers.models import fetch
from gpu_workers.stt.audio import samples_of
from tests.support.rig import free_ports
from voicebot.cache import default_cache_dir

LANGUAGE: Final = "en"
_READY_S: Final = 300
# who hangs up at the end of a step is no sign of a fault either
_PATIENCE: Final = Limits(silence_s=600.0, total_s=600.0, late_s=600.0)
_calls = count()


@dataclass(frozen=True)
class Setting:
    """What the three share, and what only ours has (`threads`, `copies`)."""

    model: str
    device: str
    compute_type: str
    threads: int
    copies: int


class Ours:
    """The worker over HTTP."""

    name = "ours"

    def __init__(self, client: SttClient) -> None:
        self._client = client

    async def hear(self, clip: Clip) -> str:
        heard = await self._client.transcribe(
            clip.pcm, RATE, priority="final", deadline_ms=None, call_id=f"b{next(_calls)}", language=LANGUAGE
        )
        return heard.text


class OneAtATime:
    """faster-whisper with its own defaults; whoever comes while it works waits for it, first come, first served."""

    def __init__(self, name: str, transcribe: Callable[..., Any]) -> None:
        self.name = name
        self._transcribe = transcribe
        self._turn = ThreadPoolExecutor(1)

    async def hear(self, clip: Clip) -> str:
        samples = samples_of(wav_file(clip.pcm, RATE))
        return await asyncio.get_running_loop().run_in_executor(self._turn, self._text, samples)

    def _text(self, samples: Any) -> str:
        segments, _ = self._transcribe(samples, language=LANGUAGE)
        return " ".join(segment.text.strip() for segment in segments)


Subject = Ours | OneAtATime


def peers(setting: Setting) -> list[OneAtATime]:
    """faster-whisper and its batched pipeline, with its own number of threads."""
    files = fetch(setting.model, default_cache_dir(), print)
    on_gpu = setting.device.startswith("cuda")
    model = WhisperModel(
        str(files.path),
        device="cuda" if on_gpu else "cpu",
        device_index=int(setting.device.partition(":")[2] or 0) if on_gpu else 0,
        compute_type=setting.compute_type,
    )
    batched = BatchedInferencePipeline(model)
    return [OneAtATime("faster-whisper", model.transcribe), OneAtATime("batched", batched.transcribe)]


@asynccontextmanager
async def our_worker(setting: Setting) -> AsyncIterator[Ours]:
    """`voicebot worker stt`, until it is left."""
    (port,) = free_ports(1, SOCK_STREAM)
    stt = {
        "port": port,
        "model": setting.model,
        "device": setting.device,
        "compute_type": setting.compute_type,
        "threads": setting.threads,
        "copies": setting.copies,
    }
    with tempfile.TemporaryDirectory(prefix="voicebot-bench-") as folder:
        file = Path(folder) / "voicebot.yaml"
        file.write_text(yaml.safe_dump({"workers": {"stt": stt}}), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "voicebot", "worker", "stt", "-c", str(file), env=dict(os.environ)
        )
        try:
            url = f"http://127.0.0.1:{port}"
            await _until_ready(url, process)
            async with SttClient(url, limits=_PATIENCE) as client:
                yield Ours(client)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _until_ready(url: str, process: asyncio.subprocess.Process) -> None:
    async with aiohttp.ClientSession() as http, asyncio.timeout(_READY_S):
        while not (await health(http, url)).ready:
            if process.returncode is not None:
                raise RuntimeError("the worker ended before it was ready; its log stands above")
            await asyncio.sleep(0.1)
