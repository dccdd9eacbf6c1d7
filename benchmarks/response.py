"""How long a caller waits for an answer, on the caller's wire, and where the time goes.

    python -m benchmarks.response [--quick] [-c voicebot.yaml] [--speech DIR]

Starts everything `voicebot up` starts, calls it from a phone that stands outside (SIP and RTP only), asks recorded
questions, interrupts some answers, and reads the figures off the phone's own packets.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quantile import in_whole, quantile
from benchmarks.report import publish, table
from caller_phone.script import HangUp, Interrupt, Say, Step, TalkResult, Turn, WaitAnswer, WaitGreeting
from gpu_workers.settings import WorkersSettings
from voicebot.config import Config, parse, read_text
from voicebot.demo import EXTENSION, read_transcript
from voicebot.interrupts import run_until_interrupted
from voicebot.place_call import number_uri, talk
from voicebot.up import running

QUESTIONS_A_CALL = 4
INTERRUPT_AFTER_S = 0.7
INTERRUPTION = "no01.wav"
WHAT = """Response time: the caller's last voiced sample to the first audible sample of the answer, both on the caller's
wire; one that never came is longer than all others. Cut: first voiced sample of an interruption to the last audible
sample of the bot. `early` counts answers that began before the caller had finished: they have no response time. Stage
times are the call process' own, in ms after the caller's last voiced sample; stages run ahead of the decision that the
turn is over, and wait for it."""
STAGES = ("stt_done", "first_token", "first_sentence", "first_audio", "decision", "first_packet")


@dataclass(frozen=True, slots=True)
class Talked:
    """One call as the phone measured it, and the stage times the call process wrote of its turns."""

    result: TalkResult
    turns: list[dict[str, object]]


def scripts(speech: Path, quick: bool) -> list[list[Step]]:
    """Calls of four questions, the last of which has its answer interrupted."""
    interruption = speech / INTERRUPTION
    questions = [wav for wav in sorted(speech.glob("*.wav")) if wav != interruption]
    if not questions or not interruption.exists():
        raise SystemExit(
            f"{speech} needs WAV files of questions and {INTERRUPTION}, which interrupts an answer"
        )
    if quick:
        questions = questions[:QUESTIONS_A_CALL]
    calls = []
    for first in range(0, len(questions), QUESTIONS_A_CALL):
        steps: list[Step] = [WaitGreeting()]
        *whole, interrupted = questions[first : first + QUESTIONS_A_CALL]
        for wav in whole:
            steps += [Say(wav), WaitAnswer()]
        steps += [
            Say(interrupted),
            Interrupt(interruption, after_s=INTERRUPT_AFTER_S),
            WaitAnswer(),
            HangUp(),
        ]
        calls.append(steps)
    return calls


async def measure(
    config: Config, text: str, calls: Sequence[list[Step]], hurry: asyncio.Event
) -> list[Talked]:
    talked = []
    with tempfile.TemporaryDirectory(prefix="voicebot-bench-") as folder:
        transcript = Path(folder) / "transcript.jsonl"
        async with running(config, text, _say, hurry, transcript):
            for number, steps in enumerate(calls, 1):
                before = len(read_transcript(transcript))
                _say(f"call {number} of {len(calls)}")
                result = await talk(number_uri(config, EXTENSION), steps)
                if result.stopped_at:
                    _say(f"call {number} ended early, at {result.stopped_at}")
                await asyncio.sleep(1)
                talked.append(Talked(result, read_transcript(transcript)[before:]))
    return talked


def report(config: Config, talked: Sequence[Talked], asked: int, *, keep: bool) -> None:
    turns = [turn for one in talked for turn in one.result.turns]
    # of questions that were never put, because the call had ended, nobody knows
    responses = [turn.response_ms for turn in turns if turn.early_ms is None]
    early = len(turns) - len(responses)
    cuts = [turn.cut_ms for turn in turns if turn.cut_ms is not None]
    stages = [stage for one in talked for stage in _stages(one.turns)]
    result = {
        "turns": asked,
        "answered": sum(turn.answered for turn in turns),
        "response_p50_ms": _percentile(responses, 50),
        "response_p95_ms": _percentile(responses, 95),
        "cut_p95_ms": _percentile(cuts, 95),
        "early": early,
        "gap_p99_ms": round(max(one.result.packets.gap_p99_ms or 0 for one in talked), 1),
        "missing": sum(one.result.packets.missing for one in talked),
    }
    publish(
        "response",
        WHAT,
        [
            table(("said", "answered", "response ms", "cut ms"), [_row(turn) for turn in turns]),
            table(("stage", "p50 ms", "p95 ms"), [_stage_row(name, stages) for name in STAGES]),
        ],
        result,
        models=_models(config.workers),
        keep=keep,
    )


def _models(workers: WorkersSettings) -> str:
    stt, llm, tts = workers.stt, workers.llm, workers.tts
    return (
        f"STT {stt.model} {stt.compute_type} on {stt.device} with {stt.threads} threads, "
        f"LLM {llm.model} on {llm.device} with {llm.threads}, TTS {tts.voice} on {tts.device} with {tts.threads}"
    )


def _row(turn: Turn) -> tuple[object, ...]:
    response = "early" if turn.early_ms is not None else _whole(turn.response_ms)
    return turn.said, "yes" if turn.answered else "NO", response, _whole(turn.cut_ms)


def _stages(turns: Sequence[dict[str, object]]) -> list[dict[str, int]]:
    times = [turn["ms_after_speech_end"] for turn in turns if turn["saying"] == "answer" and turn["bot"]]
    return [one for one in times if isinstance(one, dict)]


def _stage_row(name: str, stages: Sequence[dict[str, int]]) -> tuple[object, ...]:
    times = [stage[name] for stage in stages if name in stage]
    return name, _percentile(times, 50), _percentile(times, 95)


def _percentile(values: Sequence[float | None], percent: float) -> int | str:
    return in_whole(quantile(values, percent))


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one call only; the result is not kept")
    parser.add_argument("-c", "--config", type=Path, help="voicebot.yaml (its defaults if not given)")
    parser.add_argument(
        "--speech", type=Path, default=here / "speech", help="a folder with WAV files of questions"
    )
    chosen = parser.parse_args()
    text = read_text(chosen.config)
    config = parse(text, str(chosen.config), os.environ)
    calls = scripts(chosen.speech, chosen.quick)
    asked = sum(isinstance(step, Say | Interrupt) for steps in calls for step in steps)

    async def run(hurry: asyncio.Event) -> int:
        talked = await measure(config, text, calls, hurry)
        report(config, talked, asked, keep=not chosen.quick)
        return 0

    return run_until_interrupted(run, lambda: _say("Stopping."))


if __name__ == "__main__":
    raise SystemExit(main())
