"""Why a worker cannot run on a device, with the sum, and what would mend it. Pure."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gpu_workers.devices.demand import LlmDemand, Worker
from gpu_workers.devices.facts import Device, Machine, gib
from gpu_workers.devices.language import Quantization, batched_tokens
from gpu_workers.devices.plan import Refused
from gpu_workers.devices.shapes import KNOWN
from gpu_workers.devices.sums import Sum

# vLLM's published builds: CUDA architectures 7.5 and newer
OLDEST_FOR_VLLM: Final = (7, 5)
# an fp8 number on the card: Ada and newer (vLLM, v1/attention/backends/triton_attn.py)
OLDEST_WITH_FP8: Final = (8, 9)
# of what CUDA programs see of a card; the rest is for fragments and for what nobody counts. vLLM's own default
USABLE_PART: Final = 0.92
_MOST_CALLS: Final = 1024
_SHORTEST_CONTEXT: Final = 512  # as workers.llm.context_tokens allows
_CONTEXT_STEP: Final = 256


def room_of(device: Device) -> int:
    """Bytes that may be placed on it."""
    memory = device.memory
    return max(0, min(memory.free, math.floor(memory.usable * USABLE_PART)))


def tokens_of_a_step(llm: LlmDemand, device: Device) -> int:
    usable, name = device.memory.usable, device.card.name
    return batched_tokens(usable, name, llm.context_tokens, chunked_prefill=llm.chunked_prefill)


def llm_refusal(
    llm: LlmDemand, device: Device, room: int, need: Sum | None, beside: int = 0
) -> Refused | None:
    """None when it may run there. `room`: bytes there are for it, with what others of ours need, `beside`, gone."""
    capability = device.card.compute_capability
    if llm.engine == "vllm" and capability < OLDEST_FOR_VLLM:
        what = f"{_here(device)} has compute capability {_dotted(capability)}; vLLM wants 7.5 or more"
        return Refused("llm", what, ("workers.llm.engine: llama with a GGUF model", "another card"))
    if llm.kv_cache_dtype == "fp8" and capability < OLDEST_WITH_FP8:
        what = (
            f"{_here(device)} has compute capability {_dotted(capability)}; an fp8 KV cache wants 8.9 or more"
        )
        return Refused("llm", what, ("workers.llm.kv_cache_dtype: auto",))
    if llm.shape and 0 < llm.shape.longest < llm.context_tokens:
        longest, set_to = llm.shape.longest, llm.context_tokens
        what = f"{llm.model} reads at most {longest} tokens, workers.llm.context_tokens is {set_to}"
        return Refused("llm", what, (f"workers.llm.context_tokens: {longest}",))
    if llm.memory_share is not None and llm.engine == "vllm":
        return _share_refusal(llm, device, need, device.memory.free - beside)
    if need is not None and need.size > room:
        what = f"{llm.model} needs {need}, and {_here(device)} has {_free(device, room)}"
        return Refused("llm", what, tuple(_mends(llm, device, room, need)))
    return None


def _share_refusal(llm: LlmDemand, device: Device, need: Sum | None, left: int) -> Refused | None:
    """A share that is set may take what the plan would leave, but nothing that is taken."""
    assert llm.memory_share is not None  # noqa: S101 - for the type checker
    asked = int(llm.memory_share * device.memory.usable)
    share = f"workers.llm.memory_share {llm.memory_share} of {_here(device)} is {gib(asked)}"
    if asked > left:
        fitting = int(100 * max(0, left) / max(1, device.memory.usable)) / 100
        mends = [
            f"workers.llm.memory_share: {fitting}" if fitting else "another card",
            *_end_others(device, asked - left),
        ]
        return Refused("llm", f"{share}, and {gib(max(0, left))} are left for it", tuple(mends))
    if need is not None and need.size > asked:
        mends = ["leave workers.llm.memory_share out", *_mends(llm, device, asked, need)]
        return Refused("llm", f"{share}, and {llm.model} needs {need}", tuple(mends))
    return None


def senses_refusal(worker: Worker, device: Device, need: Sum, room: int, mends: tuple[str, ...]) -> Refused:
    what = f"needs {need}, and {_here(device)} has {_free(device, room)}"
    return Refused(worker, what, (*mends, *_end_others(device, need.size - room)))


def missing_device(worker: Worker, name: str, machine: Machine) -> Refused:
    """`name` is set for the worker and this machine has no such device."""
    devices = list(machine.devices())
    parts = [device for device in devices if device.is_slice and device.label.startswith(f"{name}/")]
    if parts:
        names = ", ".join(f"{part.uuid} ({part.name})" for part in parts)
        return Refused(
            worker, f"{name} is in MIG mode and no program can use the whole card", (f"name one of: {names}",)
        )
    if not devices:
        why = f"this machine has no GPU that can be used{f' ({machine.problem})' if machine.problem else ''}"
        mends = (
            ["install NVIDIA's driver and see whether `nvidia-smi` lists the card"]
            if not machine.problem
            else []
        )
        return Refused(worker, f"{name} is set, and {why}", (*mends, f"workers.{worker}.device: cpu"))
    there = ", ".join(f"{device.label} ({device.name})" for device in devices)
    return Refused(
        worker, f"{name} is set, and this machine has {there}", (f"workers.{worker}.device: auto",)
    )


def no_card(machine: Machine, llm: LlmDemand) -> Refused:
    why = f" ({machine.problem})" if machine.problem else ""
    in_mig = [f"cuda:{card.index}" for card in machine.cards if card.mig == "on" and not card.slices]
    if in_mig:
        why = f" ({', '.join(in_mig)} in MIG mode without a slice: `nvidia-smi mig -cgi 0 -C` makes one of all of it)"
    return Refused(
        "llm",
        f"{llm.model} is for vLLM, and this machine has no GPU that can be used{why}",
        (
            "workers.llm.model: qwen2.5-1.5b, which runs on the CPU",
            "workers.llm.start: false and url: a server elsewhere",
        ),
    )


def most_calls(llm: LlmDemand, device: Device, room: int) -> int | None:
    """So many calls fit into `room` bytes, their talks at full length; None where the model is not counted."""
    tokens = tokens_of_a_step(llm, device)
    if llm.shape is None:
        return None

    def size(calls: int) -> int:
        need = replace(llm, calls=calls).need(tokens)
        return need.size if need else 0

    if llm.engine == "llama":
        return llm.parallel
    return bisect_right(range(1, _MOST_CALLS + 1), room, key=size)


def _mends(llm: LlmDemand, device: Device, room: int, need: Sum) -> Iterator[str]:
    """Each is enough by itself."""
    if (calls := most_calls(llm, device, room)) and llm.engine == "vllm":
        yield f"calls for {calls} at most (calls.max_calls x calls.processes, now {llm.calls})"
    if context := _longest_context(llm, device, room):
        yield f"workers.llm.context_tokens: {context}"
    if llm.engine == "vllm":
        yield from _smaller_numbers(llm, device, room)
    if smaller := _smaller_model(llm, device, room):
        yield f"a smaller model, such as {smaller}"
    yield f"a card with {gib(need.size / USABLE_PART)} that are free"
    yield from _end_others(device, need.size - room)


def _fits(llm: LlmDemand, device: Device, room: int) -> bool:
    need = llm.need(tokens_of_a_step(llm, device))
    return need is not None and need.size <= room


def _longest_context(llm: LlmDemand, device: Device, room: int) -> int:
    """The longest in steps that fits; 0 for none."""
    for tokens in range(llm.context_tokens - 1, _SHORTEST_CONTEXT - 1, -1):
        if tokens % _CONTEXT_STEP == 0 and _fits(replace(llm, context_tokens=tokens), device, room):
            return tokens
    return 0


def _smaller_numbers(llm: LlmDemand, device: Device, room: int) -> Iterator[str]:
    capability = device.card.compute_capability
    with_fp8 = replace(llm, kv_cache_dtype="fp8")
    if llm.kv_cache_dtype == "auto" and capability >= OLDEST_WITH_FP8 and _fits(with_fp8, device, room):
        yield "workers.llm.kv_cache_dtype: fp8"
    if llm.shape is None or llm.shape.quantization != "none":
        return
    kinds: tuple[tuple[Quantization, int, str], ...] = (
        ("fp8", 8, "workers.llm.quantization: fp8"),
        ("awq", 4, "the model quantised to 4 bits (AWQ or GPTQ)"),
    )
    for kind, bits, words in kinds:
        smaller = replace(llm, shape=llm.shape.quantized(kind, bits))
        if _fits(smaller, device, room) and smaller.shape:
            yield f"{words}: weights {gib(smaller.shape.weight_bytes())}"


def _smaller_model(llm: LlmDemand, device: Device, room: int) -> str:
    """The largest known one with fewer parameters that fits, as it is or in 4 bits; "" for none."""
    if llm.shape is None:
        return ""
    best, name = 0, ""
    for key, shape in KNOWN.items():
        if not best < shape.parameters < llm.shape.parameters or shape.longest < llm.context_tokens:
            continue
        for kind, one in (("", shape), (" in 4 bits (AWQ)", shape.quantized("awq", 4))):
            if _fits(replace(llm, shape=one), device, room):
                best, name = shape.parameters, f"{key}{kind}"
                break
    return name


def _end_others(device: Device, missing: int) -> Iterator[str]:
    """Those whose memory alone would be enough, else all of them together if that is."""
    held = [(user, user.memory) for user in device.users if user.memory]
    enough = [
        f"{user.name or 'process'} ({user.pid}), which holds {gib(size)}"
        for user, size in held
        if size >= missing
    ]
    if enough:
        yield from (f"end {one}" for one in enough)
    elif (together := sum(size for _, size in held)) >= missing:
        yield f"end all that use {device.label}, which hold {gib(together)}"


def _here(device: Device) -> str:
    return f"{device.label} ({device.name})"


def _free(device: Device, room: int) -> str:
    """Room, and what it is of."""
    return f"{gib(room)} for it: {gib(device.memory.free)} of {gib(device.memory.usable)} are free"


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"
