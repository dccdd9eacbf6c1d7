"""The recogniser under many callers, beside faster-whisper with the same model on the same device in the same run.

    python -m benchmarks.stt [--corpus DIR] [--device cpu|cuda:0] [--model whisper-base] [--quick]

DIR holds 8 kHz WAV files and `transcripts.tsv` (columns file and text). `--quick`: a few clips, no result is kept.
"""

import argparse
import asyncio
import math
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.report import publish, table
from benchmarks.stt_clips import Clip, CorpusError, in_noise, sentences, speechless
from benchmarks.stt_score import error_rate, words
from benchmarks.stt_subjects import Ours, Setting, Subject, our_worker, peers
from gpu_workers.settings import SttSettings
from voicebot.interrupts import run_until_interrupted

CORPUS: Final = Path(__file__).parent / "speech"
SNR_DB: Final = 10.0
LIMIT_S: Final = 20.0
CALLERS: Final = (4, 16, 64)
_MOST_OURS: Final = 128
_MOST_PEERS: Final = 16
_TYPICAL_S: Final = (2.5, 3.5)
_QUICK_CLIPS: Final = 6
WHAT: Final = f"""Word error rate, waits and utterances a second. `ours` is `voicebot worker stt` as a process
of its own, asked over HTTP by our client, with all that it does for a call (gates, its vote on the end of the
turn). `faster-whisper` and `batched` (its BatchedInferencePipeline) have their own defaults, number of threads
included, but for the language, which all three are told; they are called in this process, one utterance at a
time, without HTTP. N callers: each sends its next utterance as soon as it has the answer to the last, for at
most {LIMIT_S:g} s; the wait is from sending to the words. One caller: the whole corpus, and `3 s` its clips of
{_TYPICAL_S[0]} to {_TYPICAL_S[1]} s. Noise: pink, in the telephone's band, {SNR_DB:g} dB below the speech, the
same for all. Invented: words written for silence and noise alone. Numbers are compared digit by digit. Goals on
a CPU: `p50_ms_1` at most a third of `plain_p50_ms_1`, `rate_16` at least three times `plain_rate_16`, `wer` at
most 0.5 points above `plain_wer`."""


@dataclass(frozen=True)
class Answer:
    clip: Clip
    text: str = field(repr=False)
    wait_s: float


@dataclass(frozen=True)
class Load:
    """What one subject did for some callers; `unanswered` hung up after `limit_s`."""

    answers: Sequence[Answer]
    seconds: float
    unanswered: int = 0
    limit_s: float = LIMIT_S

    @property
    def rate(self) -> float:
        return len(self.answers) / self.seconds if self.seconds else 0.0

    @property
    def error_rate(self) -> float:
        return error_rate((answer.text, answer.clip.said) for answer in self.answers)

    def wait_ms(self, percent: float, lengths_s: tuple[float, float] = (0.0, 1e9)) -> int | str:
        """Who got no answer waited longer than all others."""
        low, high = lengths_s
        waits = [one.wait_s for one in self.answers if low <= one.clip.seconds <= high]
        waits += [math.inf] * self.unanswered
        if not waits:
            return "-"
        wait = float(np.percentile(waits, percent, method="higher"))
        return round(1000 * wait) if math.isfinite(wait) else f"over {1000 * self.limit_s:.0f}"


@dataclass
class Column:
    """All figures of one subject: `loads` by number of callers."""

    subject: Subject
    clean: Load = Load((), 0.0)
    noise: Load = Load((), 0.0)
    invented: int = 0
    loads: dict[int, Load] = field(default_factory=dict)


async def put_under(subject: Subject, clips: Sequence[Clip], callers: int, limit_s: float = LIMIT_S) -> Load:
    """Every clip once, `callers` at a time; after `limit_s` whoever still waits hangs up."""
    left, answers = iter(clips), list[Answer]()
    began = ended = time.perf_counter()

    async def call() -> None:
        nonlocal ended
        for clip in left:
            answers.append(await ask(subject, clip))
            ended = time.perf_counter()

    calls = [asyncio.create_task(call()) for _ in range(callers)]
    try:
        done, waiting = await asyncio.wait(calls, timeout=limit_s)
        for one in done:
            one.result()
    finally:
        for one in calls:
            one.cancel()
        await asyncio.wait(calls)
    return Load(answers, ended - began, len(waiting), limit_s)


async def ask(subject: Subject, clip: Clip) -> Answer:
    asked = time.perf_counter()
    text = await subject.hear(clip)
    return Answer(clip, text, time.perf_counter() - asked)


async def in_turn(subjects: Sequence[Subject], clips: Iterable[Clip], seconds: float) -> list[Load]:
    """One caller. Each clip goes to all, one after the other: what else the machine does meets them alike.

    After `seconds` no further clip is begun.
    """
    began = time.perf_counter()
    answers: list[list[Answer]] = [[] for _ in subjects]
    for clip in clips:
        if time.perf_counter() - began > seconds:
            _say(f"No time for all: {len(answers[0])} clips were heard.")
            break
        for subject, own in zip(subjects, answers, strict=True):
            own.append(await ask(subject, clip))
    return [Load(own, sum(answer.wait_s for answer in own)) for own in answers]


async def measure(
    subjects: Sequence[Subject], clips: Sequence[Clip], callers: Sequence[int], seconds: float
) -> list[Column]:
    """`seconds` is about what it may take in all."""
    columns = [Column(subject) for subject in subjects]
    for subject in subjects:
        await subject.hear(clips[0])  # the first one is slower; it is nobody's
    for column, load in zip(columns, await in_turn(subjects, clips, seconds * 0.35), strict=True):
        column.clean = column.loads[1] = load
    for number in callers:
        limit_s = min(LIMIT_S, seconds * 0.3 / len(callers) / len(columns))
        for column in columns:
            most = _MOST_OURS if isinstance(column.subject, Ours) else _MOST_PEERS
            many = list(islice(cycle(clips), max(number, min(8 * number, most))))
            column.loads[number] = await put_under(column.subject, many, number, limit_s)
            rate = column.loads[number].rate
            _say(f"{column.subject.name}, {number} callers: {rate:.2f} utterances a second")
    noisy = await in_turn(subjects, in_noise(clips, SNR_DB), seconds * 0.25)
    silent = await in_turn(subjects, speechless(), seconds * 0.1)
    for column, noise, nobody in zip(columns, noisy, silent, strict=True):
        column.noise = noise
        column.invented = sum(len(words(answer.text)) for answer in nobody.answers)
    return columns


def report(columns: Sequence[Column], setting: Setting, corpus: str, *, keep: bool) -> None:
    ours, plain, batched = columns
    header = ("", *(column.subject.name for column in columns))
    loads = [
        (f"{what}, {number} caller{'s' if number > 1 else ''}", *(figure(column.loads[number]) for column in columns))
        for number in ours.loads
        for what, figure in (
            ("utterances a second", lambda load: f"{load.rate:.2f}"),
            ("wait p50 ms", lambda load: load.wait_ms(50)),
            ("wait p95 ms", lambda load: load.wait_ms(95)),
        )
    ]  # fmt: skip
    words_rows = [
        ("wait p50 ms for 3 s, 1 caller", *(column.clean.wait_ms(50, _TYPICAL_S) for column in columns)),
        ("words wrong, %", *(f"{column.clean.error_rate:.1f}" for column in columns)),
        (f"words wrong in noise ({SNR_DB:g} dB), %", *(f"{one.noise.error_rate:.1f}" for one in columns)),
        ("invented words", *(column.invented for column in columns)),
    ]
    most = 16 if 16 in ours.loads else max(ours.loads)
    result = {
        "p50_ms_1": ours.clean.wait_ms(50, _TYPICAL_S),
        "plain_p50_ms_1": plain.clean.wait_ms(50, _TYPICAL_S),
        f"rate_{most}": f"{ours.loads[most].rate:.2f}",
        f"plain_rate_{most}": f"{plain.loads[most].rate:.2f}",
        "wer": f"{ours.clean.error_rate:.1f}",
        "plain_wer": f"{plain.clean.error_rate:.1f}",
        "wer_noise": f"{ours.noise.error_rate:.1f}",
        "plain_wer_noise": f"{plain.noise.error_rate:.1f}",
        f"batched_rate_{most}": f"{batched.loads[most].rate:.2f}",
        "batched_wer": f"{batched.clean.error_rate:.1f}",
        "invented": ours.invented,
        "plain_invented": plain.invented,
    }
    models = (
        f"{setting.model} {setting.compute_type} on {setting.device}, ours with {setting.copies} x {setting.threads} "
        f"threads; {len(ours.clean.answers)} clips of {corpus}"
    )
    publish("stt", WHAT, [table(header, words_rows), table(header, loads)], result, models=models, keep=keep)


def _say(line: str) -> None:
    print(line, flush=True)


async def compare(
    setting: Setting, clips: Sequence[Clip], callers: Sequence[int], seconds: float
) -> list[Column]:
    async with our_worker(setting) as ours:
        others = await asyncio.to_thread(peers, setting)
        return await measure([ours, *others], clips, callers, seconds)


def _arguments() -> argparse.Namespace:
    shipped = SttSettings()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder with transcripts.tsv")
    parser.add_argument("--device", default=shipped.device, help="cpu or cuda:0, cuda:1, ...")
    parser.add_argument("--model", default=shipped.model)
    parser.add_argument("--compute-type", help="int8 on a CPU, float16 on a GPU if not given")
    parser.add_argument("--threads", type=int, default=shipped.threads, help="of ours")
    parser.add_argument("--copies", type=int, default=shipped.copies, help="of ours")
    parser.add_argument(
        "--seconds",
        type=float,
        default=1800.0,
        help="about how long in all; fewer clips are heard if need be",
    )
    parser.add_argument("--quick", action="store_true", help="a few clips; the result is not kept")
    return parser.parse_args()


def main() -> int:
    chosen = _arguments()
    on_gpu = chosen.device.startswith("cuda")
    compute_type = chosen.compute_type or ("float16" if on_gpu else "int8")
    setting = Setting(chosen.model, chosen.device, compute_type, chosen.threads, chosen.copies)
    try:
        clips = sentences(chosen.corpus)
    except CorpusError as error:
        print(error, file=sys.stderr)
        return 2
    callers = CALLERS[:1] if chosen.quick else CALLERS
    heard = clips[:_QUICK_CLIPS] if chosen.quick else clips

    async def run(hurry: asyncio.Event) -> int:
        columns = await compare(setting, heard, callers, chosen.seconds)
        report(columns, setting, chosen.corpus.name, keep=not chosen.quick)
        return 0

    return run_until_interrupted(run, lambda: _say("Stopping."))


if __name__ == "__main__":
    raise SystemExit(main())
