"""Which engine serves the language model, and how vLLM is started. No engine runs here."""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import SecretStr

from gpu_workers.client import LlmClient
from gpu_workers.devices.plan import LlmPlacement
from gpu_workers.errors import ModelError
from gpu_workers.llm import engine_of
from gpu_workers.llm.vllm import command, environment, flags, unplanned
from gpu_workers.llm.vllm_server import run
from gpu_workers.settings import LlmSettings
from voicebot.config import parse

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


def test_vllm_is_told_how_the_model_calls_tools_where_some_are_offered() -> None:
    line = list(command(GPU.model_copy(update={"tool_parser": "hermes"}), unplanned(GPU)))
    assert pairs(line)["--tool-call-parser"] == "hermes"
    assert "--enable-auto-tool-choice" in line
    assert "--enable-auto-tool-choice" not in command(GPU, unplanned(GPU))


def test_vllm_is_started_with_what_is_set() -> None:
    line = list(command(GPU, unplanned(GPU)))
    assert line[:3] == [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    assert pairs(line) == {
        "--model": "Qwen/Qwen2.5-7B-Instruct-AWQ",
        "--served-model-name": "Qwen/Qwen2.5-7B-Instruct-AWQ",
        "--host": "0.0.0.0",
        "--port": "9000",
        "--shutdown-timeout": "15",
        "--middleware": "gpu_workers.llm.gate.Gate",
        "--max-model-len": "8192",
        "--max-num-seqs": "32",
        "--dtype": "auto",
        "--kv-cache-dtype": "auto",
        "--gpu-memory-utilization": "0.9",
        "--quantization": "awq_marlin",
    }
    assert line[-2:] == ["--quantization", "awq_marlin"], "the user's own words come last: they win"


def test_a_placement_in_vllms_words() -> None:
    placement = LlmPlacement(
        device="GPU-5b1d",
        memory_share=0.61234567,
        max_model_len=4096,
        max_num_seqs=12,
        kv_cache_dtype="fp8",
        quantization="awq_marlin",
        dtype="float16",
        enable_prefix_caching=False,
        chunked_prefill=False,
    )
    said = flags(placement)
    assert pairs(said) == {
        "--max-model-len": "4096",
        "--max-num-seqs": "12",
        "--dtype": "float16",
        "--kv-cache-dtype": "fp8",
        "--quantization": "awq_marlin",
        "--gpu-memory-utilization": "0.6123",
    }
    assert {"--no-enable-prefix-caching", "--no-enable-chunked-prefill"} <= set(said)
    assert {"--enable-prefix-caching", "--enable-chunked-prefill"} <= set(flags(unplanned(GPU)))
    assert environment(GPU, placement, [0])["CUDA_VISIBLE_DEVICES"] == "GPU-5b1d"


def test_on_a_cpu_it_gets_its_cores_and_memory_of_a_stated_size() -> None:
    settings = LlmSettings(engine="vllm", model="/models/small", threads=2)
    said = flags(unplanned(settings))
    assert pairs(said)["--kv-cache-memory-bytes"] == str(1 << 30)
    assert pairs(said)["--dtype"] == "float32"
    assert "--enforce-eager" in said
    assert "--gpu-memory-utilization" not in said
    assert environment(settings, unplanned(settings), [7, 3, 5]) == {"VLLM_CPU_OMP_THREADS_BIND": "3,5"}


def test_another_python_may_have_it() -> None:
    settings = GPU.model_copy(update={"python": Path("/opt/vllm/bin/python")})
    assert command(settings, unplanned(settings))[0] == "/opt/vllm/bin/python"


def test_the_key_is_not_on_the_command_line() -> None:
    assert not any("s3cret-key" in part for part in command(GPU, unplanned(GPU)))
    assert environment(GPU, unplanned(GPU), [0]) == {"VLLM_API_KEY": "s3cret-key"}


@pytest.mark.parametrize("model", ["qwen2.5-1.5b", "/models/some.gguf"])
def test_a_model_of_llama_is_not_given_to_vllm(model: str) -> None:
    settings = LlmSettings(device="cuda:0", model=model)
    with pytest.raises(ModelError, match=r"for llama\.cpp; for vLLM set workers\.llm\.model"):
        command(settings, unplanned(settings))


def test_a_missing_vllm_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install 'voicebot\[llm-gpu\]'"):
        run(GPU)


def test_another_python_without_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"workers\.llm\.python: .*nobody does not run"):
        run(GPU.model_copy(update={"python": tmp_path / "nobody"}))
    without = tmp_path / "python"
    without.write_text("#!/bin/sh\nexit 1\n")
    without.chmod(0o755)
    with pytest.raises(ModelError, match=r"not installed for .*python \(workers\.llm\.python\)"):
        run(GPU.model_copy(update={"python": without}))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8102"),
        ("0.0.0.0", "http://127.0.0.1:8102"),
        ("::", "http://[::1]:8102"),
        ("fd00::2", "http://[fd00::2]:8102"),
        ("gpu-1", "http://gpu-1:8102"),
    ],
)
def test_where_a_worker_is_reached_on_its_own_machine(host: str, address: str) -> None:
    assert LlmSettings(host=host).own_url == address
    found = parse(f"workers: {{llm: {{host: '{host}', api_key: a-long-random-word}}}}", "test.yaml", {})
    LlmClient(found.workers.llm.base_urls)  # raises for what is no address
    assert found.workers.llm.base_url == address


def pairs(line: Sequence[str]) -> Mapping[str, str]:
    """The flags that have a value."""
    return {
        flag: value for flag, value in pairwise(line) if flag.startswith("--") and not value.startswith("--")
    }
