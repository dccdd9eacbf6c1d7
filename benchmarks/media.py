"""What a call costs the media process, and how steady its sound is, by the number of calls.

    python -m benchmarks.media [--quick] [--calls 1,50,200] [--seconds 20] [--subject NAME=COMMAND ...]

Two processes and nothing else: a *subject*, by default our own media plane with voice activity detection and the end of
turns, and the callers (`media_load.callers`), who send 20 ms packets of recorded sentences with pauses and note every
packet that comes back. `media_load.subject` says how another subject joins in.
"""

import argparse
import asyncio
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.media_load.subject import Lines, SubjectError, cpu_s, rss_mib, started
from benchmarks.media_load.talk import conversation, speech_share
from benchmarks.report import publish, table

OURS = "voicebot"
CALLS = (1, 50, 100, 200, 400)
RESULT_CALLS = 200
IDLE_S = 3.0
# the jitter buffers settle, and detectors learn the line
SETTLE_S = 5.0
# a sender later than this makes gaps of its own
_SENDER_LATE_MS = 5.0

WHAT = (
    "One process serves so many calls over RTP (mu-law, 20 ms) on loopback, with voice activity detection and\n"
    "the end of turns. The callers are another process and talk {speech:.0%} of the time; the bot speaks by\n"
    "itself. CPU is that of the serving process, less what it needs for no calls, in percent of one core;\n"
    "memory likewise. Gaps are the times between two packets as the kernel brought them to a caller, in ms.\n"
    "Lost are packets that never came, out to the callers and in from them. Callers late: how late, in ms, the\n"
    "callers themselves sent."
)


@dataclass(frozen=True)
class Row:
    subject: str
    calls: int
    core_pct: float
    core_pct_per_call: float
    rss_mib_per_call: float
    gap_ms: dict[str, float]
    lost_out: int
    lost_in: int | None
    underruns: int | None
    utterances_per_call_min: float | None
    speaking: float
    sender_late_ms: dict[str, float]
    note: str


async def measure(name: str, command: Sequence[str], calls: int, seconds: float) -> Row:
    """One row. Raises SubjectError."""
    async with started(name, command) as subject:
        idle_share = await _idle(subject)
        idle_rss = rss_mib(subject.pid)
        async with started("callers", [sys.executable, "-m", "benchmarks.media_load.callers"]) as callers:
            await callers.tell({"streams": calls})
            peers = (await callers.hear("listening"))["listening"]
            await subject.tell({"open": calls, "peers": peers, "codec": "ulaw"})
            listening = (await subject.hear("listening"))["listening"]
            length = SETTLE_S + seconds + 1.0
            await callers.tell({"send_to": listening, "seconds": length, "skip": SETTLE_S})
            await asyncio.sleep(SETTLE_S)
            before = cpu_s(subject.pid)
            await asyncio.sleep(seconds)
            share = (cpu_s(subject.pid) - before) / seconds
            rss = rss_mib(subject.pid)
            sent = await callers.hear("sent", length + 30)
        await subject.tell({"close": True})
        said = await subject.hear("heard")
    return _row(name, calls, length, sent, said, (share - idle_share, rss - idle_rss))


async def _idle(subject: Lines) -> float:
    before = cpu_s(subject.pid)
    await asyncio.sleep(IDLE_S)
    return (cpu_s(subject.pid) - before) / IDLE_S


def _row(
    name: str,
    calls: int,
    length: float,
    sent: dict[str, Any],
    said: dict[str, Any],
    cost: tuple[float, float],
) -> Row:
    utterances, heard = said.get("utterances"), said.get("heard")
    return Row(
        subject=name,
        calls=calls,
        core_pct=100 * cost[0],
        core_pct_per_call=100 * cost[0] / calls,
        rss_mib_per_call=cost[1] / calls,
        gap_ms=sent["gap_ms"],
        lost_out=sent["missing"],
        lost_in=None if heard is None else sent["sent"] - heard,
        underruns=said.get("underruns"),
        utterances_per_call_min=None if utterances is None else utterances / calls / length * 60,
        speaking=sent["spoken"] / sent["sent"],
        sender_late_ms=sent["late_ms"],
        note="; ".join(_notes(sent, said)),
    )


def _notes(sent: dict[str, Any], said: dict[str, Any]) -> list[str]:
    notes = [said["note"]] if said.get("note") else []
    if sent["late_ms"]["p99"] > _SENDER_LATE_MS:
        notes.append("the callers were late themselves: read gaps and CPU as upper bounds")
    if sent["mute"]:
        notes.append(f"{sent['mute']} calls never spoke")
    return notes


HEADER = (
    "subject",
    "calls",
    "core % in all",
    "core % a call",
    "MiB a call",
    "gap p50",
    "gap p99",
    "gap max",
    "lost out",
    "lost in",
    "underruns",
    "utterances a call and minute",
    "bot speaks",
    "callers late p99 / max",
    "note",
)


def _cells(row: Row) -> tuple[object, ...]:
    return (
        row.subject,
        row.calls,
        f"{row.core_pct:.1f}",
        f"{row.core_pct_per_call:.2f}",
        f"{row.rss_mib_per_call:.2f}",
        *(f"{row.gap_ms[key]:.1f}" for key in ("p50", "p99", "max")),
        row.lost_out,
        _known(row.lost_in),
        _known(row.underruns),
        "-" if row.utterances_per_call_min is None else f"{row.utterances_per_call_min:.1f}",
        f"{row.speaking:.0%}",
        f"{row.sender_late_ms['p99']:.1f} / {row.sender_late_ms['max']:.1f}",
        row.note,
    )


def _known(value: object) -> object:
    return "-" if value is None else value


def report(rows: Sequence[Row], *, keep: bool) -> None:
    """Publish. The RESULT line is of 200 calls, or of the largest number measured."""
    ours = [row for row in rows if row.subject == OURS]
    peers = [row for row in rows if row.subject != OURS]
    main_row = _chosen(ours or rows)
    peer = _chosen(peers) if peers else None
    result = {
        "calls": main_row.calls,
        "core_pct_per_call": round(main_row.core_pct_per_call, 3),
        "gap_p50_ms": main_row.gap_ms["p50"],
        "gap_p99_ms": main_row.gap_ms["p99"],
        "lost": main_row.lost_out + (main_row.lost_in or 0),
        "underruns": _known(main_row.underruns),
        "peer": peer.subject if peer else "-",
        "peer_core_pct_per_call": round(peer.core_pct_per_call, 3) if peer else "-",
    }
    publish(
        "media",
        WHAT.format(speech=speech_share(conversation())),
        [table(HEADER, [_cells(row) for row in rows])],
        result,
        models="Silero VAD (8 kHz) behind webrtcvad",
        keep=keep,
    )


def _chosen(rows: Sequence[Row]) -> Row:
    return min(rows, key=lambda row: (abs(row.calls - RESULT_CALLS), row.calls))


async def run(subjects: dict[str, list[str]], calls: Sequence[int], seconds: float) -> list[Row]:
    rows = []
    for count in calls:
        for name, command in subjects.items():
            try:
                row = await measure(name, command, count, seconds)
            except SubjectError as error:
                print(f"{name}, {count} calls: {error}", file=sys.stderr, flush=True)
                continue
            rows.append(row)
            print(" | ".join(str(cell) for cell in _cells(row)), flush=True)
    return rows


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _subject(text: str) -> tuple[str, list[str]]:
    name, separator, command = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError("NAME=COMMAND")
    return name, shlex.split(command)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1 and 50 calls, 8 s each; not kept")
    parser.add_argument("--calls", type=_numbers, default=None, help="numbers of calls, with commas between")
    parser.add_argument("--seconds", type=float, default=None, help="how long each row is measured (20)")
    parser.add_argument("--subject", type=_subject, action="append", default=[], help="another, beside ours")
    parser.add_argument("--keep", action="store_true", help="keep the result of chosen numbers of calls")
    chosen = parser.parse_args()
    ours = [sys.executable, "-m", "benchmarks.media_load.ours"]
    calls = chosen.calls or ((1, 50) if chosen.quick else CALLS)
    seconds = chosen.seconds or (8.0 if chosen.quick else 20.0)
    rows = asyncio.run(run({OURS: ours, **dict(chosen.subject)}, calls, seconds))
    if not rows:
        return 1
    report(rows, keep=chosen.keep or not (chosen.quick or chosen.calls))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
