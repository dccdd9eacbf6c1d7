"""Steady calls for a long time: does anything grow, does anything slow down?"""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load_kit.callers import judged, sipp_calls
from benchmarks.load_kit.card import whole
from benchmarks.load_kit.growth import Growth, growth_rows, thirds
from benchmarks.load_kit.parts import Moment
from benchmarks.load_kit.plan import Pace, talk
from benchmarks.load_kit.ruler import CallFigures, Outcome
from benchmarks.load_kit.system import Bench
from benchmarks.quantile import quantile
from benchmarks.report import publish, table
from caller_phone.g711 import Samples

CALLS = 16
TALKS = 64
# callers stay between these, in seconds
SHORTEST_S, LONGEST_S = 10.0, 60.0
_EVERY_S = 5.0
# SIPp takes up the places of those who left at this rate, which also spreads the first calls
_RATE = 2.0
_END_S = 120.0
_NICE = 10

WHAT = """{calls} calls at a time for {minutes:g} minutes: callers who stay {shortest:g} to {longest:g} s, ask,
interrupt and hang up in mid-speech, each followed by another. Growth is that of the medians of the first and the last
third of the time, after the first minute. Response and gap are those of benchmarks/results/load.md."""


@dataclass
class Soaked:
    """`left`: what was left behind, by its kind."""

    minutes: float
    calls: int
    figures: list[CallFigures] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)


async def soak(
    bench: Bench,
    sip_port: int,
    folder: Path,
    clips: Sequence[Samples],
    pace: Pace,
    calls: int,
    minutes: float,
) -> Soaked:
    span_s = LONGEST_S - SHORTEST_S
    talks = [
        talk(number, clips, SHORTEST_S + span_s * (number * 37 % TALKS) / TALKS, pace)
        for number in range(TALKS)
    ]
    soaked = Soaked(minutes, calls)
    loop = asyncio.get_running_loop()
    end_s = loop.time() + 60 * minutes
    most = 1_000_000  # it is told to begin no more when the time is over
    async with sipp_calls(bench, sip_port, talks, clips, calls=most, at_once=calls, rate=_RATE) as sipp:
        while loop.time() < end_s and not await sipp.ended(_EVERY_S):
            soaked.moments.append(bench.now())
            soaked.figures += await judged(folder, None, _NICE)
        with suppress(ProcessLookupError):
            sipp.process.send_signal(signal.SIGUSR1)
        await sipp.ended(_END_S)
    soaked.figures += await judged(folder, None)
    return soaked


def places_for(calls: int) -> int:
    """One who follows calls while the one before is still being cleared away, and is no caller too many."""
    return calls + max(2, calls // 4)


def losses(lost: Sequence[CallFigures], began_s: float) -> str:
    """Why calls were lost or refused, and in which minutes they had begun."""
    minutes: dict[str, list[int]] = {}
    for call in lost:
        why = call.why or call.outcome.value
        minutes.setdefault(why, []).append(int((call.began_s - began_s) // 60))
    told = "; ".join(
        f"{len(when)} {why} (minute {', '.join(map(str, sorted(set(when))))})"
        for why, when in minutes.items()
    )
    return f"Lost: {told}."


def report(soaked: Soaked, patience_s: float, models: str, *, keep: bool) -> int:
    """Prints and keeps; 1 when a call was lost, an answer missed or something left behind."""
    began_s = soaked.figures[0].began_s if soaked.figures else 0.0
    responses = [
        (call.began_s - began_s, wait)
        for call in soaked.figures
        for one in call.utterances
        if (wait := one.response(patience_s)) is not None
    ]
    first, last = thirds(responses)
    answered = [one.answered(patience_s) for call in soaked.figures for one in call.utterances]
    lost = [call for call in soaked.figures if call.outcome is not Outcome.FINISHED]
    missing = answered.count(False)
    growth = growth_rows(soaked.moments)
    gap = quantile([gap for call in soaked.figures for gap in call.gaps_ms], 99)
    publish(
        "load-soak",
        WHAT.format(calls=soaked.calls, minutes=soaked.minutes, shortest=SHORTEST_S, longest=LONGEST_S),
        [
            table(
                ("calls", "lost", "questions", "missing", "response p95 ms first third", "last third"),
                [
                    (
                        len(soaked.figures),
                        len(lost),
                        len(answered) - answered.count(None),
                        missing,
                        whole(quantile(first, 95)),
                        whole(quantile(last, 95)),
                    )
                ],
            ),
            *([losses(lost, began_s)] if lost else []),
            table(Growth.HEADER, [one.cells() for one in growth]),
            f"Left behind: {', '.join(f'{count} {name}' for name, count in soaked.left.items())}.",
        ],
        {
            "minutes": soaked.minutes,
            "calls": len(soaked.figures),
            "failed": len(lost),
            "missing": missing,
            "response_p95_ms_first": whole(quantile(first, 95)),
            "response_p95_ms_last": whole(quantile(last, 95)),
            "gap_p99_ms": "-" if gap is None else round(gap, 1),
            "leaked": sum(soaked.left.values()),
            **{f"{one.key}_growth_mib": round(one.mib[1] - one.mib[0], 1) for one in growth},
        },
        models=models,
        keep=keep,
    )
    return 1 if lost or missing or any(soaked.left.values()) else 0
