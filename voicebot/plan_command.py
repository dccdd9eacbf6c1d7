"""`voicebot plan`: the plan as tables for people, or as JSON."""

import json
from collections.abc import Iterator
from pathlib import Path

from gpu_workers.devices.demand import Demand
from gpu_workers.devices.facts import GIB, Link, Machine, gib
from gpu_workers.devices.fits import language_fits, whisper_fits
from gpu_workers.devices.nvml import this_machine
from gpu_workers.devices.plan import AS_JSON, CPU, Placed, Plan
from gpu_workers.devices.planner import make_plan
from voicebot.config import Config
from voicebot.planning import demand_of, read_machine
from voicebot.table import table

_REFUSED = 2


def show_devices() -> int:
    print(this_machine().model_dump_json(indent=2))
    return 0


def show_plan(config: Config, devices: Path | None, *, as_json: bool) -> int:
    """Prints it; the exit status is 2 when something does not fit."""
    machine = read_machine(devices) if devices else this_machine()
    demand = demand_of(config)
    plan = make_plan(machine, demand)
    if as_json:
        told = {"plan": AS_JSON.dump_python(plan, mode="json"), "machine": machine.model_dump(mode="json")}
        print(json.dumps(told, indent=2))
    else:
        print("\n\n".join(report(machine, demand, plan)))
    return _REFUSED if plan.refusals else 0


def report(machine: Machine, demand: Demand, plan: Plan) -> Iterator[str]:
    """Paragraphs, without a line end at their ends."""
    yield _machine(machine)
    if plan.placed:
        yield _placements(plan, demand)
        yield _sums(plan)
    if plan.llm and plan.llm.device != CPU:
        yield _vllm(plan)
    if any(machine.devices()):
        context = demand.llm.context_tokens if demand.llm else 4096
        yield _fits(machine, context)
    if plan.warnings:
        yield "\n".join(["Warnings:", *(f"  - {warning}." for warning in plan.warnings)])
    if plan.refusals:
        yield "\n".join(["REFUSED:", *(f"  - {refusal}" for refusal in plan.refusals)])


def _machine(machine: Machine) -> str:
    host = machine.host
    cpu = f"{host.cores} cores, {gib(host.memory_available)} of {gib(host.memory_total)} available"
    if not machine.cards:
        return f"No GPU. CPU: {cpu}."
    rows = []
    for device in machine.devices():
        lanes = _lanes(device.card.link)
        held = ", ".join(f"{user.name or '?'} ({user.pid})" for user in device.users) or "-"
        major, minor = device.card.compute_capability
        free = f"{device.memory.free / GIB:.2f} of {device.memory.usable / GIB:.2f}"
        rows.append((device.label, device.name, free, f"{major}.{minor}", lanes, device.card.mig, held))
    header = ("device", "name", "GiB free", "capability", "PCIe now and at most", "MIG", "used by")
    return f"{table(header, rows)}\nCPU: {cpu}. Driver {machine.driver or 'unknown'}."


def _lanes(link: Link | None) -> str:
    if link is None:
        return "-"
    return f"gen {link.generation} of {link.max_generation}, x{link.width} of x{link.max_width}"


def _placements(plan: Plan, demand: Demand) -> str:
    rows = []
    for placed in plan.placed:
        need = placed.need.shown_gib if placed.need else "?"
        threads = demand.threads(placed.worker)
        on_cpu = f"cpu, {threads} thread{'s' if threads > 1 else ''}"
        device = on_cpu if placed.device == CPU else placed.label
        room = f"{placed.room / GIB:.2f}" if placed.device != CPU else "-"
        most = "-" if placed.most_calls is None else str(placed.most_calls)
        model = f"{placed.model} ({placed.compute_type})" if placed.compute_type else placed.model
        rows.append((placed.worker, model, device, need, room, most, placed.why))
    return table(("worker", "model", "device", "needs GiB", "room GiB", "most calls", "why there"), rows)


def _sums(plan: Plan) -> str:
    return "\n".join(_sum(placed) for placed in plan.placed)


def _sum(placed: Placed) -> str:
    if placed.need is None:
        return f"{placed.worker}: not counted"
    how = "; ".join(f"{term.what}: {term.how}" for term in placed.need.terms if term.how)
    return f"{placed.worker}: {placed.need}\n     {how}"


def _vllm(plan: Plan) -> str:
    llm = plan.llm
    assert llm is not None  # noqa: S101 - its caller looked
    choices = {
        "weights": llm.quantization or "as the model has them",
        "numbers": llm.dtype,
        "KV cache": llm.kv_cache_dtype,
        "prefix caching": "on" if llm.enable_prefix_caching else "off",
        "chunked prefill": "on" if llm.chunked_prefill else "off",
    }
    return (
        f"vLLM gets {100 * llm.memory_share:.2f} % of {llm.device}, for {llm.max_num_seqs} answers at a time, talks of"
        f" {llm.max_model_len} tokens.\n{', '.join(f'{what} {choice}' for what, choice in choices.items())}."
    )


def _fits(machine: Machine, context_tokens: int) -> str:
    labels = [device.label for device in machine.devices()]
    rows = []
    for fit in [*language_fits(machine, context_tokens), *whisper_fits(machine)]:
        if any(fit.calls.values()):
            calls = (
                ("-", "yes")[fit.calls[label]] if fit.is_whisper else str(fit.calls[label] or "-")
                for label in labels
            )
            rows.append((fit.model, fit.kind, f"{fit.size / GIB:.1f}", *calls))
    if not rows:
        return "No model that is known to the plan fits any device."
    lines = [
        table(("what fits where", "weights as", "GiB", *labels), rows),
        f"Each alone on the device. Numbers are calls, each with {context_tokens} tokens of talk in the KV cache.",
        "GiB are those of the weights, and for Whisper all it needs. What is not listed fits nowhere.",
    ]
    return "\n".join(lines)
