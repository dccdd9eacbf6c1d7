"""What works and costs: warnings, each with its price. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gpu_workers.devices.demand import AUTO, Demand, LlmDemand, SttDemand
from gpu_workers.devices.facts import Device, Host, Machine, gib
from gpu_workers.devices.limits import OLDEST_WITH_FP8
from gpu_workers.devices.plan import CPU, Placed, Warned

# the oldest branches of the driver for each (NVIDIA, CUDA Toolkit release notes, table of minor version compatibility)
CUDA_12_DRIVER: Final = 525
CUDA_13_DRIVER: Final = 580


def machine_notes(machine: Machine, demand: Demand, placed: Iterable[Placed]) -> Iterator[Warned]:
    if machine.problem:
        yield Warned("GPUs", machine.problem, "What NVML does not tell is planned without")
    wanted = any(device != CPU for _, device in demand.devices())
    for card in machine.cards:
        if card.mig == "on" and not card.slices:
            mend = "make some with `nvidia-smi mig -cgi ... -C`, or leave MIG mode with `nvidia-smi -mig 0`"
            yield Warned(
                f"cuda:{card.index}", "is in MIG mode and has no slices", f"It cannot be used: {mend}"
            )
    used = {one.device for one in placed}
    yield from _driver(machine.driver, demand, used)
    idle = [device.label for device in machine.devices() if device.uuid not in used]
    if idle and not wanted:
        what = f"not used: every workers.*.device is {CPU}"
        yield Warned(", ".join(idle), what, f"With `device: {AUTO}` the plan chooses (docs/gpus.md)")


def _driver(driver: str, demand: Demand, used: Iterable[str]) -> Iterator[Warned]:
    version = driver.partition(".")[0]
    if not version.isdigit() or set(used) <= {CPU}:
        return
    if int(version) < CUDA_12_DRIVER:
        what = f"{driver} is too old for CUDA 12, which CTranslate2 and vLLM are built for or later"
        yield Warned("driver", what, f"No model starts on a card: update it to {CUDA_12_DRIVER} or newer")
    elif int(version) < CUDA_13_DRIVER and demand.llm and demand.llm.engine == "vllm":
        what = f"{driver} is too old for CUDA 13, which vLLM 0.32 of the package index is built for"
        yield Warned("driver", what, f"It does not start: update the driver to {CUDA_13_DRIVER} or newer, or install a"
                     " build of vLLM for CUDA 12")  # fmt: skip


def stt_notes(stt: SttDemand, placed: Placed) -> Iterator[Warned]:
    if stt.shape is None and placed.device != CPU:
        what = f"not counted: the size of {stt.model} is neither in its name nor in a model.bin"
        yield Warned(
            "stt", what, "It is started without a check; CTranslate2 says itself if its memory does not do"
        )


def stt_on_cpu(stt: SttDemand, room: int) -> Warned:
    """Whisper was to go on a card, and none has room. `room`: bytes of the roomiest."""
    kind = stt.compute_type or "int8_float16"
    need = stt.need(kind, on_gpu=True)
    what = f"{stt.model} needs {need} as {kind}, and the most that is left on a card is {gib(room)}"
    return Warned("stt", what, "It runs on the CPU: each transcript takes a core for a good part of a second")


def device_notes(device: Device, here: Sequence[Placed]) -> Iterator[Warned]:
    """Of a device that is used."""
    if not here:
        return
    yield from _link(device, here)
    if len(here) > 1 and any(one.worker == "llm" for one in here):
        yield Warned(
            device.label,
            f"{' and '.join(one.worker for one in here)} share one card",
            "While the model reads a long prompt, up to one step of it, the others wait; their memory is kept apart",
        )
    others = [user for user in device.users if user.memory is None or user.memory > 0]
    if others:
        names = ", ".join(
            f"{user.name or 'a process'} ({user.pid}{f', {gib(user.memory)}' if user.memory else ''})"
            for user in others[:4]
        )
        more = f" and {len(others) - 4} more" if len(others) > 4 else ""
        yield Warned(
            device.label,
            f"in use by {names}{more}",
            f"Planned into the {gib(device.memory.free)} that are free now: when they take more, a worker dies for"
            " want of memory, and what they compute comes between",
        )
    if device.is_slice:
        yield Warned(
            device.label,
            f"is a MIG slice ({device.name})",
            "It has its part of the card's cores as well as of its memory: answers are written that much slower, and"
            " no other slice disturbs them",
        )


def _link(device: Device, here: Sequence[Placed]) -> Iterator[Warned]:
    link = device.card.link
    if link is None or not link.narrow:
        return
    size = sum(term.size for one in here if one.need for term in one.need.terms if term.what == "weights")
    now, wide = link.seconds(size, link.width), link.seconds(size, link.max_width)
    yield Warned(
        device.label,
        f"runs on {link.width} of its {link.max_width} PCIe lanes (generation {link.max_generation})",
        f"Loading its {gib(size)} of weights takes {now:.1f} s at least instead of {wide:.1f} s, at every start; a call"
        " sends kilobytes and notices nothing. One model split over two cards would",
    )


def llm_notes(llm: LlmDemand, placed: Placed, device: Device | None) -> Iterator[Warned]:
    if llm.shape is None:
        cost = "It is started without a check; vLLM says itself if its memory does not do"
        yield Warned("llm", f"not counted: {llm.unknown}", cost)
    if device is None or llm.engine != "vllm":
        return
    capability = device.card.compute_capability
    if capability < (8, 0):
        yield Warned(
            device.label,
            f"no FlashAttention and no bfloat16 on compute capability {capability[0]}.{capability[1]}",
            "vLLM uses its Triton attention and float16: prompts are read slower, so the first token comes later,"
            " most of all without prefix caching",
        )
    fp8_weights = llm.shape is not None and llm.shape.quantization == "fp8"
    if fp8_weights and capability < OLDEST_WITH_FP8:
        yield Warned(
            device.label,
            "no fp8 arithmetic below compute capability 8.9",
            "fp8 weights save memory here and no time: they are widened before each use",
        )
    if not llm.prefix_caching:
        yield Warned(
            "llm",
            "workers.llm.prefix_caching is off",
            "Every answer reads its profile's prompt and the whole talk again before its first token",
        )
    if not llm.chunked_prefill:
        yield Warned(
            "llm",
            "workers.llm.chunked_prefill is off",
            f"A prompt of up to {llm.context_tokens} tokens is read in one step, in which no other answer goes on",
        )


def cpu_notes(host: Host, demand: Demand, placed: Iterable[Placed]) -> Iterator[Warned]:
    here = [one for one in placed if one.device == CPU]
    need = sum(one.need.size for one in here if one.need)
    if host.memory_total and need > host.memory_available:
        parts = ", ".join(f"{one.worker} {gib(one.need.size)}" for one in here if one.need)
        what = f"the workers on it need {gib(need)} ({parts}), {gib(host.memory_available)} of memory are available"
        cost = "The machine swaps or ends one of them: choose smaller models or end other programs"
        yield Warned(CPU, what, cost)
    on_cpu = {one.worker for one in here}
    if host.cores and demand.llm and "llm" in on_cpu and demand.llm.threads > host.cores:
        what = f"workers.llm.threads is {demand.llm.threads}, and there are {host.cores} cores"
        yield Warned(CPU, what, "Its threads wait for each other at every layer: it gets slower, not faster")
