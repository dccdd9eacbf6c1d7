"""Our programs take no modules from the folder they are started in: anybody may have written there."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

import pytest
from pydantic import SecretStr

import gpu_workers
import voicebot
from gpu_workers.errors import ModelError
from gpu_workers.llm.llama_engine import LlamaEngine
from gpu_workers.settings import LlmSettings
from voicebot.call_process import call_children
from voicebot.config import parse
from voicebot.errors import PartError
from voicebot.fetch_child import fetch_missing

PLANTED = ("yaml", "voicebot", "gpu_workers", "asyncio", "pydantic", "signal", "xllamacpp", "json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_call_process_takes_none(folder: Path) -> None:
    config = parse(json.dumps({"ari": {"password": "x"}}), "test.yaml", {})
    (child,) = call_children(config, folder / "none.yaml", None, lambda _: None)
    ended = subprocess.run(child.command, capture_output=True, text=True, check=False)
    assert (ended.returncode, (folder / "ran").exists()) == (2, False)
    assert "none.yaml" in ended.stderr


async def test_nor_what_fetches(folder: Path) -> None:
    with pytest.raises(PartError, match=r"none\.yaml"):
        await fetch_missing(folder / "none.yaml", lambda _: None)
    assert not (folder / "ran").exists()


async def test_nor_the_process_of_llama_cpp(folder: Path) -> None:
    engine = LlamaEngine(LlmSettings(model="x", threads=1))
    engine.key = SecretStr("key")
    with pytest.raises(ModelError):
        async with asyncio.timeout(60), engine.started(folder / "none.gguf", folder):
            pass
    assert not (folder / "ran").exists()


def test_nor_any_other_python_of_ours() -> None:
    started = [
        found
        for package in (voicebot, gpu_workers)
        for path in Path(str(package.__file__)).parent.rglob("*.py")
        for found in re.findall(r'sys\.executable, ("-[^"]+")', path.read_text())
    ]
    assert len(started) >= 5
    assert set(started) == {'"-P"', '"-I"'}
