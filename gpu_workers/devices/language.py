"""What a language model needs on a device: weights, KV cache and working memory, by its own configuration. Pure.

Sizes are bytes. `Shape` holds the numbers of a config.json as transformers write it; the weights of attention and
feed-forward layers follow from them. What cannot be counted (CUDA's context, graphs) is an allowance, each named here
with what it rests on; docs/gpus.md repeats them.
"""

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

from gpu_workers.devices.facts import GIB
from gpu_workers.devices.sums import Sum, Term, total

Quantization = Literal["none", "fp8", "awq", "gptq", "int8", "gguf"]

# the CUDA context, cuBLAS and PyTorch's own. vLLM reports 0.3 to 0.6 GiB as non-torch memory
CONTEXT: Final = int(0.6 * GIB)
# vLLM's own logs: 0.22 to 0.75 GiB for the sizes that up to 256 answers side by side need
GRAPHS: Final = int(0.75 * GIB)
# llama.cpp's compute buffer at its default batch of 512 tokens, and its context
LLAMA_WORK: Final = int(0.5 * GIB)
KV_BLOCK: Final = 16  # vLLM hands KV cache out in blocks of so many tokens
_GROUP: Final = 128  # weights that share a scale in AWQ and GPTQ as they are published


@dataclass(frozen=True)
class Shape:
    """The dimensions of a decoder. `experts` 0: dense. `file_size` 0 where no file is known."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    quantization: Quantization = "none"
    bits: int = 16
    experts: int = 0
    expert_intermediate: int = 0
    longest: int = 0
    file_size: int = 0

    @property
    def linear_weights(self) -> int:
        """Weights that a quantisation makes smaller: attention and feed-forward."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        if self.experts:
            forward = 3 * self.hidden * self.expert_intermediate * self.experts + self.hidden * self.experts
        else:
            forward = 3 * self.hidden * self.intermediate
        return self.layers * (attention + forward)

    @property
    def other_weights(self) -> int:
        """Embeddings, output head and norms, which stay as they are."""
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return embeddings + self.hidden * (2 * self.layers + 1)

    @property
    def parameters(self) -> int:
        return self.linear_weights + self.other_weights

    def weight_bytes(self) -> int:
        """The file's own size where it is known; else by the parameters."""
        if self.file_size:
            return self.file_size
        return math.ceil(self.linear_weights * self._bytes_a_weight()) + 2 * self.other_weights

    def _bytes_a_weight(self) -> float:
        if self.quantization in ("awq", "gptq"):
            # a float16 scale and a zero point for each group
            return (self.bits + (16 + self.bits) / _GROUP) / 8
        return {"none": 2.0, "fp8": 1.0, "int8": 1.0, "gguf": 0.6}[self.quantization]

    def kv_bytes_a_token(self, kv_bytes: int = 2) -> int:
        """Key and value of every layer: 2 x layers x KV heads x head size x bytes of a number."""
        return 2 * self.layers * self.kv_heads * self.head_dim * kv_bytes

    def quantized(self, quantization: Quantization, bits: int) -> "Shape":
        return replace(self, quantization=quantization, bits=bits, file_size=0)


@dataclass(frozen=True)
class Serving:
    """How a model is served: so many calls, each with at most so many tokens of talk, so many answers at a time.

    `batched_tokens` is what one step reads at most (--max-num-batched-tokens as vLLM chooses it).
    """

    calls: int
    context_tokens: int
    sequences: int
    batched_tokens: int = 2048
    kv_bytes: int = 2
    graphs: bool = True


def batched_tokens(usable: int, card_name: str, context_tokens: int, *, chunked_prefill: bool) -> int:
    """vLLM's own choice for its OpenAI server (0.32, engine/arg_utils.py). Without chunks a prompt is read at once."""
    if usable >= 160 * GIB:
        chosen = 16384
    elif usable >= 70 * GIB and "a100" not in card_name.lower():
        chosen = 8192
    else:
        chosen = 2048
    return chosen if chunked_prefill else max(chosen, context_tokens)


def vllm_need(shape: Shape, serving: Serving) -> Sum:
    """Every call's talk stays in the KV cache, so that no answer waits for it to be read again."""
    return total(
        (
            _weights(shape),
            _kv_cache(shape, serving),
            Term("working memory", working_memory(shape, serving), "context, activations, CUDA graphs"),
        )
    )


def llama_need(shape: Shape, context_tokens: int, slots: int) -> Sum:
    """llama.cpp keeps its whole KV cache from the start: slots x context, in float16."""
    serving = Serving(calls=slots, context_tokens=context_tokens, sequences=slots)
    return total(
        (_weights(shape), _kv_cache(shape, serving), Term("working memory", LLAMA_WORK, "compute buffers"))
    )


def working_memory(shape: Shape, serving: Serving) -> int:
    """Grows with the tokens of a step and with the answers written at a time, not with the calls."""
    widest = 3 * (shape.expert_intermediate * 8 if shape.experts else shape.intermediate)
    activations = serving.batched_tokens * 2 * (widest + 4 * shape.hidden)
    # logits as float32, sorted and as probabilities, for every answer in progress
    sampling = serving.sequences * shape.vocabulary * 4 * 3
    return CONTEXT + (GRAPHS if serving.graphs else 0) + activations + sampling


def _weights(shape: Shape) -> Term:
    how = f"{shape.parameters / 1e9:.2f}e9 parameters"
    if shape.quantization != "none":
        how += f", {shape.quantization}"
        how += f" {shape.bits} bits" if shape.quantization in ("awq", "gptq") else ""
    return Term("weights", shape.weight_bytes(), how)


def _kv_cache(shape: Shape, serving: Serving) -> Term:
    tokens = -(-serving.context_tokens // KV_BLOCK) * KV_BLOCK
    each = shape.kv_bytes_a_token(serving.kv_bytes)
    how = f"{serving.calls} calls x {tokens} tokens x {each / 1024:g} KiB"
    return Term("KV cache", serving.calls * tokens * each, how)
