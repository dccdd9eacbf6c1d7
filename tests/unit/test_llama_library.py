"""llama.cpp on a machine that lacks a library of the system: who starts the worker is told which, and how to get it."""

from pathlib import Path

import pytest

from gpu_workers.errors import ModelError
from gpu_workers.llm.llama_engine import LlamaEngine
from gpu_workers.settings import LlmSettings

MISSING = "libgomp.so.1: cannot open shared object file: No such file or directory"


async def test_a_library_that_the_machine_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({MISSING!r})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ModelError, match=rf"{MISSING}; on Debian or Ubuntu: apt install libgomp1"):
        async with LlamaEngine(LlmSettings()).started(tmp_path / "model.gguf", tmp_path):
            pass
