"""The facts of this machine: its cards by NVML, its cores and memory by the kernel."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from gpu_workers.devices.facts import Card, Host, Link, Machine, Memory, Mig, Slice, User

T = TypeVar("T")

# a card that says this is out of order; whatever else keeps a fact back that can be done without does not
_OUT_OF_ORDER = {"NVMLError_GpuIsLost", "NVMLError_ResetRequired", "NVMLError_Uninitialized"}
_NO_DRIVER = {"NVMLError_LibraryNotFound", "NVMLError_DriverNotLoaded"}
_MENDS = {
    "NVMLError_LibRmVersionMismatch": "the driver was updated while it ran: restart the machine",
    "NVMLError_NoPermission": "this user may not ask it: add the user to the group of /dev/nvidia* (often video)",
    "NVMLError_GpuIsLost": "a card fell off the bus: look for Xid in `dmesg`, then restart the machine",
    "NVMLError_ResetRequired": "a card wants a reset: `nvidia-smi --gpu-reset`, or restart the machine",
    "NVMLError_OperatingSystem": "the container was started without its cards: `docker run --gpus all`",
    "NVMLError_Unknown": "if `nvidia-smi` fails too, restart the container, or the machine",
    "NVMLError_IrqIssue": "the card's interrupts do not arrive: try another slot",
    "NVMLError_InsufficientPower": "a card lacks its power plug",
}
_NOT_INSTALLED = "nvidia-ml-py is not installed: pip install nvidia-ml-py"


def this_machine(*, cards: bool = True) -> Machine:
    """Never raises for what the driver does: what went wrong is `problem`, with the mend. Without `cards` the driver
    is not asked at all."""
    host = _host()
    if not cards:
        return Machine(host=host)
    try:
        import pynvml  # type: ignore[import-untyped]
    except ImportError:
        return Machine(host=host, problem=_NOT_INSTALLED)
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Machine(host=host, problem=_problem(error))
    try:
        return _machine(pynvml, host)
    except pynvml.NVMLError as error:
        return Machine(host=host, problem=_problem(error))
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _problem(error: Exception) -> str:
    """Empty for a machine without NVIDIA's driver, which is a machine without a GPU to us."""
    kind = type(error).__name__
    if kind in _NO_DRIVER:
        return ""
    mend = _MENDS.get(kind, "see whether `nvidia-smi` works")
    return f"the NVIDIA driver answers {str(error) or kind!r}: {mend}"


def _machine(nvml: Any, host: Host) -> Machine:
    cards: list[Card] = []
    problems: list[str] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            cards.append(_card(nvml, nvml.nvmlDeviceGetHandleByIndex(index), index))
        except nvml.NVMLError as error:  # one card in trouble hides no other
            problems.append(f"cuda:{index}: {_problem(error) or error}")
        except ValueError as error:  # a size or a text that cannot be: also of the models of `facts`
            problems.append(f"cuda:{index}: the NVIDIA driver tells what cannot be ({_first_line(error)})")
    driver = _optional(nvml, nvml.nvmlSystemGetDriverVersion, "")
    return Machine(cards=tuple(cards), host=host, driver=_text(driver), problem="; ".join(problems))


def _card(nvml: Any, handle: Any, index: int) -> Card:
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    mode = _optional(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle)[0], None)
    mig: Mig = "unsupported" if mode is None else "on" if mode == nvml.NVML_DEVICE_MIG_ENABLE else "off"
    return Card(
        index=index,
        name=_text(nvml.nvmlDeviceGetName(handle)),
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        memory=_memory(nvml, handle),
        compute_capability=(major, minor),
        link=_optional(nvml, lambda: _link(nvml, handle), None),
        mig=mig,
        slices=tuple(_slices(nvml, handle)) if mig == "on" else (),
        users=_users(nvml, handle),
    )


def _link(nvml: Any, handle: Any) -> Link:
    return Link(
        generation=nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle),
        max_generation=nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle),
        width=nvml.nvmlDeviceGetCurrPcieLinkWidth(handle),
        max_width=nvml.nvmlDeviceGetMaxPcieLinkWidth(handle),
    )


def _memory(nvml: Any, handle: Any) -> Memory:
    """The first version counts what the driver reserves as used; the second tells it apart."""
    second = _optional(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2), None)
    if second is not None:
        return Memory(total=second.total, reserved=second.reserved, free=second.free)
    first = nvml.nvmlDeviceGetMemoryInfo(handle)
    return Memory(total=first.total, free=first.free)


def _slices(nvml: Any, handle: Any) -> Iterator[Slice]:
    for place in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
        except nvml.NVMLError_NotFound:  # a place that is not taken
            continue
        yield Slice(
            uuid=_text(nvml.nvmlDeviceGetUUID(part)),
            name=_text(nvml.nvmlDeviceGetName(part)),
            memory=_memory(nvml, part),
            users=_users(nvml, part),
        )


def _users(nvml: Any, handle: Any) -> tuple[User, ...]:
    """Programs that compute and programs that draw; one that does both is listed once."""
    found: dict[int, User] = {}
    for ask in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
        running: list[Any] = _optional(nvml, partial(ask, handle), [])
        for process in running:
            name = _optional(nvml, partial(nvml.nvmlSystemGetProcessName, process.pid), "")
            found[process.pid] = User(
                pid=process.pid, name=Path(_text(name)).name, memory=process.usedGpuMemory
            )
    return tuple(found[pid] for pid in sorted(found))


def _optional(nvml: Any, ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except ValueError:  # the binding wants UTF-8 of every process name; a link of 4294967295 lanes
        return otherwise
    except nvml.NVMLError as error:
        if type(error).__name__ in _OUT_OF_ORDER:
            raise
        return otherwise


def _first_line(error: ValueError) -> str:
    return " ".join(str(error).split())[:120]


def _text(value: str | bytes) -> str:
    """Bindings before 11.515 answer with bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _host() -> Host:
    total, available = _kernel_memory()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0
    return Host(cores=cores, memory_total=total, memory_available=available)


def _kernel_memory() -> tuple[int, int]:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:  # not Linux
        return 0, 0
    found = {line.partition(":")[0]: line.split()[1:2] for line in text.splitlines()}
    sizes = [int((found.get(key) or ["0"])[0]) * 1024 for key in ("MemTotal", "MemAvailable")]
    return sizes[0], sizes[1]
