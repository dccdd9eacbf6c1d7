"""How soon calls that come in the same instant have their answer: N who find a place, and five who do not.

    python -m benchmarks.burst [--places 15] [--rounds 12] [--quick]

A real Asterisk, SIPp, the call process as a process of its own; only the models are made up.
"""

import argparse
import asyncio
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks.quantile import in_whole, quantile
from benchmarks.report import publish, table
from tests.support.bot import nothing_left
from tests.support.bot_process import process
from tests.support.fake_workers import fake_workers
from tests.support.rig import private_asterisk, run_sipp
from voicebot.asterisk import AsteriskProcess

TOO_MANY = 5
NUMBER = "1900"
STAY_MS = 700
WHAT = """SIPp sends N + 5 INVITEs in the same instant to a bot with N places. `taken`: INVITE to the bot's 200 OK.
`refused`: INVITE to the 486 of the dialplan behind `Stasis()`, after the bot has handed the call back. Times are those
of SIPp's own message trace, the caller's wire. Goal: refused within 100 ms."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Of one burst, in ms after each call's INVITE."""

    taken: list[float]
    refused: list[float]


async def add_number(asterisk: AsteriskProcess) -> None:
    """As 1000, but who is handed back hears busy and no message: on the wire the two answers differ."""
    steps = ("Gosub(voicebot-before,s,1)", "Gosub(voicebot-talk,s,1(default))", "Hangup(17)")
    for priority, step in enumerate(steps, 1):
        await asterisk.cli(f"dialplan add extension {NUMBER},{priority},{step} into phones")


def answers(trace: str) -> Answers:
    """What SIPp's message trace says."""
    asked: dict[str, float] = {}
    told: dict[str, tuple[int, float]] = {}
    for block in re.split(r"^-{20,} ", trace, flags=re.MULTILINE)[1:]:
        stamp, _, message = block.partition("\n")
        at_ms = datetime.fromisoformat(stamp.strip()).timestamp() * 1000
        call = re.search(r"^Call-ID: *(\S+)", message, re.MULTILINE)
        method = re.search(r"^CSeq: *\d+ (\w+)", message, re.MULTILINE)
        if call is None or method is None or method[1] != "INVITE":
            continue
        if status := re.search(r"^SIP/2.0 (\d{3})", message, re.MULTILINE):
            if int(status[1]) >= 200:
                told.setdefault(call[1], (int(status[1]), at_ms))
        else:
            asked.setdefault(call[1], at_ms)
    took = [(status, at_ms - asked[call]) for call, (status, at_ms) in told.items()]
    return Answers([ms for status, ms in took if status == 200], [ms for status, ms in took if status != 200])


async def measure(places: int, rounds: int) -> list[Answers]:
    bursts = []
    with tempfile.TemporaryDirectory(prefix="burst-") as folder:
        async with (
            private_asterisk() as asterisk,
            fake_workers() as workers,
            process(asterisk, workers, Path(folder), max_calls=places) as bot,
        ):
            await add_number(asterisk)
            for again in range(1, rounds + 1):
                calls = places + TOO_MANY
                run = await run_sipp(
                    "uac_silent",
                    asterisk,
                    service=NUMBER,
                    calls=calls,
                    rate=10_000,
                    pause_ms=STAY_MS,
                    keys={"rtp_port": "9"},
                )
                bursts.append(answers(run.messages))
                assert (run.successful, run.failed) == (places, TOO_MANY), run.errors
                await bot.bot.until_idle()
                assert await bot.bot.metric("voicebot_calls_refused_total", reason="full") == TOO_MANY * again
                await asyncio.sleep(0.3)
            await nothing_left(asterisk)
    return bursts


def row(name: str, ms: Sequence[float]) -> list[str]:
    return [name, str(len(ms)), *(str(in_whole(quantile(ms, percent))) for percent in (50, 95, 100))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--places", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="three rounds at most, and nothing is kept")
    options = parser.parse_args()
    rounds = min(3, options.rounds) if options.quick else options.rounds
    bursts = asyncio.run(measure(options.places, rounds))
    taken = row("taken", [ms for burst in bursts for ms in burst.taken])
    refused = row("refused", [ms for burst in bursts for ms in burst.refused])
    publish(
        "burst",
        WHAT,
        [table(["", "calls", "p50 ms", "p95 ms", "max ms"], [taken, refused])],
        {
            "places": options.places,
            "rounds": len(bursts),
            "refused_p50_ms": refused[2],
            "refused_max_ms": refused[4],
            "taken_p50_ms": taken[2],
            "taken_max_ms": taken[4],
        },
        models="none",
        keep=not options.quick,
    )


if __name__ == "__main__":
    main()
