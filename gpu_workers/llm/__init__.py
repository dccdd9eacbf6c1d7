"""The language model behind `POST /v1/chat/completions`.

vLLM on a GPU: its own OpenAI server, with our gate before it. llama.cpp on a CPU: our own API before its server.
"""

from pathlib import Path
from typing import Literal

from gpu_workers.devices.plan import LlmPlacement
from gpu_workers.errors import ModelError
from gpu_workers.models import MODELS
from gpu_workers.settings import LlmSettings


def serve(settings: LlmSettings, cache_dir: Path, placement: LlmPlacement | None = None) -> None:
    """Runs the worker until SIGTERM. Raises ModelError when its port is taken or its model cannot be had.

    `placement`: what the plan decided, for vLLM; without one the settings decide.
    """
    if engine_of(settings) == "vllm":
        from gpu_workers.llm.vllm_server import run as run_vllm

        run_vllm(settings, placement)
        return
    try:
        from gpu_workers.llm.llama import run as run_llama
    except ImportError as error:
        raise ModelError(f"{error.name} is not installed; run: pip install 'voicebot[llm-cpu]'") from error
    run_llama(settings, cache_dir)


def engine_of(settings: LlmSettings) -> Literal["vllm", "llama"]:
    """ "vllm" or "llama"; auto chooses by the device, and where that is auto too, by the model."""
    if settings.engine != "auto":
        return settings.engine
    if settings.device == "auto":
        gguf = settings.model in MODELS or settings.model.lower().endswith(".gguf")
        return "llama" if gguf else "vllm"
    return "llama" if settings.device == "cpu" else "vllm"
