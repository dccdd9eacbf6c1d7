"""A driver for the real binding: the C functions of libnvidia-ml that we call, answering from a recording.

`pynvml` calls these instead of the library's through ctypes, with the same structures, buffers and return codes.
"""

# ruff: noqa: N802 - the C functions' own names

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pynvml  # type: ignore[import-untyped]

from gpu_workers.devices.facts import Card, Machine, Memory, Slice, User

_PART = 1000  # handles: card n is n + 1, its slice m is (n + 1) * 1000 + m


class FakeNvml:
    """`without`: functions that this driver does not have. `failing`: return codes by function."""

    def __init__(
        self,
        machine: Machine,
        *,
        without: frozenset[str] = frozenset(),
        failing: dict[str, int] | None = None,
        names: dict[int, bytes] | None = None,
    ) -> None:
        self._machine = machine
        self._without = without
        self._failing = failing or {}
        self._names = names or {}
        self.open = 0

    def __getattr__(self, name: str) -> Any:
        method = type(self).__dict__.get(f"c_{name}")
        if method is None or name in self._without:
            raise AttributeError(name)
        if code := self._failing.get(name):
            return lambda *_: code
        return method.__get__(self)

    def _card(self, handle: Any) -> Card:
        number = _number(handle)
        return self._machine.cards[(number // _PART if number >= _PART else number) - 1]

    def _unit(self, handle: Any) -> Card | Slice:
        number = _number(handle)
        return self._card(handle).slices[number % _PART] if number >= _PART else self._card(handle)

    def c_nvmlInitWithFlags(self, _flags: int) -> int:
        self.open += 1
        return 0

    def c_nvmlShutdown(self) -> int:
        self.open -= 1
        return 0

    def c_nvmlDeviceGetCount_v2(self, count: Any) -> int:
        return _give(count, len(self._machine.cards))

    def c_nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        return _give_handle(handle, index.value + 1)

    def c_nvmlSystemGetDriverVersion(self, buffer: Any, _size: Any) -> int:
        return _give_text(buffer, self._machine.driver.encode())

    def c_nvmlDeviceGetName(self, handle: Any, buffer: Any, _size: Any) -> int:
        return _give_text(buffer, self._unit(handle).name.encode())

    def c_nvmlDeviceGetUUID(self, handle: Any, buffer: Any, _size: Any) -> int:
        return _give_text(buffer, self._unit(handle).uuid.encode())

    def c_nvmlDeviceGetCudaComputeCapability(self, handle: Any, major: Any, minor: Any) -> int:
        capability = self._card(handle).compute_capability
        return _give(major, capability[0]) or _give(minor, capability[1])

    def c_nvmlDeviceGetMigMode(self, handle: Any, now: Any, pending: Any) -> int:
        mig = self._card(handle).mig
        if mig == "unsupported":
            return int(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return _give(now, int(mig == "on")) or _give(pending, int(mig == "on"))

    def c_nvmlDeviceGetMaxMigDeviceCount(self, _handle: Any, count: Any) -> int:
        return _give(count, 7)

    def c_nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: Any, part: Any) -> int:
        """Places are not taken in a row: a real driver leaves gaps."""
        place, odd = divmod(index.value, 2)
        if odd or place >= len(self._card(handle).slices):
            return int(pynvml.NVML_ERROR_NOT_FOUND)
        return _give_handle(part, _number(handle) * _PART + place)

    def c_nvmlDeviceGetMemoryInfo(self, handle: Any, info: Any) -> int:
        memory = self._unit(handle).memory
        info._obj.total, info._obj.free = memory.total, memory.free
        info._obj.used = memory.total - memory.free
        return 0

    def c_nvmlDeviceGetMemoryInfo_v2(self, handle: Any, info: Any) -> int:
        memory: Memory = self._unit(handle).memory
        assert info._obj.version == pynvml.nvmlMemory_v2
        info._obj.total, info._obj.reserved, info._obj.free = memory.total, memory.reserved, memory.free
        info._obj.used = memory.total - memory.reserved - memory.free
        return 0

    def c_nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, count: Any, processes: Any) -> int:
        return _give_users(
            [user for user in self._unit(handle).users if user.name != "Xorg"], count, processes
        )

    def c_nvmlDeviceGetGraphicsRunningProcesses_v3(self, handle: Any, count: Any, processes: Any) -> int:
        return _give_users(
            [user for user in self._unit(handle).users if user.name == "Xorg"], count, processes
        )

    def c_nvmlSystemGetProcessName(self, pid: Any, buffer: Any, _size: Any) -> int:
        if pid.value in self._names:
            return _give_text(buffer, self._names[pid.value])
        for device in self._machine.devices():
            for user in device.users:
                if user.pid == pid.value:
                    return _give_text(buffer, f"/usr/bin/{user.name}".encode())
        return int(pynvml.NVML_ERROR_NOT_FOUND)

    def c_nvmlDeviceGetCurrPcieLinkGeneration(self, handle: Any, value: Any) -> int:
        return self._link(handle, "generation", value)

    def c_nvmlDeviceGetMaxPcieLinkGeneration(self, handle: Any, value: Any) -> int:
        return self._link(handle, "max_generation", value)

    def c_nvmlDeviceGetCurrPcieLinkWidth(self, handle: Any, value: Any) -> int:
        return self._link(handle, "width", value)

    def c_nvmlDeviceGetMaxPcieLinkWidth(self, handle: Any, value: Any) -> int:
        return self._link(handle, "max_width", value)

    def _link(self, handle: Any, what: str, value: Any) -> int:
        link = self._card(handle).link
        return int(pynvml.NVML_ERROR_NOT_SUPPORTED) if link is None else _give(value, getattr(link, what))


@contextmanager
def driver(fake: FakeNvml | None) -> Iterator[None]:
    """`pynvml` finds this driver, or none at all, as on a machine without one."""
    before = pynvml.nvmlLib, dict(pynvml._nvmlGetFunctionPointer_cache)
    pynvml.nvmlLib = fake
    pynvml._nvmlGetFunctionPointer_cache.clear()
    try:
        yield
    finally:
        pynvml.nvmlLib = before[0]
        pynvml._nvmlGetFunctionPointer_cache.clear()
        pynvml._nvmlGetFunctionPointer_cache.update(before[1])


def _number(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def _give(reference: Any, value: int) -> int:
    reference._obj.value = value
    return 0


def _give_handle(reference: Any, number: int) -> int:
    ctypes.cast(reference, ctypes.POINTER(ctypes.c_void_p))[0] = number
    return 0


def _give_text(buffer: Any, text: bytes) -> int:
    buffer.value = text
    return 0


def _give_users(users: list[User], count: Any, processes: Any) -> int:
    if not users:
        return _give(count, 0)
    if processes is None:
        _give(count, len(users))
        return int(pynvml.NVML_ERROR_INSUFFICIENT_SIZE)
    for place, user in enumerate(users):
        processes[place].pid = user.pid
        unknown = pynvml.NVML_VALUE_NOT_AVAILABLE_ulonglong.value
        processes[place].usedGpuMemory = unknown if user.memory is None else user.memory
    return _give(count, len(users))
