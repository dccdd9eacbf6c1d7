"""The README's curl and Python lines, as they stand there, against real workers. vLLM's environment has the client."""

import asyncio
import os
import re
import shutil
import wave
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.models.conftest import StartWorker, cache_dir, start_worker
from tests.vllm import prepare

__all__ = ["cache_dir", "start_worker"]  # fixtures

ROOT = Path(__file__).parents[2]
CLIP = ROOT / "tests" / "data" / "speech" / "price01.wav"
WORKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "8101": ("stt", {"model": "whisper-tiny.en"}),
    "8102": ("llm", {"model": "smollm2-135m", "context_tokens": 1024, "parallel": 1}),
    "8103": ("tts", {}),
}
MODELS = {"whisper-base": "whisper-tiny.en", "qwen2.5-1.5b": "smollm2-135m"}


def block(language: str) -> str:
    section = (ROOT / "README.md").read_text().partition("## The workers from your own programs")[2]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
async def ports(start_worker: StartWorker) -> AsyncIterator[dict[str, str]]:
    """The README's ports, and those of the workers here."""
    async with AsyncExitStack() as stack:
        found = {}
        for port, (kind, settings) in WORKERS.items():
            worker = await stack.enter_async_context(start_worker(kind, **settings))
            found[port] = worker.url.rpartition(":")[2]
        yield found


async def run(folder: Path, *command: str) -> str:
    shutil.copy(CLIP, folder / "question.wav")
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env={**os.environ, "NO_PROXY": "127.0.0.1"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, errors = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == 0, errors.decode()
    return output.decode()


def here(text: str, ports: dict[str, str]) -> str:
    for old, new in [*ports.items(), *MODELS.items()]:
        assert old in text or old in MODELS
        text = text.replace(old, new)
    return text


def seconds(path: Path) -> float:
    """A WAV that was streamed does not know its length."""
    with wave.open(str(path)) as file:
        return (path.stat().st_size - 44) / (2 * float(file.getframerate()))


async def test_curl(ports: dict[str, str], tmp_path: Path) -> None:
    said = await run(tmp_path, "bash", "-ec", here(block("sh"), ports))
    assert "How much does the monthly plan cost?" in said
    assert re.search(r'"content": ?"[^"]', said), "an answer was written"
    assert 0.4 < seconds(tmp_path / "answer.wav") < 3


async def test_the_openai_client(ports: dict[str, str], tmp_path: Path) -> None:
    said = await run(tmp_path, str(prepare.python()), "-c", here(block("python"), ports))
    assert said.strip(), "an answer was written"
    assert 0.4 < seconds(tmp_path / "answer.wav") < 3
