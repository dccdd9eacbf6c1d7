"""Where each model runs and with what: the answer of the planner."""

from dataclasses import dataclass
from typing import Literal

CPU = "cpu"

KvCacheDtype = Literal["auto", "fp8"]
Dtype = Literal["auto", "float16", "bfloat16", "float32"]


@dataclass(frozen=True)
class LlmPlacement:
    """The language model on one device, in vLLM's own terms.

    `device` is a card's UUID ("GPU-...", "MIG-...") for CUDA_VISIBLE_DEVICES, or "cpu". `memory_share` is the part of
    the card's whole memory the engine may take for weights, KV cache and working memory together, in (0, 1]
    (--gpu-memory-utilization); 0 on a CPU. `max_model_len` in tokens. `quantization` None: what the model's own
    configuration says. `kv_cache_dtype` and `dtype` "auto": the model's own.
    """

    device: str
    memory_share: float
    max_model_len: int
    max_num_seqs: int
    kv_cache_dtype: KvCacheDtype = "auto"
    quantization: str | None = None
    dtype: Dtype = "auto"
    enable_prefix_caching: bool = True
    chunked_prefill: bool = True
