"""What a call costs the media process, and how steady its sound is, by the number of calls.

    python -m benchmarks.media [--quick] [--calls 1,50,200] [--processes 1,2] [--seconds 20] [--no-peers]
        [--subject NAME=COMMAND ...]

Two processes and nothing else: a *subject*, by default our own media plane with voice activity detection and the end of
turns, and the callers (`media_load.callers`), who send 20 ms packets of recorded sentences with pauses and note every
packet that comes back. `media_load.subject` says how another subject joins in. Public packages are subjects too
(`benchmarks.peers`), each over the medium it speaks and from few calls on until it can carry no more. `--processes`:
the same calls are also shared between several processes of ours, as `calls.processes` shares them.
"""

import argparse
import asyncio
import shlex
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.media_load.rows import HEADER, OURS, Cost, Row, cells, cells_of_missing, result, row
from benchmarks.media_load.subject import Lines, SubjectError, cpu_s, rss_mib, started
from benchmarks.media_load.talk import conversation, speech_share
from benchmarks.peers.catalogue import MEDIA_PEERS
from benchmarks.peers.environment import PeerMissingError, environment
from benchmarks.report import publish, table

CALLS = (1, 50, 100, 200, 400)
# a framework may be full with a dozen
PEER_CALLS = (1, 10, 20, 50, 100, 200, 400)
IDLE_S = 3.0
# the jitter buffers settle, and detectors learn the line
SETTLE_S = 5.0

WHAT = (
    "One process serves so many calls over RTP (mu-law, 20 ms) on loopback, with voice activity detection and\n"
    "the end of turns; where there are more processes, they share the calls. The callers are another process and\n"
    "talk {speech:.0%} of the time; the bot speaks by itself. CPU is that of the serving processes, less what they\n"
    "need for no calls, in percent of one core; memory likewise. Gaps are the times between two packets as the\n"
    "kernel brought them to a caller, in ms. Lost are packets that never came, out to the callers and in from\n"
    "them. Callers late: how late, in ms, the callers themselves sent. Peers run over the medium they speak\n"
    "(AudioSocket, chan_websocket), which have no packets to lose or, sent ahead of time, no gaps; they are\n"
    "measured up to the number of calls of which they still hear 99 % in time. What of them runs stands in\n"
    "benchmarks/peers."
)
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Subject:
    """`callers`: who calls it. Both commands are run in the root of the repository."""

    name: str
    command: Sequence[str]
    callers: Sequence[str] = (sys.executable, "-m", "benchmarks.media_load.callers")
    peer: bool = False


async def measure(who: Subject, calls: int, seconds: float, processes: int = 1) -> Row:
    """One row: the calls are dealt to so many processes in turn. Raises SubjectError."""
    async with AsyncExitStack() as stack:
        serving = [
            await stack.enter_async_context(started(f"{who.name} {number}", who.command, ROOT))
            for number in range(1, processes + 1)
        ]
        idle_cores = await _cores(serving, IDLE_S)
        idle_mib = _mib(serving)
        async with started(f"callers of {who.name}", who.callers, ROOT) as callers:
            await callers.tell({"streams": calls})
            peers = (await callers.hear("listening"))["listening"]
            listening = [("", 0)] * calls
            for number, one in enumerate(serving):
                await one.tell(
                    {
                        "open": len(peers[number::processes]),
                        "peers": peers[number::processes],
                        "codec": "ulaw",
                    }
                )
            for number, one in enumerate(serving):
                listening[number::processes] = (await one.hear("listening"))["listening"]
            if who.peer:
                # over TCP a call is set up when it is dialled, which may take a peer longer than we settle
                await callers.tell({"call": listening})
                await callers.hear("called")
                for one in serving:
                    await one.hear("answered")
            length = SETTLE_S + seconds + 1.0
            await callers.tell({"send_to": listening, "seconds": length, "skip": SETTLE_S})
            await asyncio.sleep(SETTLE_S)
            cores = await _cores(serving, seconds)
            mib = _mib(serving)
            sent = await callers.hear("sent", length + 30)
        for one in serving:
            await one.tell({"close": True})
        said = [await one.hear("heard") for one in serving]
    return row(who.name, calls, length, sent, said, Cost(cores - idle_cores, mib - idle_mib))


async def _cores(serving: Sequence[Lines], seconds: float) -> float:
    """How many cores they use together, over this time."""
    before = sum(cpu_s(one.pid) for one in serving)
    await asyncio.sleep(seconds)
    return (sum(cpu_s(one.pid) for one in serving) - before) / seconds


def _mib(serving: Sequence[Lines]) -> float:
    return sum(rss_mib(one.pid) for one in serving)


def report(rows: Sequence[Row], missing: dict[str, str], *, keep: bool) -> None:
    publish(
        "media",
        WHAT.format(speech=speech_share(conversation())),
        [table(HEADER, [cells(one) for one in rows] + [cells_of_missing(*one) for one in missing.items()])],
        result(rows),
        models="Silero VAD (8 kHz) behind webrtcvad",
        keep=keep,
    )


async def run(
    subjects: Sequence[Subject], calls: Sequence[int], seconds: float, processes: Sequence[int] = (1,)
) -> list[Row]:
    """All rows, those of a number of calls one after the other. A peer that could not carry one gets no more."""
    rows = []
    full: set[str] = set()
    for count in sorted({*calls, *(number for number in PEER_CALLS if number < max(calls))}):
        for subject in subjects:
            if subject.name in full or (not subject.peer and count not in calls):
                continue
            for number in processes if subject.name == OURS else (1,):
                if number > count:
                    continue
                try:
                    measured = await measure(subject, count, seconds, number)
                except SubjectError as error:
                    print(f"{subject.name}, {count} calls: {error}", file=sys.stderr, flush=True)
                    full |= {subject.name} if subject.peer else set()
                    continue
                rows.append(measured)
                full |= {subject.name} if subject.peer and not measured.carried else set()
                print(" | ".join(str(cell) for cell in cells(measured)), flush=True)
    return sorted(rows, key=lambda one: [it.name for it in subjects].index(one.subject))


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
    parser.add_argument(
        "--processes", type=_numbers, default=[1], help="numbers of our processes that share the calls (1)"
    )
    parser.add_argument("--seconds", type=float, default=None, help="how long each row is measured (20)")
    parser.add_argument("--subject", type=_subject, action="append", default=[], help="another, beside ours")
    parser.add_argument("--no-peers", action="store_true", help="public packages are not measured")
    parser.add_argument("--keep", action="store_true", help="keep the result of chosen numbers of calls")
    chosen = parser.parse_args()
    ours = Subject(OURS, [sys.executable, "-m", "benchmarks.media_load.ours"])
    able, missing = ([], {}) if chosen.no_peers else peers()
    calls = chosen.calls or ((1, 50) if chosen.quick else CALLS)
    seconds = chosen.seconds or (8.0 if chosen.quick else 20.0)
    rows = asyncio.run(run([ours, *able, *chosen.subject], calls, seconds, chosen.processes))
    if not rows:
        return 1
    report(rows, missing, keep=chosen.keep or not (chosen.quick or chosen.calls))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
