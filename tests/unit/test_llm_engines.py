"""Which engine serves the language model, and how vLLM is started. No engine runs here."""

import importlib.util
import sys

import pytest
from pydantic import SecretStr

from gpu_workers.errors import ModelError
from gpu_workers.llm import engine_of
from gpu_workers.llm.vllm import command, environment, run
from gpu_workers.settings import LlmSettings

GPU = LlmSettings(
    device="cuda:1",
    model="Qwen/Qwen2.5-7B-Instruct-AWQ",
    host="0.0.0.0",
    port=9000,
    context_tokens=8192,
    parallel=32,
    extra_args=("--quantization", "awq_marlin"),
    api_key=SecretStr("s3cret-key"),
)


@pytest.mark.parametrize(
    ("settings", "engine"),
    [
        (LlmSettings(), "llama"),
        (LlmSettings(device="cuda:0"), "vllm"),
        (LlmSettings(device="cuda:0", engine="llama"), "llama"),
        (LlmSettings(engine="vllm"), "vllm"),
    ],
)
def test_the_device_chooses_the_engine_unless_it_is_set(settings: LlmSettings, engine: str) -> None:
    assert engine_of(settings) == engine


def test_vllm_is_started_with_what_is_set() -> None:
    line = list(command(GPU))
    assert line[:3] == [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    given = dict(zip(line[3:-2:2], line[4:-2:2], strict=True))
    assert given == {
        "--model": "Qwen/Qwen2.5-7B-Instruct-AWQ",
        "--served-model-name": "Qwen/Qwen2.5-7B-Instruct-AWQ",
        "--host": "0.0.0.0",
        "--port": "9000",
        "--max-model-len": "8192",
        "--max-num-seqs": "32",
    }
    assert line[-2:] == ["--quantization", "awq_marlin"]


def test_the_key_is_not_on_the_command_line() -> None:
    assert not any("s3cret-key" in part for part in command(GPU))
    assert environment(GPU) == {"VLLM_API_KEY": "s3cret-key"}


@pytest.mark.parametrize("model", ["qwen2.5-1.5b", "/models/some.gguf"])
def test_a_model_of_llama_is_not_given_to_vllm(model: str) -> None:
    with pytest.raises(ModelError, match=r"for llama\.cpp; for vLLM set workers\.llm\.model"):
        command(LlmSettings(device="cuda:0", model=model))


def test_a_missing_vllm_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install 'voicebot\[llm-gpu\]'"):
        run(GPU)
