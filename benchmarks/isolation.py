"""What a busy language model costs the recogniser beside it: on the same device, and on one of its own.

    python -m benchmarks.isolation [--devices cuda:0,cuda:1] [--llm MODEL] [--stt MODEL] [--quick]

Without cards, halves of this machine's cores stand in for two devices. The recogniser has the second device in all
three cases; the language model has nothing to do, works on that device too, or works on the first.
"""

import argparse
import asyncio
import itertools
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import SOCK_STREAM

import numpy as np
import yaml

from benchmarks.report import publish, table
from caller_phone.speech_file import load
from gpu_workers.client import LlmClient, Message, SttClient, health, worker_session
from gpu_workers.settings import WorkersSettings
from tests.support.rig import free_ports
from voicebot.config import parse
from voicebot.interrupts import run_until_interrupted
from voicebot.supervise import Child, supervised

SPEECH = Path(__file__).parent / "speech"
RATE = 8000
UTTERANCE_S = 3.0
PAUSE_S = 0.2
START_S = 600.0
NICE = {"stt": 5, "llm": 10}  # as `voicebot up` starts them; cards know no such thing
WHAT = """One utterance of three seconds after another is recognised, a fifth of a second apart, by a worker process
over HTTP. `alone`: the language model has nothing to do. `same device`: `writers` answers are written all the time on
the device of the recogniser; `recogniser first`: with the priorities of processes that `voicebot up` sets. `own
device`: the same on the other one. Each case starts both workers anew.
{devices} `words/s` is what the language model writes meanwhile, in pieces of its stream."""
STORY = "Tell me a long story about a lighthouse keeper, and do not stop before it has five hundred words."


@dataclass(frozen=True, slots=True)
class Device:
    """A card, or some cores that stand in for one."""

    name: str
    cores: tuple[int, ...]

    @property
    def threads(self) -> int:
        return len(self.cores)


@dataclass(slots=True)
class Case:
    """Where the language model is, and what was measured: seconds for each utterance, pieces written a second."""

    name: str
    llm: Device
    writers: int
    nice: Mapping[str, int] = field(default_factory=dict)
    waits_s: list[float] = field(default_factory=list)
    written_a_second: float = 0.0

    def ms(self, percent: float) -> int:
        return round(float(np.percentile(self.waits_s, percent)) * 1000)


def devices(named: str | None) -> tuple[Device, Device]:
    """The two cards that were named, or the halves of our cores."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("benchmarks.isolation needs two cores at least")
    if named is None:
        half = len(cores) // 2
        return Device("cpu", tuple(cores[:half])), Device("cpu", tuple(cores[half:]))
    first, comma, second = named.partition(",")
    if not comma or not first.startswith("cuda") or not second.startswith("cuda"):
        raise SystemExit(f"--devices {named}: name two cards, as in cuda:0,cuda:1")
    return Device(first, tuple(cores)), Device(second, tuple(cores))


def configuration(stt: Device, llm: Device, writers: int, chosen: argparse.Namespace) -> str:
    stt_port, llm_port = free_ports(2, SOCK_STREAM)
    workers: dict[str, dict[str, object]] = {
        "stt": {"port": stt_port, "device": stt.name, "turn_model": None},
        "llm": {"port": llm_port, "device": llm.name, "threads": llm.threads, "parallel": writers},
    }
    for name, model in (("stt", chosen.stt), ("llm", chosen.llm)):
        if model is not None:
            workers[name]["model"] = model
    if stt.name != "cpu":
        workers["stt"]["compute_type"] = "float16"
    return yaml.safe_dump({"workers": workers})


@asynccontextmanager
async def workers(
    text: str, held: Mapping[str, Device], nice: Mapping[str, int], hurry: asyncio.Event
) -> AsyncIterator[WorkersSettings]:
    """Both workers, each held to its cores, ready."""
    settings = parse(text, "isolation", os.environ).workers
    with tempfile.TemporaryDirectory(prefix="voicebot-bench-") as folder:
        file = Path(folder) / "voicebot.yaml"
        file.write_text(text, encoding="utf-8")
        children = [
            Child(name, _command(name, device, file), Path(folder) / f"{name}.log", nice=nice.get(name, 0))
            for name, device in held.items()
        ]
        async with supervised(children, _say, hurry):
            await _ready([settings.stt.base_url, settings.llm.base_url])
            yield settings


def _command(name: str, device: Device, file: Path) -> tuple[str, ...]:
    cores = ",".join(map(str, device.cores))
    return (sys.executable, "-m", "benchmarks.isolation_worker", cores, name, str(file))


async def _ready(urls: Sequence[str]) -> None:
    async with worker_session() as http, asyncio.timeout(START_S):
        for url in urls:
            while not (await health(http, url)).ready:  # noqa: ASYNC110 - another process has to be asked
                await asyncio.sleep(0.2)


async def measure(case: Case, settings: WorkersSettings, utterances: Sequence[bytes]) -> None:
    async with SttClient(settings.stt.base_url) as stt, LlmClient(settings.llm.base_url) as llm:
        await _recognise(stt, utterances[0])  # the first one of a worker is slower, whatever is beside it
        written = itertools.count()
        async with asyncio.TaskGroup() as group:
            writers = [group.create_task(_write(llm, number, written)) for number in range(case.writers)]
            if writers:
                await asyncio.sleep(2)
            before, began = next(written), time.monotonic()
            for utterance in utterances:
                case.waits_s.append(await _recognise(stt, utterance))
                await asyncio.sleep(PAUSE_S)
            case.written_a_second = (next(written) - before - 1) / (time.monotonic() - began)
            for writer in writers:
                writer.cancel()


async def _recognise(stt: SttClient, utterance: bytes) -> float:
    began = time.monotonic()
    await stt.transcribe(
        utterance, RATE, priority="final", deadline_ms=None, call_id="isolation", language="en"
    )
    return time.monotonic() - began


async def _write(llm: LlmClient, number: int, written: "itertools.count[int]") -> None:
    """One answer after another, for ever."""
    messages = [Message("user", f"{STORY} It is story number {number}.")]
    while True:
        async with llm.stream(
            messages, max_tokens=500, temperature=0.7, call_id=f"writer-{number}"
        ) as answer:
            async for _ in answer:
                next(written)


def utterances(count: int) -> list[bytes]:
    """Recorded questions, each cut or filled with silence to three seconds."""
    length = int(UTTERANCE_S * RATE)
    clips = [load(path) for path in sorted(SPEECH.glob("*.wav"))]
    whole = [np.pad(clip[:length], (0, max(0, length - len(clip)))).astype("<i2").tobytes() for clip in clips]
    return list(itertools.islice(itertools.cycle(whole), count))


def report(cases: Sequence[Case], where: str, models: str, *, keep: bool) -> None:
    alone, same, *_, own = cases
    rows = [
        (
            case.name, case.writers, len(case.waits_s), case.ms(50), case.ms(95),
            f"{case.ms(50) / alone.ms(50):.2f}", f"{case.written_a_second:.1f}",
        )
        for case in cases
    ]  # fmt: skip
    header = ("case", "writers", "utterances", "p50 ms", "p95 ms", "p50 to alone", "words/s")
    result = {
        "alone_p50_ms": alone.ms(50),
        "same_p50_ms": same.ms(50),
        "own_p50_ms": own.ms(50),
        "alone_p95_ms": alone.ms(95),
        "same_p95_ms": same.ms(95),
        "own_p95_ms": own.ms(95),
        "same_to_alone": round(same.ms(50) / alone.ms(50), 2),
        "own_to_alone": round(own.ms(50) / alone.ms(50), 2),
        "same_to_own": round(same.ms(50) / own.ms(50), 2),
    }
    publish("isolation", WHAT.format(devices=where), [table(header, rows)], result, models=models, keep=keep)


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", help="two cards, as cuda:0,cuda:1; else halves of the cores")
    parser.add_argument("--stt", metavar="MODEL", help="the recogniser, if not the default")
    parser.add_argument("--llm", metavar="MODEL", help="the language model, if not the default")
    parser.add_argument("--writers", type=int, default=2, help="answers written side by side (2)")
    parser.add_argument("--utterances", type=int, default=40, help="recognised in each case (40)")
    parser.add_argument("--quick", action="store_true", help="eight utterances; the result is not kept")
    chosen = parser.parse_args()
    first, second = devices(chosen.devices)
    spoken = utterances(8 if chosen.quick else chosen.utterances)
    cases = [
        Case("alone", first, 0),
        Case("same device", second, chosen.writers),
        *([] if chosen.devices else [Case("same device, recogniser first", second, chosen.writers, NICE)]),
        Case("own device", first, chosen.writers),
    ]

    async def run(hurry: asyncio.Event) -> int:
        models = ""
        for case in cases:
            _say(f"{case.name}: starting both workers")
            text = configuration(second, case.llm, chosen.writers, chosen)
            async with workers(text, {"stt": second, "llm": case.llm}, case.nice, hurry) as settings:
                await measure(case, settings, spoken)
                models = f"STT {settings.stt.model} {settings.stt.compute_type}, LLM {settings.llm.model}"
        where = (
            f"The devices are {first.name} and {second.name}."
            if chosen.devices
            else f"Cores {first.cores} stand in for one device, cores {second.cores} for the other; they share "
            "the memory and its bandwidth, which two cards do not."
        )
        report(cases, where, models, keep=not chosen.quick)
        return 0

    return run_until_interrupted(run, lambda: _say("Stopping."))


if __name__ == "__main__":
    raise SystemExit(main())
