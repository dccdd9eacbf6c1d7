"""vLLM's own OpenAI server as a child of this process."""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import FrameType

from gpu_workers.devices.plan import LlmPlacement
from gpu_workers.errors import ModelError
from gpu_workers.models import MODELS
from gpu_workers.settings import LlmSettings


def run(settings: LlmSettings, placement: LlmPlacement | None = None) -> None:
    """Runs it until SIGTERM or Ctrl-C, as the plan placed it, else as the settings say.

    Raises ModelError when it is not installed or ends by itself.
    """
    if importlib.util.find_spec("vllm") is None:
        raise ModelError(
            "vLLM is not installed; run: pip install 'voicebot[llm-gpu]' (about 3 GB), or set "
            "workers.llm.engine to llama for a small model on the CPU"
        )
    asked_to_stop = False
    child = subprocess.Popen(command(settings, placement), env={**os.environ, **environment(settings)})  # noqa: S603

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked_to_stop
        # a second signal does not wait for the streams that run
        child.send_signal(signal.SIGKILL if asked_to_stop else signal.SIGTERM)
        asked_to_stop = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        status = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if child.poll() is None:
            child.kill()
            child.wait()
    if not asked_to_stop:
        raise ModelError(
            f"vLLM ended with status {status} while serving {settings.model}; its reason is in the log above"
        )


def command(settings: LlmSettings, placement: LlmPlacement | None = None) -> Sequence[str]:
    """Raises ModelError for a model that vLLM does not run."""
    if settings.model in MODELS or settings.model.endswith(".gguf"):
        raise ModelError(
            f"model {settings.model} is for llama.cpp; for vLLM set workers.llm.model to a folder or a hub name, e.g. "
            "Qwen/Qwen2.5-7B-Instruct-AWQ, or set workers.llm.engine to llama"
        )
    # the module, not `vllm serve`: builds under another distribution name have no such command
    return (
        sys.executable, "-m", "vllm.entrypoints.openai.api_server",
        "--model", settings.model,
        "--served-model-name", settings.model,
        "--host", settings.host,
        "--port", str(settings.port),
        *flags(placement or _as_set(settings)),
        *settings.extra_args,
    )  # fmt: skip


def flags(placement: LlmPlacement) -> Sequence[str]:
    """The placement in vLLM's words; of "auto" and 0 nothing is said."""
    given = ["--max-model-len", str(placement.max_model_len), "--max-num-seqs", str(placement.max_num_seqs)]
    if placement.memory_share:
        given += ["--gpu-memory-utilization", f"{placement.memory_share:.4g}"]
    if placement.kv_cache_dtype != "auto":
        given += ["--kv-cache-dtype", placement.kv_cache_dtype]
    if placement.dtype != "auto":
        given += ["--dtype", placement.dtype]
    if placement.quantization:
        given += ["--quantization", placement.quantization]
    if not placement.enable_prefix_caching:
        given.append("--no-enable-prefix-caching")
    if not placement.chunked_prefill:
        given.append("--no-enable-chunked-prefill")
    return given


def _as_set(settings: LlmSettings) -> LlmPlacement:
    return LlmPlacement(settings.device, 0.0, settings.context_tokens, settings.parallel)


def environment(settings: LlmSettings) -> Mapping[str, str]:
    """The key goes by the environment: a command line is readable by every user of the machine."""
    return {"VLLM_API_KEY": settings.api_key.get_secret_value()} if settings.api_key else {}
