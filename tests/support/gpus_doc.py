"""The tables and sums of docs/gpus.md, made by the planner. `python -m tests.support.gpus_doc` writes them anew."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpu_workers.devices.demand import GPU_BATCH
from gpu_workers.devices.facts import GIB, MIB
from gpu_workers.devices.fits import KINDS, MODELS, WHISPERS, calls_on
from gpu_workers.devices.language import CONTEXT, GRAPHS, KV_BLOCK, LLAMA_WORK
from gpu_workers.devices.limits import USABLE_PART, room_of
from gpu_workers.devices.plan import Plan
from gpu_workers.devices.planner import make_plan
from gpu_workers.devices.shapes import KNOWN, known_shape
from gpu_workers.devices.speech import CONTEXT as WHISPER_CONTEXT
from gpu_workers.devices.speech import ONNX_CUDA, PROCESS, WHISPER, whisper_need
from tests.support.machines import machine
from voicebot.config import parse
from voicebot.plan_command import report
from voicebot.planning import demand_of

PAGE = Path(__file__).parents[2] / "docs" / "gpus.md"
CARDS: Mapping[str, str] = {
    "12 GB": "one_card_12",
    "16 GB": "one_card_16_old",
    "24 GB": "one_card_24",
    "48 GB": "one_card_48",
    "80 GB": "one_card_80",
    "141 GB": "one_card_140",
}
CONTEXT_TOKENS = 4096
TWO_CARDS = """workers:
  stt: {device: auto, model: /models/faster-whisper-small}
  llm: {device: auto, model: Qwen/Qwen2.5-7B-Instruct-AWQ}
"""
TOO_MUCH = """workers:
  stt: {device: auto}
  llm: {device: auto, model: meta-llama/Llama-3.1-8B-Instruct}
"""


def rendered(page: str) -> str:
    """`page` with every block between `<!-- planner: NAME -->` and `<!-- end -->` made anew."""

    def block(match: re.Match[str]) -> str:
        return f"<!-- planner: {match[1]} -->\n{_BLOCKS[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- planner: (\S+) -->\n.*?<!-- end -->", block, page, flags=re.DOTALL)


def names(page: str) -> set[str]:
    return set(re.findall(r"<!-- planner: (\S+) -->", page))


def _markdown(header: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _room() -> str:
    devices = {name: next(machine(file).devices()) for name, file in CARDS.items()}
    rows = (
        (
            name,
            device.name.removeprefix("NVIDIA ").removeprefix("GeForce "),
            f"{device.memory.total / GIB:.2f}",
            f"{device.memory.usable / GIB:.2f}",
            f"{room_of(device) / GIB:.2f}",
        )
        for name, device in devices.items()
    )
    return _markdown(("card", "for example", "nvidia-smi says GiB", "programs see", "room for models"), rows)


def _models() -> str:
    rows = (
        (
            name,
            *(f"{KNOWN[name].quantized(kind, bits).weight_bytes() / GIB:.1f}" for _, kind, bits in KINDS),
            f"{KNOWN[name].kv_bytes_a_token() / 1024:g} KiB",
            f"{CONTEXT_TOKENS * KNOWN[name].kv_bytes_a_token() / GIB:.2f}",
        )
        for name in MODELS
    )
    header = (
        "model",
        "weights in 16 bits",
        "fp8",
        "4 bits",
        "KV cache a token",
        f"a call of {CONTEXT_TOKENS} tokens",
    )
    return _markdown(header, rows)


def _calls() -> str:
    devices = [next(machine(file).devices()) for file in CARDS.values()]

    def rows() -> Iterator[Sequence[str]]:
        for name in MODELS:
            for words, kind, bits in KINDS:
                shape = KNOWN[name].quantized(kind, bits)
                calls = [calls_on(device, shape, CONTEXT_TOKENS) for device in devices]
                if any(calls):
                    yield (name, words, *(str(one or "-") for one in calls))

    return _markdown(("model", "weights", *CARDS), rows())


def _whisper() -> str:
    def size(name: str, kind: str) -> str:
        need = whisper_need(WHISPER[name], kind, batch=GPU_BATCH, copies=1, on_gpu=True, beam=5)
        return f"{need.size / GIB:.1f}"

    rows = ((name, size(name, "float16"), size(name, "int8_float16")) for name in WHISPERS)
    return _markdown((f"Whisper, {GPU_BATCH} utterances at a time", "float16 GiB", "int8_float16 GiB"), rows)


def _allowances() -> str:
    def gib(size: int) -> str:
        return f"{size / GIB:.2g} GiB"

    rows = iter(
        [
            (
                "vLLM: CUDA context and libraries",
                gib(CONTEXT),
                "vLLM logs 0.3 to 0.6 GiB as non-torch memory",
            ),
            ("vLLM: CUDA graphs", gib(GRAPHS), "vLLM logs 0.22 to 0.75 GiB"),
            ("vLLM: a block of the KV cache", f"{KV_BLOCK} tokens", "a talk takes whole blocks"),
            (
                "llama.cpp: compute buffers",
                gib(LLAMA_WORK),
                "the sum for the default model is its measured size",
            ),
            (
                "Whisper on a card: context and libraries",
                gib(WHISPER_CONTEXT),
                "within 2 % of public measurements, see above",
            ),
            ("Piper on a card", gib(ONNX_CUDA), "not measured"),
            ("a worker on the CPU", f"{PROCESS // MIB} MiB", "Piper measured at 247 MB with its voice"),
            ("left free on each card", f"{100 * (1 - USABLE_PART):.0f} %", "what vLLM leaves by itself"),
        ]
    )
    return _markdown(("allowance", "size", "rests on"), rows)


# peak resident memory of the workers of the defaults after a request, x86-64, Python 3.11; llm: xllamacpp with 4 slots
MEASURED_GIB = {"stt": 0.36, "llm": 1.83, "tts": 0.22}


def _cpu() -> str:
    demand = demand_of(parse("", "voicebot.yaml", {}))
    plan = make_plan(machine("none"), demand)
    rows = (
        (one.worker, one.model, one.need.shown_gib, f"{MEASURED_GIB[one.worker]:.2f}")
        for one in plan.placed
        if one.need
    )
    return _markdown(("worker", "model", "planned GiB", "measured GiB"), rows)


def _plan(text: str, name: str) -> tuple[str, ...]:
    demand = demand_of(parse(text, "voicebot.yaml", {}))
    assert demand.llm is not None
    # by its name, whatever of it is on this machine
    demand = replace(demand, llm=replace(demand.llm, shape=known_shape(demand.llm.model), unknown=""))
    plan: Plan = make_plan(machine(name), demand)
    return tuple(report(machine(name), demand, plan))


def _two_cards() -> str:
    shown = [part for part in _plan(TWO_CARDS, "two_cards") if not part.startswith("what fits where")]
    return "\n".join(["```yaml", TWO_CARDS + "```", "```", "\n\n".join(shown), "```"])


def _refused() -> str:
    return "\n".join(["```yaml", TOO_MUCH + "```", "```", _plan(TOO_MUCH, "one_card_24")[-1], "```"])


_BLOCKS: Mapping[str, Callable[[], str]] = {
    "room": _room,
    "models": _models,
    "calls": _calls,
    "whisper": _whisper,
    "allowances": _allowances,
    "cpu": _cpu,
    "two-cards": _two_cards,
    "refused": _refused,
}
BLOCKS = frozenset(_BLOCKS)

if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
