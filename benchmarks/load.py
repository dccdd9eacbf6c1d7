"""How many calls at a time this machine carries, and how well: real calls of SIPp with recorded speech.

    python -m benchmarks.load [--calls 1,8,16,32,64] [--seconds 35] [--models fake|real] [-c voicebot.yaml]
        [--soak MINUTES] [--speech DIR] [--keep-pcap DIR] [--no-keep]

Starts Asterisk, the call process and its workers, fake ones with set latencies or the real models, and lets SIPp call:
each caller plays questions with pauses, some interrupt the answers, some hang up in mid-speech. A tap between SIPp and
Asterisk writes down each call's SIP and RTP; every figure of sound is read off that. The last step has more callers
than places (`calls.max_calls` is the largest of --calls). The status is 1 when a call was lost, an answer never came,
or something was left behind; slowness is no fault here.
"""

import argparse
import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.load_kit import soak
from benchmarks.load_kit.callers import judged, sipp_calls
from benchmarks.load_kit.card import HEARD, Step, cost_table, faults, heard_row, result, wire_note
from benchmarks.load_kit.leaks import baseline_of, left_behind
from benchmarks.load_kit.parts import Open, spent
from benchmarks.load_kit.plan import Pace, in_one_breath, starts_a_second, talk
from benchmarks.load_kit.ruler import CallFigures
from benchmarks.load_kit.system import Bench, fake_system, real_system, tapped
from benchmarks.load_kit.workers import as_arguments, latency_arguments
from benchmarks.report import publish, table
from caller_phone.errors import SpeechFileError
from caller_phone.g711 import Samples
from caller_phone.speech_file import load
from gpu_workers.settings import WorkersSettings
from voicebot.cli.failures import expected, leaves
from voicebot.config import parse, read_text
from voicebot.interrupts import run_until_interrupted

SPEECH = Path(__file__).parent / "speech"
INTERRUPTION = "no01.wav"
FAKE_CALLS, REAL_CALLS = (1, 8, 16, 32, 64), (1, 2, 4)
RAMP_S = 8.0
# so many different callers in a step; more calls share them
MOST_TALKS = 16
# one caller alone asks few questions
ALONE = 2.2
END_S = 30.0
PACES = {
    "fake": Pace(greeting_s=2.5, answer_s=(5.4, 6.8), interrupt_s=(1.5, 2.6)),
    "real": Pace(greeting_s=4.5, answer_s=(9.0, 11.0), interrupt_s=(3.0, 4.0)),
}
# a caller who waited so long and heard nothing was not answered
PATIENCE_S = {"fake": 4.0, "real": 8.0}

WHAT = """Calls of SIPp over this machine's loopback, {ramp:.0f} s to begin them all, {seconds:g} s each: recorded
questions with pauses, three answers of ten interrupted, every second caller hangs up in the middle of a sentence,
their own or the bot's. All times in ms, of the sound on the caller's wire: set-up is INVITE to 200, greeting that to
the first sound, response the caller's last voiced sample to the first sound of the answer, cut the first voiced sample
of an interruption to the bot's last one, gap the time between two packets from Asterisk. Missing: not answered though
the caller waited {patience:g} s. Early: the bot spoke before the caller had finished. The last row has more callers
than places: those beyond hear from the dialplan that all lines are busy, and stand under refused, with their own time
from INVITE to 200.{models}"""
COST = """What it took, in percent of one core and MiB, while all calls talked. SIPp and the wire (the tap between SIPp
and Asterisk) are the measurement: with phones elsewhere that much more is left. * beside a row: more than a tenth of
the machine was busy with something else, the row is noise."""
FAKES = """ Fake workers: a transcript takes
{0.stt_ms:g} ms, the first token {0.first_token_ms:g}, each further word {0.token_ms:g}, the first sound of a sentence
{0.tts_ms:g}."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a run is asked to do. `clips`: the questions, and last what interrupts."""

    models: str
    clips: Sequence[Samples]
    seconds: float
    pace: Pace
    keep_pcap: Path | None

    @property
    def patience_s(self) -> float:
        return PATIENCE_S[self.models]


def read_clips(folder: Path, *, one_breath: bool) -> list[Samples]:
    """The questions of a folder, and last of all what interrupts. SystemExit says what is missing."""
    interruption = folder / INTERRUPTION
    try:
        found = [load(path) for path in sorted(folder.glob("*.wav")) if path != interruption]
        questions = [clip for clip in found if not one_breath or in_one_breath(clip)]
        if not questions or not interruption.exists():
            raise SystemExit(
                f"{folder} needs WAV files of questions (with fake workers, some without a pause inside) and"
                f" {INTERRUPTION}, which interrupts an answer"
            )
        return [*questions, load(interruption)]
    except SpeechFileError as error:
        raise SystemExit(str(error)) from error


async def step(bench: Bench, sip_port: int, folder: Path, load: Load, calls: int) -> Step:
    """One rung of the ladder: so many calls, all of them at the same time."""
    seconds = load.seconds * (ALONE if calls == 1 else 1)
    talks = [talk(number, load.clips, seconds, load.pace) for number in range(min(calls, MOST_TALKS))]
    rate = starts_a_second(calls, RAMP_S)
    _say(f"{calls} calls")
    apologies = await _apologies(bench)
    all_up_s, first_leaves_s = calls / rate, min(one.hang_up_s for one in talks)
    async with sipp_calls(bench, sip_port, talks, load.clips, calls=calls, at_once=calls, rate=rate) as sipp:
        await asyncio.sleep(all_up_s)
        before = bench.now()
        await asyncio.sleep(max(first_leaves_s - all_up_s, 2.0))
        after = bench.now()
        if not await sipp.ended(max(one.hang_up_s for one in talks) + END_S):
            _say("SIPp did not end by itself")
        _tell(sipp.errors())
    figures = await _all_judged(folder, calls, load.keep_pcap and load.keep_pcap / f"{calls}-calls")
    apologies = await _apologies(bench) - apologies
    return Step(
        calls, bench.config.calls.max_calls, figures, spent(before, after), load.patience_s, apologies
    )


async def _all_judged(folder: Path, calls: int, keep: Path | None) -> list[CallFigures]:
    """Those of the calls that are over; who is still in the line after a while is none of them."""
    figures: list[CallFigures] = []
    for _ in range(20):
        figures += await judged(folder, keep)
        if len(figures) >= calls:
            break
        await asyncio.sleep(0.2)
    return figures


async def ladder(bench: Bench, load: Load, rungs: Sequence[int]) -> tuple[list[Step], dict[str, int]]:
    """All steps, and what was left behind after the last one."""
    async with _on_the_wire(bench) as (sip_port, folder):
        baseline = await _warmed_up(bench, sip_port, folder, load)
        steps = [await step(bench, sip_port, folder, load, calls) for calls in rungs]
        return steps, await left_behind(bench, baseline)


async def _warmed_up(bench: Bench, sip_port: int, folder: Path, load: Load) -> dict[str, Open]:
    """What is open after a first short call: what is made with that is no leak."""
    short = replace(load, seconds=1.0, pace=Pace(1.5, (2.0, 2.5), (1.0, 1.5)), keep_pcap=None)
    await step(bench, sip_port, folder, short, 1)
    return await baseline_of(bench)


@contextlib.asynccontextmanager
async def _on_the_wire(bench: Bench) -> AsyncIterator[tuple[int, Path]]:
    with tempfile.TemporaryDirectory(prefix="voicebot-load-") as name:
        async with tapped(bench, Path(name)) as sip_port:
            yield sip_port, Path(name)


async def _apologies(bench: Bench) -> int:
    counted = await bench.metrics()
    return round(
        sum(
            value
            for name, value in counted.items()
            if name.startswith("voicebot_turns_total{") and 'saying="apology"' in name
        )
    )


def _tell(errors: str) -> None:
    """What SIPp found strange. That no BYE comes while a caller talks is how the talk ends."""
    usual = (
        "The following events occurred",
        "receive timeout on message",
        "Resolving remote host",
        "more errors, see",
    )
    lines = [line for line in errors.splitlines() if line.strip() and not any(part in line for part in usual)]
    if lines:
        _say("SIPp says: " + " / ".join(dict.fromkeys(lines))[:1000])


def rungs_of(calls: Sequence[int]) -> list[int]:
    """The ladder, and one step past the limit, which is its highest rung."""
    most = max(calls)
    return [*sorted(set(calls)), most + max(1, most // 8)]


def report(
    steps: Sequence[Step], left: Mapping[str, int], load: Load, chosen: argparse.Namespace, models: str
) -> int:
    fake = load.models == "fake"
    what = WHAT.format(
        ramp=RAMP_S,
        seconds=load.seconds,
        patience=load.patience_s,
        models=FAKES.format(chosen) if fake else "",
    )
    header, rows = cost_table(steps)
    publish(
        "load" if fake else "load-real",
        what,
        [
            table(HEARD, [heard_row(one) for one in steps]),
            COST,
            table(header, rows),
            wire_note(steps),
            f"Left behind after the last step: {', '.join(f'{count} {name}' for name, count in left.items())}.",
        ],
        result(steps, sum(left.values())),
        models=models,
        keep=not chosen.no_keep,
    )
    found = faults(steps, left)
    for fault in found:
        _say(f"FAULT {fault}")
    return 1 if found else 0


def described(workers: WorkersSettings, models: str) -> str:
    if models == "fake":
        return "none: fake workers with set latencies"
    stt, llm, tts = workers.stt, workers.llm, workers.tts
    return (
        f"STT {stt.model} on {stt.device}, LLM {llm.model} on {llm.device}, TTS {tts.voice} on {tts.device}"
    )


def settings_in(file: Path | None) -> dict[str, Any]:
    """What stands in a voicebot.yaml. Raises ConfigError, naming the file and each line that is wrong."""
    text = read_text(file)
    parse(text, str(file), os.environ)
    return yaml.safe_load(text) or {}


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"want numbers of calls such as 1,8,16, not {text!r}")
    return numbers


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=_numbers, default=None, help="calls at a time, with commas between")
    parser.add_argument("--seconds", type=float, default=35.0, help="how long a caller talks (%(default)s)")
    parser.add_argument("--models", choices=("fake", "real"), default="fake")
    parser.add_argument(
        "-c",
        "--config",
        type=Path,
        help="--models real: voicebot.yaml, whose tools and recorder are left out; its defaults if not given",
    )
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="steady calls for so long, no ladder")
    parser.add_argument("--speech", type=Path, default=SPEECH, help="a folder with WAV files of questions")
    parser.add_argument("--keep-pcap", type=Path, help="a folder for the calls' captures (they hold speech)")
    parser.add_argument("--no-keep", action="store_true", help="the result is printed and not kept")
    latency_arguments(parser)
    chosen = parser.parse_args()
    if chosen.config and chosen.models == "fake":
        parser.error(
            f"-c {chosen.config} is for --models real: the fake models have a configuration of their own"
        )
    return chosen


async def run(chosen: argparse.Namespace, hurry: asyncio.Event) -> int:
    clips = read_clips(chosen.speech, one_breath=chosen.models == "fake")
    load = Load(chosen.models, clips, chosen.seconds, PACES[chosen.models], chosen.keep_pcap)
    fake = chosen.models == "fake"
    calls = chosen.calls or ([soak.CALLS] if chosen.soak else FAKE_CALLS if fake else REAL_CALLS)
    own = settings_in(chosen.config)
    places = soak.places_for(max(calls)) if chosen.soak else max(calls)
    system = fake_system(places, as_arguments(chosen), hurry) if fake else real_system(places, own, hurry)
    async with system as bench:
        models = described(bench.config.workers, chosen.models)
        if chosen.soak:
            async with _on_the_wire(bench) as (sip_port, folder):
                baseline = await _warmed_up(bench, sip_port, folder, load)
                soaked = await soak.soak(bench, sip_port, folder, clips, load.pace, max(calls), chosen.soak)
                soaked.left = await left_behind(bench, baseline)
            return soak.report(soaked, load.patience_s, models, keep=not chosen.no_keep)
        steps, left = await ladder(bench, load, rungs_of(calls))
    return report(steps, left, load, chosen, models)


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    chosen = _arguments()
    try:
        return run_until_interrupted(lambda hurry: run(chosen, hurry), lambda: _say("Stopping."))
    except expected() as error:
        raise SystemExit(str(error)) from None
    except BaseExceptionGroup as group:
        errors = leaves(group)
        if not all(isinstance(error, expected()) for error in errors):
            raise
        raise SystemExit("\n".join(map(str, errors))) from None


if __name__ == "__main__":
    raise SystemExit(main())
