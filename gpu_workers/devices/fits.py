"""What would fit where: well known models against every device. Pure."""

from dataclasses import dataclass, replace
from typing import Final

from gpu_workers.devices.demand import GPU_BATCH, LlmDemand
from gpu_workers.devices.facts import Device, Machine
from gpu_workers.devices.language import Quantization, Shape
from gpu_workers.devices.limits import llm_refusal, most_calls, room_of
from gpu_workers.devices.shapes import KNOWN
from gpu_workers.devices.speech import WHISPER, whisper_need

MODELS: Final = (
    "qwen2.5-3b",
    "qwen2.5-7b",
    "llama-3.1-8b",
    "qwen2.5-14b",
    "qwen2.5-32b",
    "llama-3.1-70b",
    "qwen2.5-72b",
)
KINDS: Final[tuple[tuple[str, Quantization, int], ...]] = (
    ("16 bits", "none", 16),
    ("fp8", "fp8", 8),
    ("4 bits (AWQ, GPTQ)", "awq", 4),
)
WHISPERS: Final = ("base", "small", "medium", "turbo", "large")


@dataclass(frozen=True)
class Fit:
    """`calls`: by device label, so many calls fit if the model has the device for itself; 0: it does not fit.

    `size`: bytes of the weights. For Whisper all that it needs, and `calls` is 1 where it fits: its speed limits its
    calls, not its memory.
    """

    model: str
    kind: str
    size: int
    calls: dict[str, int]
    is_whisper: bool = False


def language_fits(machine: Machine, context_tokens: int, kv_fp8: bool = False) -> list[Fit]:
    devices = list(machine.devices())
    found = []
    for name in MODELS:
        for words, kind, bits in KINDS:
            shape = KNOWN[name] if kind == "none" else KNOWN[name].quantized(kind, bits)
            calls = {device.label: calls_on(device, shape, context_tokens, kv_fp8) for device in devices}
            found.append(Fit(name, words, shape.weight_bytes(), calls))
    return found


def calls_on(device: Device, shape: Shape, context_tokens: int, kv_fp8: bool = False) -> int:
    """So many calls fit if a model of this shape has all the room of the device."""
    llm = LlmDemand(
        device=device.label,
        model="",
        shape=shape,
        engine="vllm",
        calls=1,
        context_tokens=context_tokens,
        kv_cache_dtype="fp8" if kv_fp8 else "auto",
    )
    room = room_of(device)
    if llm_refusal(llm, device, room, None):
        return 0
    return most_calls(replace(llm, calls=1), device, room) or 0


def whisper_fits(machine: Machine) -> list[Fit]:
    found = []
    for name in WHISPERS:
        need = whisper_need(WHISPER[name], "float16", batch=GPU_BATCH, copies=1, on_gpu=True, beam=5)
        fits = {device.label: int(need.size <= room_of(device)) for device in machine.devices()}
        found.append(Fit(f"whisper {name}", "float16", need.size, fits, is_whisper=True))
    return found
