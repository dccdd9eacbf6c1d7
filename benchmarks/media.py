"""What a call costs the media process, and how steady its sound is, by the number of calls.

    python -m benchmarks.media [--quick] [--calls 1,50,200] [--seconds 20] [--no-peers] [--subject NAME=COMMAND ...]

Two processes and nothing else: a *subject*, by default our own media plane with voice activity detection and the end of
turns, and the callers (`media_load.callers`), who send 20 ms packets of recorded sentences with pauses and note every
packet that comes back. `media_load.subject` says how another subject joins in. Public packages are subjects too
(`benchmarks.peers`), each over the medium it speaks and from few calls on until it can carry no more.
"""

import argparse
import asyncio
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.media_load.subject import Lines, SubjectError, cpu_s, rss_mib, started
from benchmarks.media_load.talk import conversation, speech_share
from benchmarks.peers.catalogue import MEDIA_PEERS
from benchmarks.peers.environment import PeerMissingError, environment
from benchmarks.peers.verdict import cheapest
from benchmarks.report import publish, table

OURS = "voicebot"
CALLS = (1, 50, 100, 200, 400)
# a framework may be full with a dozen
PEER_CALLS = (1, 10, 20, 50, 100, 200, 400)
RESULT_CALLS = 200
IDLE_S = 3.0
# the jitter buffers settle, and detectors learn the line
SETTLE_S = 5.0
# a sender later than this makes gaps of its own
_SENDER_LATE_MS = 5.0
# to have carried its calls, a subject has heard at the end so much of what the callers sent, and spoken for so much of
# the time (it means to for 40 %)
_HEARD = 0.99
_SPOKEN = 0.2

WHAT = (
    "One process serves so many calls over RTP (mu-law, 20 ms) on loopback, with voice activity detection and\n"
    "the end of turns. The callers are another process and talk {speech:.0%} of the time; the bot speaks by\n"
    "itself. CPU is that of the serving process, less what it needs for no calls, in percent of one core;\n"
    "memory likewise. Gaps are the times between two packets as the kernel brought them to a caller, in ms.\n"
    "Lost are packets that never came, out to the callers and in from them. Callers late: how late, in ms, the\n"
    "callers themselves sent. Peers run over the medium they speak (AudioSocket, chan_websocket), which have no\n"
    "packets to lose or, sent ahead of time, no gaps; they are measured up to the number of calls of which they\n"
    "still hear 99 % in time. What of them runs stands in benchmarks/peers."
)
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Subject:
    """`callers`: who calls it. Both commands are run in the root of the repository."""

    name: str
    command: Sequence[str]
    callers: Sequence[str] = (sys.executable, "-m", "benchmarks.media_load.callers")
    peer: bool = False


@dataclass(frozen=True)
class Row:
    subject: str
    calls: int
    core_pct: float
    core_pct_per_call: float
    rss_mib_per_call: float
    gap_ms: dict[str, float] | None
    lost_out: int | None
    lost_in: int | None
    underruns: int | None
    utterances_per_call_min: float | None
    speaking: float
    sender_late_ms: dict[str, float]
    carried: bool
    note: str


async def measure(who: Subject, calls: int, seconds: float) -> Row:
    """One row. Raises SubjectError."""
    async with started(who.name, who.command, ROOT) as subject:
        idle_share = await _idle(subject)
        idle_rss = rss_mib(subject.pid)
        async with started(f"callers of {who.name}", who.callers, ROOT) as callers:
            await callers.tell({"streams": calls})
            peers = (await callers.hear("listening"))["listening"]
            await subject.tell({"open": calls, "peers": peers, "codec": "ulaw"})
            listening = (await subject.hear("listening"))["listening"]
            if who.peer:
                # over TCP a call is set up when it is dialled, which may take a peer longer than we settle
                await callers.tell({"call": listening})
                await callers.hear("called")
                await subject.hear("answered")
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
    return _row(who.name, calls, length, sent, said, (share - idle_share, rss - idle_rss))


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
        carried=_carried(sent, said),
        note="; ".join(_notes(sent, said)),
    )


def _carried(sent: dict[str, Any], said: dict[str, Any]) -> bool:
    heard = said.get("heard")
    if sent.get("broken") or sent["spoken"] < _SPOKEN * sent["sent"]:
        return False
    return heard is None or heard >= _HEARD * sent["sent"]


def _notes(sent: dict[str, Any], said: dict[str, Any]) -> list[str]:
    notes = [said["note"]] if said.get("note") else []
    if sent["late_ms"]["p99"] > _SENDER_LATE_MS:
        notes.append("the callers were late themselves: read gaps and CPU as upper bounds")
    if sent["mute"]:
        notes.append(f"{sent['mute']} calls never spoke")
    if not _carried(sent, said):
        notes.append("more than it could carry")
    if sent.get("broken"):
        notes.append(f"{sent['broken']} calls were cut")
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
        *(f"{row.gap_ms[key]:.1f}" if row.gap_ms else "-" for key in ("p50", "p99", "max")),
        _known(row.lost_out),
        _known(row.lost_in),
        _known(row.underruns),
        "-" if row.utterances_per_call_min is None else f"{row.utterances_per_call_min:.1f}",
        f"{row.speaking:.0%}",
        f"{row.sender_late_ms['p99']:.1f} / {row.sender_late_ms['max']:.1f}",
        row.note,
    )


def _cells_of_missing(name: str, why: str) -> tuple[object, ...]:
    return (name, *["-"] * (len(HEADER) - 2), why)


def _known(value: object) -> object:
    return "-" if value is None else value


def report(rows: Sequence[Row], missing: dict[str, str], *, keep: bool) -> None:
    """Publish. The RESULT line is of 200 calls, or of the largest number measured; its peer is the cheapest one, at
    as many calls or the most it carried."""
    ours = [row for row in rows if row.subject == OURS]
    main_row = _chosen(ours or rows)
    costs: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.subject != OURS and row.carried and row.calls <= main_row.calls:
            costs.setdefault(row.subject, {})[row.calls] = row.core_pct_per_call
    peer = cheapest(costs)
    result = {
        "calls": main_row.calls,
        "core_pct_per_call": round(main_row.core_pct_per_call, 3),
        "gap_p50_ms": main_row.gap_ms["p50"] if main_row.gap_ms else "-",
        "gap_p99_ms": main_row.gap_ms["p99"] if main_row.gap_ms else "-",
        "lost": (main_row.lost_out or 0) + (main_row.lost_in or 0),
        "underruns": _known(main_row.underruns),
        "peer": peer[0] if peer else "-",
        "peer_core_pct_per_call": round(peer[1], 3) if peer else "-",
    }
    publish(
        "media",
        WHAT.format(speech=speech_share(conversation())),
        [table(HEADER, [_cells(row) for row in rows] + [_cells_of_missing(*one) for one in missing.items()])],
        result,
        models="Silero VAD (8 kHz) behind webrtcvad",
        keep=keep,
    )


def _chosen(rows: Sequence[Row]) -> Row:
    return min(rows, key=lambda row: (abs(row.calls - RESULT_CALLS), row.calls))


async def run(subjects: Sequence[Subject], calls: Sequence[int], seconds: float) -> list[Row]:
    """All rows, those of a number of calls one after the other. A peer that could not carry one gets no more."""
    rows = []
    full: set[str] = set()
    for count in sorted({*calls, *(number for number in PEER_CALLS if number < max(calls))}):
        for subject in subjects:
            if subject.name in full or (not subject.peer and count not in calls):
                continue
            try:
                row = await measure(subject, count, seconds)
            except SubjectError as error:
                print(f"{subject.name}, {count} calls: {error}", file=sys.stderr, flush=True)
                full |= {subject.name} if subject.peer else set()
                continue
            rows.append(row)
            full |= {subject.name} if subject.peer and not row.carried else set()
            print(" | ".join(str(cell) for cell in _cells(row)), flush=True)
    return sorted(rows, key=lambda row: [one.name for one in subjects].index(row.subject))


def peers() -> tuple[list[Subject], dict[str, str]]:
    """Those that can run here, and why the others cannot."""
    able, missing = [], {}
    for peer in MEDIA_PEERS:
        try:
            python = environment(peer.packages, peer.pythons, lambda line: print(line, flush=True))
        except PeerMissingError as error:
            missing[peer.name] = str(error)
            print(f"{peer.name}: {error}", flush=True)
        else:
            able.append(Subject(peer.name, peer.command(python), peer.callers, peer=True))
    return able, missing


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _subject(text: str) -> Subject:
    name, separator, command = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError("NAME=COMMAND")
    return Subject(name, shlex.split(command))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1 and 50 calls, 8 s each; not kept")
    parser.add_argument("--calls", type=_numbers, default=None, help="numbers of calls, with commas between")
    parser.add_argument("--seconds", type=float, default=None, help="how long each row is measured (20)")
    parser.add_argument("--subject", type=_subject, action="append", default=[], help="another, beside ours")
    parser.add_argument("--no-peers", action="store_true", help="public packages are not measured")
    parser.add_argument("--keep", action="store_true", help="keep the result of chosen numbers of calls")
    chosen = parser.parse_args()
    ours = Subject(OURS, [sys.executable, "-m", "benchmarks.media_load.ours"])
    able, missing = ([], {}) if chosen.no_peers else peers()
    calls = chosen.calls or ((1, 50) if chosen.quick else CALLS)
    seconds = chosen.seconds or (8.0 if chosen.quick else 20.0)
    rows = asyncio.run(run([ours, *able, *chosen.subject], calls, seconds))
    if not rows:
        return 1
    report(rows, missing, keep=chosen.keep or not (chosen.quick or chosen.calls))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
