"""Which worker on which device, and whether it fits there: the plan. Pure.

The brain (the language model) and the senses (Whisper, the voice) get a card each where there are two; on one card they
share its memory by the sums; without a card they run on the CPU. What is set by hand wins and is checked.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from gpu_workers.devices.demand import AUTO, WORKERS, Demand, LlmDemand, SttDemand, TtsDemand, Worker
from gpu_workers.devices.facts import GIB, Device, Machine, gib
from gpu_workers.devices.limits import (
    llm_refusal,
    missing_device,
    most_calls,
    no_card,
    room_of,
    senses_refusal,
    tokens_of_a_step,
)
from gpu_workers.devices.notes import cpu_notes, device_notes, llm_notes, machine_notes, stt_notes, stt_on_cpu
from gpu_workers.devices.plan import CPU, Dtype, LlmPlacement, Placed, Plan, Refused, Warned
from gpu_workers.devices.sums import Sum

_SHARE_STEP: Final = 10_000  # shares have four decimals


def make_plan(machine: Machine, demand: Demand) -> Plan:
    """Never raises: what cannot be is a refusal, what costs is a warning."""
    return _Planner(machine, demand).plan()


class _Planner:
    def __init__(self, machine: Machine, demand: Demand) -> None:
        self._machine = machine
        self._demand = demand
        self._devices = {device.uuid: device for device in machine.devices()}
        self._room = {uuid: room_of(device) for uuid, device in self._devices.items()}
        self._placed: dict[str, Placed] = {}
        self._refused: list[Refused] = []
        self._warned: list[Warned] = []
        self._llm: LlmPlacement | None = None

    def plan(self) -> Plan:
        demand = self._demand
        # what is set by hand first, the rest around it
        if demand.stt and demand.stt.device != AUTO:
            self._pin_stt(demand.stt)
        if demand.tts:
            self._place_tts(demand.tts)
        if demand.llm:
            self._place_llm(demand.llm)
        if demand.stt and demand.stt.device == AUTO:
            self._choose_stt(demand.stt)
        if demand.llm and (placed := self._placed.get("llm")):
            self._settle_llm(demand.llm, placed)
        in_order = tuple(self._placed[worker] for worker in WORKERS if worker in self._placed)
        self._warn(in_order)
        return Plan(in_order, self._llm, tuple(self._warned), tuple(self._refused))

    # --- Whisper ---------------------------------------------------------------------------------------------------

    def _pin_stt(self, stt: SttDemand) -> None:
        device = self._named("stt", stt.device)
        if device is None:
            if not self._refused:
                self._put_stt(stt, None, stt.compute_type or "int8", "as set")
            return
        kind = stt.compute_type or _whisper_type(device)
        need = stt.need(kind, on_gpu=True)
        if need and need.size > self._room[device.uuid]:
            self._refused.append(
                senses_refusal("stt", device, need, self._room[device.uuid], _stt_mends(stt))
            )
            return
        self._put_stt(stt, device, kind, "as set")

    def _choose_stt(self, stt: SttDemand) -> None:
        brain = self._placed.get("llm")
        taken = brain.device if brain else CPU
        # a card of its own first; then the brain's, if both fit
        candidates = sorted(
            self._devices.values(),
            key=lambda one: (one.uuid == taken, bool(one.users), -self._room[one.uuid], one.label),
        )
        for device in candidates:
            for kind in _whisper_types(stt, device):
                need = stt.need(kind, on_gpu=True)
                alone = device.uuid != taken
                # what is not counted is not put beside anything
                if alone if need is None else need.size <= self._left_beside_brain(device):
                    why = "a card of its own" if alone else "shares the card"
                    self._put_stt(stt, device, kind, why)
                    return
        if candidates and stt.shape:
            self._warned.append(stt_on_cpu(stt, max(map(self._left_beside_brain, candidates))))
        why = "no card has room" if candidates else "no card"
        self._put_stt(stt, None, stt.compute_type or "int8", why)

    def _left_beside_brain(self, device: Device) -> int:
        brain = self._placed.get("llm")
        room = self._room[device.uuid]
        if brain is None or brain.device != device.uuid:
            return room
        share = self._demand.llm.memory_share if self._demand.llm else None
        if share is None:
            return room - (brain.need.size if brain.need else room)
        return min(room, device.memory.free - self._held_beside(device)) - math.ceil(
            share * device.memory.usable
        )

    def _put_stt(self, stt: SttDemand, device: Device | None, compute_type: str, why: str) -> None:
        need = stt.need(compute_type, on_gpu=device is not None)
        self._put(
            Placed("stt", stt.model, _uuid(device), _label(device), need, why, compute_type=compute_type)
        )

    # --- the voice -------------------------------------------------------------------------------------------------

    def _place_tts(self, tts: TtsDemand) -> None:
        """Piper keeps up with a telephone on one core; a card is for those who say so."""
        device = None if tts.device == AUTO else self._named("tts", tts.device)
        if device is None:
            if not any(one.worker == "tts" for one in self._refused):
                why = "Piper needs no card" if tts.device == AUTO else "as set"
                self._put(Placed("tts", tts.voice, CPU, CPU, tts.need(on_gpu=False), why))
            return
        need = tts.need(on_gpu=True)
        if need.size > self._room[device.uuid]:
            mends = ("workers.tts.device: cpu",)
            self._refused.append(senses_refusal("tts", device, need, self._room[device.uuid], mends))
            return
        self._put(Placed("tts", tts.voice, device.uuid, device.label, need, "as set"))

    # --- the language model ----------------------------------------------------------------------------------------

    def _place_llm(self, llm: LlmDemand) -> None:
        if llm.engine == "llama" and llm.device in (AUTO, CPU):
            why = "as set" if llm.device == CPU else "a GGUF model runs on the CPU, by llama.cpp"
            self._put(Placed("llm", llm.model, CPU, CPU, llm.need(0), why))
            return
        if llm.device == CPU:  # vLLM's CPU build, for tests: it sees to its memory itself
            self._put(Placed("llm", llm.model, CPU, CPU, None, "as set"))
            return
        if llm.device == AUTO:
            device = self._best_for_llm(llm)
            if device is None:
                self._refused.append(no_card(self._machine, llm))
                return
        elif (named := self._named("llm", llm.device)) is not None:
            device = named
        else:
            return
        room = self._room[device.uuid]
        refusal = llm_refusal(llm, device, room, self._need_of(llm, device), self._held_beside(device))
        if refusal:
            self._refused.append(refusal)
            return
        why = "as set" if llm.device != AUTO else self._why(device)
        self._put(
            Placed("llm", llm.model, device.uuid, device.label, self._need_of(llm, device), why, room),
            keep=True,
        )

    def _best_for_llm(self, llm: LlmDemand) -> Device | None:
        """Where it fits and no sense lives; else where it fits; else the roomiest, for the refusal to name.

        Of cards that are as roomy to a GiB, one that is not on few PCIe lanes.
        """

        def rank(device: Device) -> tuple[bool, bool, bool, int, bool, int, str]:
            need = self._need_of(llm, device)
            held = self._held_beside(device)
            refused = llm_refusal(llm, device, self._room[device.uuid], need, held) is not None
            old = device.card.compute_capability < (8, 0)
            narrow = device.card.link is not None and device.card.link.narrow
            room = self._room[device.uuid]
            return refused, bool(self._beside(device)), old, -(room // GIB), narrow, -room, device.label

        return min(self._devices.values(), key=rank, default=None)

    def _why(self, device: Device) -> str:
        return "the only card" if len(self._devices) == 1 else f"most room ({gib(self._room[device.uuid])})"

    def _need_of(self, llm: LlmDemand, device: Device) -> Sum | None:
        return llm.need(tokens_of_a_step(llm, device))

    def _settle_llm(self, llm: LlmDemand, placed: Placed) -> None:
        """Its share of the card, now that it is known who else lives there."""
        device = self._devices.get(placed.device)
        if llm.engine == "llama":
            return
        if device is None:
            self._llm = _placement(llm, CPU, 0.0, None)
            return
        room, usable = self._room[device.uuid], max(1, device.memory.usable)
        if llm.memory_share is not None:
            share = llm.memory_share
        elif placed.need is None or self._demand.take_all:
            share = math.floor(room * _SHARE_STEP / usable) / _SHARE_STEP
        else:
            share = math.ceil(placed.need.size * _SHARE_STEP / usable) / _SHARE_STEP
        self._llm = _placement(llm, device.uuid, share, device)
        self._placed["llm"] = replace(
            placed, room=room, most_calls=most_calls(llm, device, int(share * usable))
        )

    # --- what all share --------------------------------------------------------------------------------------------

    def _put(self, placed: Placed, *, keep: bool = False) -> None:
        """`keep`: the language model's part is taken when its share is settled."""
        if placed.device != CPU and placed.need and not keep:
            room, size = self._room[placed.device], placed.need.size
            placed = replace(placed, room=room)
            self._room[placed.device] = room - size
        self._placed[placed.worker] = placed

    def _named(self, worker: Worker, name: str) -> Device | None:
        """The device that is set by hand; None for the CPU, and with a refusal for one that is not there."""
        if name == CPU:
            return None
        label = "cuda:0" if name == "cuda" else name
        for device in self._devices.values():
            if name == device.uuid or label == device.label:
                return device
        self._refused.append(missing_device(worker, label, self._machine))
        return None

    def _held_beside(self, device: Device) -> int:
        return sum(one.need.size for one in self._beside(device) if one.need)

    def _beside(self, device: Device) -> tuple[Placed, ...]:
        return tuple(
            one for one in self._placed.values() if one.device == device.uuid and one.worker != "llm"
        )

    def _warn(self, placed: Sequence[Placed]) -> None:
        self._warned += machine_notes(self._machine, self._demand, placed)
        for device in self._devices.values():
            here = [one for one in placed if one.device == device.uuid]
            self._warned += device_notes(device, here)
        brain = self._placed.get("llm")
        if self._demand.llm and brain:
            self._warned += llm_notes(self._demand.llm, brain, self._devices.get(brain.device))
        if self._demand.stt and (ears := self._placed.get("stt")):
            self._warned += stt_notes(self._demand.stt, ears)
        self._warned += cpu_notes(self._machine.host, self._demand, placed)


def _placement(llm: LlmDemand, uuid: str, share: float, device: Device | None) -> LlmPlacement:
    # bfloat16 came with Ampere; of CPUs only some have it, the others emulate it
    dtype: Dtype = "auto"
    if device is None:
        dtype = "float32"
    elif device.card.compute_capability < (8, 0):
        dtype = "float16"
    return LlmPlacement(
        device=uuid,
        memory_share=share,
        max_model_len=llm.context_tokens,
        max_num_seqs=llm.sequences,
        kv_cache_dtype=llm.kv_cache_dtype,
        quantization=llm.quantization,
        dtype=dtype,
        enable_prefix_caching=llm.prefix_caching,
        chunked_prefill=llm.chunked_prefill,
    )


def _whisper_type(device: Device) -> str:
    return "float16" if device.card.compute_capability >= (7, 0) else "int8"


def _whisper_types(stt: SttDemand, device: Device) -> Iterable[str]:
    """What is set; else exact first, then what takes less."""
    if stt.compute_type:
        return (stt.compute_type,)
    best = _whisper_type(device)
    return (best, "int8_float16") if best == "float16" else (best,)


def _stt_mends(stt: SttDemand) -> tuple[str, ...]:
    smaller = "a smaller workers.stt.model"
    if stt.compute_type in (None, "float16", "float32"):
        return ("workers.stt.compute_type: int8_float16", smaller, "workers.stt.device: cpu")
    return (smaller, "workers.stt.device: cpu")


def _uuid(device: Device | None) -> str:
    return device.uuid if device else CPU


def _label(device: Device | None) -> str:
    return device.label if device else CPU
