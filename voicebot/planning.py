"""From voicebot.yaml to the plan of the devices, and from the plan back to each worker's settings."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from gpu_workers.devices.demand import AUTO, Demand, LlmDemand, SttDemand, TtsDemand
from gpu_workers.devices.facts import Machine
from gpu_workers.devices.local import language_shape, voice_size, whisper_shape
from gpu_workers.devices.nvml import this_machine
from gpu_workers.devices.plan import AS_JSON, CPU, Plan
from gpu_workers.devices.planner import make_plan
from gpu_workers.llm import engine_of
from gpu_workers.settings import WorkerSettings
from voicebot.config import Config, worker_parts
from voicebot.errors import PlanError, UsageError

_LARGEST_FILE = 4 << 20


def demand_of(config: Config, kinds: Iterable[str] = ("stt", "llm", "tts")) -> Demand:
    """What the workers of `kinds` that are started here ask for. Looks at the models' files, where they are here."""
    parts = {name: part for name, part in worker_parts(config).items() if part.start and name in set(kinds)}
    return Demand(
        llm=_llm(config) if "llm" in parts else None,
        stt=_stt(config) if "stt" in parts else None,
        tts=_tts(config) if "tts" in parts else None,
    )


def _llm(config: Config) -> LlmDemand:
    llm = config.workers.llm
    engine = engine_of(llm)
    shape, about = language_shape(llm.model)
    if shape and llm.quantization and llm.quantization != shape.quantization:
        shape = shape.quantized(llm.quantization, 8 if llm.quantization == "fp8" else 4)
    # vLLM shares its memory between all answers; each of llama.cpp's has a fixed part of it and of the cores
    chosen = engine == "llama" or "parallel" in llm.model_fields_set
    return LlmDemand(
        device=llm.device,
        model=llm.model,
        shape=shape,
        engine=engine,
        calls=config.calls.max_calls * config.calls.processes,
        context_tokens=llm.context_tokens,
        parallel=llm.parallel if chosen else None,
        quantization=llm.quantization,
        kv_cache_dtype=llm.kv_cache_dtype,
        prefix_caching=llm.prefix_caching,
        chunked_prefill=llm.chunked_prefill,
        memory_share=llm.memory_share,
        threads=llm.threads,
        unknown="" if shape else about,
    )


def _stt(config: Config) -> SttDemand:
    stt = config.workers.stt
    chosen = stt.device != AUTO or "compute_type" in stt.model_fields_set
    return SttDemand(
        device=stt.device,
        model=stt.model,
        shape=whisper_shape(stt.model),
        compute_type=stt.compute_type if chosen else None,
        copies=stt.copies,
        threads=stt.threads,
        beam=stt.beam,
    )


def _tts(config: Config) -> TtsDemand:
    tts = config.workers.tts
    return TtsDemand(tts.device, tts.voice, voice_size(tts.voice), tts.parallel, tts.threads)


def plan_of(config: Config) -> Plan:
    """For everything that `voicebot up` starts here. Raises PlanError when it is refused."""
    demand = demand_of(config)
    return _accepted(make_plan(_machine_for(demand), demand))


def plan_of_one(config: Config, kind: str) -> Plan:
    """For one worker that is started by itself: others may live here already or come later. Raises PlanError."""
    demand = replace(demand_of(config, (kind,)), take_all=False)
    return _accepted(make_plan(_machine_for(demand), demand))


def _machine_for(demand: Demand) -> Machine:
    """The driver is not asked about cards that nobody wants: a broken one stops no worker on the CPU."""
    return this_machine(cards=any(device != CPU for _, device in demand.devices()))


def _accepted(plan: Plan) -> Plan:
    if plan.refusals:
        told = "\n".join(str(refusal) for refusal in plan.refusals)
        raise PlanError(f"the models do not fit this machine (see `voicebot plan`)\n{told}")
    return plan


def read_machine(file: Path) -> Machine:
    """A recording, as `voicebot plan --show-devices` prints it. Raises UsageError."""
    try:
        return Machine.model_validate_json(_text(file, "a recording of devices"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{file}: {where + ': ' if where else ''}{first['msg'][0].lower()}{first['msg'][1:]};"
            " `voicebot plan --show-devices` prints a recording of a machine"
        ) from None


def write_plan(plan: Plan, file: Path) -> None:
    file.write_bytes(AS_JSON.dump_json(plan))


def read_plan(file: Path) -> Plan:
    """What `write_plan` or `voicebot plan --json` wrote. Raises UsageError, or PlanError for a refused one."""
    text = _text(file, "a plan")
    try:
        data = json.loads(text)
        plan = AS_JSON.validate_python(data.get("plan", data) if isinstance(data, dict) else data)
    except (ValueError, RecursionError):
        raise UsageError(f"{file}: is no plan; `voicebot plan --json` prints one") from None
    return _accepted(plan)


def _text(file: Path, what: str) -> str:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise UsageError(f"{file}: too large to be {what}")
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: is not {what}: no text (UTF-8)") from None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None


def planned(config: Config, plan: Plan, kind: str) -> Config:
    """`config` with one worker's device, and Whisper's number type, as the plan has them.

    Raises PlanError when the plan is of another configuration.
    """
    placed = plan.of(kind)
    if placed is None:
        raise PlanError(f"the plan places no {kind} worker: it was made for another configuration")
    changes: dict[str, object] = {"device": placed.label}
    if placed.compute_type:
        changes["compute_type"] = placed.compute_type
    workers = config.workers
    part: WorkerSettings = worker_parts(config)[kind].model_copy(update=changes)
    return config.model_copy(update={"workers": workers.model_copy(update={kind: part})})


def card_environment(plan: Plan, kind: str) -> Mapping[str, str]:
    """What makes a process see the one card that is its own, or none: no library then uses another's by itself."""
    placed = plan.of(kind)
    card = "" if placed is None or placed.device == CPU else placed.device
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": card}
