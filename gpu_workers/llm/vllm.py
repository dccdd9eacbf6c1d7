"""vLLM's own OpenAI server: the command line that a placement and the settings make. Starts nothing."""

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from gpu_workers.devices.plan import CPU, LlmPlacement
from gpu_workers.errors import ModelError
from gpu_workers.models.catalogue import MODELS
from gpu_workers.settings import LlmSettings
from gpu_workers.signals import DRAIN_S

_UNPLANNED_SHARE: Final = 0.9  # of a card: vLLM's own default
_CPU_KV_BYTES: Final = 1 << 30


def unplanned(settings: LlmSettings) -> LlmPlacement:
    """What stands in the settings, for a worker that is started without a plan.

    On a CPU float32: only some have bfloat16, the others emulate it.
    """
    on_cpu = settings.device == CPU
    return LlmPlacement(
        device=settings.device,
        memory_share=0.0 if on_cpu else settings.memory_share or _UNPLANNED_SHARE,
        max_model_len=settings.context_tokens,
        max_num_seqs=settings.parallel,
        kv_cache_dtype=settings.kv_cache_dtype,
        quantization=settings.quantization,
        dtype="float32" if on_cpu else "auto",
        enable_prefix_caching=settings.prefix_caching,
        chunked_prefill=settings.chunked_prefill,
    )


def command(settings: LlmSettings, placement: LlmPlacement) -> Sequence[str]:
    """Raises ModelError for a model that vLLM does not run."""
    if settings.model in MODELS or settings.model.endswith(".gguf"):
        raise ModelError(
            f"model {settings.model} is for llama.cpp; for vLLM set workers.llm.model to a folder or a hub name, e.g. "
            "Qwen/Qwen2.5-7B-Instruct-AWQ, or set workers.llm.engine to llama"
        )
    # the module, not `vllm serve`: builds under another distribution name have no such command
    return (
        str(settings.python or sys.executable), "-m", "vllm.entrypoints.openai.api_server",
        "--model", settings.model,
        "--served-model-name", settings.model,
        "--host", settings.host,
        "--port", str(settings.port),
        "--shutdown-timeout", str(DRAIN_S),
        "--middleware", "gpu_workers.llm.gate.Gate",
        *flags(placement),
        *_tool_flags(settings),
        *settings.extra_args,
    )  # fmt: skip


def flags(placement: LlmPlacement) -> Sequence[str]:
    """The placement in vLLM's words."""
    given = [
        "--max-model-len", str(placement.max_model_len),
        "--max-num-seqs", str(placement.max_num_seqs),
        "--dtype", placement.dtype,
        "--kv-cache-dtype", placement.kv_cache_dtype,
    ]  # fmt: skip
    if placement.quantization is not None:
        given += ["--quantization", placement.quantization]
    # both are the defaults of today's vLLM, not of every model's
    given.append(
        "--enable-prefix-caching" if placement.enable_prefix_caching else "--no-enable-prefix-caching"
    )
    given.append("--enable-chunked-prefill" if placement.chunked_prefill else "--no-enable-chunked-prefill")
    if placement.device == CPU:
        # a share would be one of the whole machine's memory; compiling costs a minute or two of start for 8 %
        given += ["--kv-cache-memory-bytes", str(_CPU_KV_BYTES), "--enforce-eager"]
    else:
        given += ["--gpu-memory-utilization", f"{placement.memory_share:.4g}"]
    return given


def _tool_flags(settings: LlmSettings) -> Sequence[str]:
    """Without them vLLM refuses a request that offers tools."""
    if settings.tool_parser is None:
        return ()
    return ("--enable-auto-tool-choice", "--tool-call-parser", settings.tool_parser)


def environment(settings: LlmSettings, placement: LlmPlacement, cores: Sequence[int]) -> Mapping[str, str]:
    """`cores`: those this process may use. The key goes by the environment: anyone may read a command line."""
    made: dict[str, str] = {}
    if settings.api_key:
        made["VLLM_API_KEY"] = settings.api_key.get_secret_value()
    if placement.device == CPU:
        # two of its threads on one core wait for each other; by itself it takes one thread less than there are cores
        made["VLLM_CPU_OMP_THREADS_BIND"] = ",".join(map(str, sorted(cores)[: settings.threads]))
    elif not placement.device.startswith("cuda"):
        made["CUDA_VISIBLE_DEVICES"] = placement.device
    return made
