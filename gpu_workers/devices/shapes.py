"""The dimensions of language models: of a config.json, and of well known ones by name. Pure.

The numbers of the known ones are those of their published config.json files.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gpu_workers.devices.language import Quantization, Shape


class UnknownShape(Exception):  # noqa: N818 - says what is missing, and is always caught
    """The configuration lacks what the sums need; the message names it."""


KNOWN: Final[Mapping[str, Shape]] = {
    "qwen2.5-0.5b": Shape(24, 896, 14, 2, 64, 4864, 151936, True, longest=32768),
    "qwen2.5-1.5b": Shape(28, 1536, 12, 2, 128, 8960, 151936, True, longest=32768),
    "qwen2.5-3b": Shape(36, 2048, 16, 2, 128, 11008, 151936, True, longest=32768),
    "qwen2.5-7b": Shape(28, 3584, 28, 4, 128, 18944, 152064, False, longest=32768),
    "qwen2.5-14b": Shape(48, 5120, 40, 8, 128, 13824, 152064, False, longest=32768),
    "qwen2.5-32b": Shape(64, 5120, 40, 8, 128, 27648, 152064, False, longest=32768),
    "qwen2.5-72b": Shape(80, 8192, 64, 8, 128, 29568, 152064, False, longest=32768),
    "qwen3-4b": Shape(36, 2560, 32, 8, 128, 9728, 151936, True, longest=40960),
    "qwen3-8b": Shape(36, 4096, 32, 8, 128, 12288, 151936, False, longest=40960),
    "qwen3-14b": Shape(40, 5120, 40, 8, 128, 17408, 151936, False, longest=40960),
    "qwen3-32b": Shape(64, 5120, 64, 8, 128, 25600, 151936, False, longest=40960),
    "llama-3.2-3b": Shape(28, 3072, 24, 8, 128, 8192, 128256, True, longest=131072),
    "llama-3.1-8b": Shape(32, 4096, 32, 8, 128, 14336, 128256, False, longest=131072),
    "llama-3.1-70b": Shape(80, 8192, 64, 8, 128, 28672, 128256, False, longest=131072),
    "llama-3.3-70b": Shape(80, 8192, 64, 8, 128, 28672, 128256, False, longest=131072),
    "mistral-7b": Shape(32, 4096, 32, 8, 128, 14336, 32768, False, longest=32768),
    "smollm2-135m": Shape(30, 576, 9, 3, 64, 1536, 49152, True, longest=8192),
}

_SUFFIXES: Final[tuple[tuple[str, Quantization, int], ...]] = (
    (r"gptq.*int8", "gptq", 8),
    (r"gptq|w4a16", "gptq", 4),
    (r"awq", "awq", 4),
    (r"w8a8|int8", "int8", 8),
    (r"fp8", "fp8", 8),
    (r"gguf", "gguf", 4),
)


def known_shape(model: str) -> Shape | None:
    """Of a hub name such as Qwen/Qwen2.5-7B-Instruct-AWQ; quantised as its name says."""
    name = model.rstrip("/").rpartition("/")[2].lower().replace("meta-", "").replace("coder-", "")
    found = [key for key in KNOWN if re.search(rf"(^|[^a-z0-9]){re.escape(key)}($|[^a-z0-9])", name)]
    if not found:
        return None
    shape = KNOWN[max(found, key=len)]
    for pattern, quantization, bits in _SUFFIXES:
        if re.search(pattern, name):
            return shape.quantized(quantization, bits)
    return shape


def shape_of(config: Mapping[str, object], file_size: int = 0) -> Shape:
    """Of a config.json as transformers writes it; `file_size` of all its weight files, 0 where they are not here.

    Raises UnknownShape.
    """
    text = config.get("text_config")  # models that also see keep their decoder there
    if isinstance(text, Mapping) and "num_hidden_layers" not in config:
        return shape_of(
            {**text, **{k: v for k, v in config.items() if k == "quantization_config"}}, file_size
        )
    if "kv_lora_rank" in config or ("layer_types" in config and _is_hybrid(config)):
        raise UnknownShape("its attention is of a kind whose KV cache the plan does not count")
    heads, hidden = _number(config, "num_attention_heads"), _number(config, "hidden_size")
    shape = Shape(
        layers=_number(config, "num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=_number(config, "num_key_value_heads", heads),
        head_dim=_number(config, "head_dim", hidden // heads),
        intermediate=_number(config, "intermediate_size"),
        vocabulary=_number(config, "vocab_size"),
        tied=config.get("tie_word_embeddings") is True,
        experts=_first(config, ("num_experts", "num_local_experts", "n_routed_experts")),
        expert_intermediate=_first(config, ("moe_intermediate_size", "intermediate_size")),
        longest=_number(config, "max_position_embeddings", 0),
    )
    quantization, bits = _quantization(config.get("quantization_config"), known_size=bool(file_size))
    return replace(shape, quantization=quantization, bits=bits, file_size=file_size)


def _is_hybrid(config: Mapping[str, object]) -> bool:
    kinds = config["layer_types"]
    return isinstance(kinds, list) and any(
        kind not in ("full_attention", "sliding_attention") for kind in kinds
    )


def _number(config: Mapping[str, object], key: str, otherwise: int | None = None) -> int:
    value = config.get(key)
    if value is None and otherwise is not None:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 32:
        raise UnknownShape(f"its config.json has no usable {key}")
    return value


def _first(config: Mapping[str, object], keys: tuple[str, ...]) -> int:
    return next((_number(config, key) for key in keys if config.get(key)), 0)


def _quantization(written: object, *, known_size: bool) -> tuple[Quantization, int]:
    if not isinstance(written, Mapping):
        return "none", 16
    method = str(written.get("quant_method", "")).lower()
    bits = written.get("bits")
    if method in ("awq", "gptq"):
        return ("awq" if method == "awq" else "gptq"), bits if isinstance(bits, int) else 4
    if method == "fp8":
        return "fp8", 8
    if method == "compressed-tensors":
        return _compressed(written)
    if known_size:  # the files say what the method does not
        return "none", 16
    raise UnknownShape(
        f"it is quantised with {method or 'something unnamed'}, whose size the plan does not know"
    )


def _compressed(written: Mapping[object, object]) -> tuple[Quantization, int]:
    groups = written.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(weights, Mapping):
        return "fp8", 8
    if weights.get("num_bits") == 4:
        return "gptq", 4
    return ("fp8" if weights.get("type") == "float" else "int8"), 8
