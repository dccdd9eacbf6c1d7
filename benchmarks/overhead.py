"""What the call process itself adds to a response, with models that answer at once.

    python -m benchmarks.overhead [--turns 12] [--quick]

Everything but the models is real: Asterisk, the call process and a phone on SIP and RTP. Twice: as shipped, where the
answer is made during the wait for the end of the turn, and with that wait and the pause made one, so that all work
begins only when the turn has ended.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from socket import SOCK_STREAM

import numpy as np
import yaml

from benchmarks.quantile import in_whole, quantile
from benchmarks.report import publish, table
from caller_phone.script import HangUp, Say, Step, Turn, WaitAnswer, WaitGreeting
from media_bridge.settings import EndpointSettings
from media_bridge.turn_end import end_wait_ms
from media_bridge.turn_end_waits import EndWaits
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.rig import free_ports
from voicebot.config import Config, parse
from voicebot.demo import EXTENSION, read_transcript
from voicebot.interrupts import run_until_interrupted
from voicebot.place_call import number_uri, talk
from voicebot.up import running

CLIP = Path(__file__).parent / "speech" / "price01.wav"
WORDS = "How much does the monthly plan cost?"
REPLY = "Nineteen dollars."
END_MS = 700
QUIET_MS = 700.0
WHAT = f"""Models that answer at once. `commit`: from the decision that the turn is over to the first packet of the
answer, both in the call process. `over the wait`: the response on the caller's wire, less the silence that ends this
turn by its words; it holds the jitter buffer, the network both ways and the phone's own 20 ms. As shipped that silence
is {end_wait_ms(WORDS, None, EndWaits.around(END_MS))} ms and the answer is made meanwhile; `nothing ahead` begins all
work at the decision, {END_MS} ms after the caller's last sound. `last to first`: the median response over the last
quarter of the turns as shipped to that over the first. Goals: commit at most 40 ms, over the wait at most 60 ms as
shipped."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One call: what its phone measured, in order, and the stages the call process wrote of each answer."""

    name: str
    wait_ms: int
    turns: Sequence[Turn]
    stages: Sequence[dict[str, int]]

    @property
    def commits(self) -> list[float]:
        return [one["first_packet"] - one["decision"] for one in self.stages if "first_packet" in one]

    @property
    def over_the_wait(self) -> list[float]:
        """Infinity for an answer that never came."""
        return [
            inf if turn.response_ms is None else turn.response_ms - self.wait_ms
            for turn in self.turns
            if turn.early_ms is None
        ]


def configuration(workers: FakeWorkers, pause_ms: int) -> str:
    """voicebot.yaml on ports of its own. What the models say does not depend on the profile."""
    sip_port, rtp_start = free_ports(1)[0], 21_000
    http_port, web_port = free_ports(2, SOCK_STREAM)
    return yaml.safe_dump(
        {
            "asterisk": {
                "sip_port": sip_port,
                "http_port": http_port,
                "rtp_start": rtp_start,
                "rtp_end": rtp_start + 199,
            },
            "media": {
                "port_start": 22_000,
                "port_end": 22_198,
                "endpoint": {"pause_ms": pause_ms, "end_ms": END_MS},
            },
            "web": {"port": web_port},
            "workers": {
                "stt": {"start": False, "url": workers.stt_url},
                "llm": {"start": False, "url": workers.llm_url},
                "tts": {"start": False, "url": workers.tts_url},
            },
            "log": {"directory": "var/log/overhead"},
            "profiles": {"default": {"prompt": "You are a benchmark.", "greeting": "Hello."}},
        }
    )


async def measure(name: str, pause_ms: int, turns: int, hurry: asyncio.Event) -> Measured:
    """One call of `turns` questions."""
    steps: list[Step] = [WaitGreeting(quiet_ms=QUIET_MS)]
    for _ in range(turns):
        steps += [Say(CLIP), WaitAnswer(quiet_ms=QUIET_MS)]
    async with fake_workers() as workers:
        workers.stt.choose = lambda _: WORDS
        workers.llm.replies = [REPLY]
        workers.tts.seconds_per_char = 0.03
        text = configuration(workers, pause_ms)
        config: Config = parse(text, "overhead", os.environ)
        with tempfile.TemporaryDirectory(prefix="voicebot-bench-") as folder:
            transcript = Path(folder) / "transcript.jsonl"
            async with running(config, text, _say, hurry, transcript):
                _say(f"{name}: {turns} questions")
                result = await talk(number_uri(config, EXTENSION), [*steps, HangUp()])
            lines = read_transcript(transcript)
    if result.stopped_at or result.skipped_ticks:
        _say(f"{name}: ended at {result.stopped_at}, the phone skipped {result.skipped_ticks} ticks")
    stages = [line["ms_after_speech_end"] for line in lines if line["saying"] == "answer"]
    wait_ms = max(pause_ms, end_wait_ms(WORDS, None, EndWaits.around(END_MS)))
    return Measured(name, wait_ms, result.turns, [one for one in stages if isinstance(one, dict)])


def report(shipped: Measured, late: Measured, *, keep: bool) -> None:
    rows = [
        (
            one.name,
            one.wait_ms,
            len(one.commits),
            *(_percentile(one.commits, percent) for percent in (50, 95)),
            *(_percentile(one.over_the_wait, percent) for percent in (50, 95)),
        )
        for one in (shipped, late)
    ]
    header = (
        "",
        "wait ms",
        "turns",
        "commit p50 ms",
        "commit p95 ms",
        "over the wait p50 ms",
        "over the wait p95 ms",
    )
    result = {
        "turns": len(shipped.commits) + len(late.commits),
        "commit_p50_ms": _percentile(shipped.commits, 50),
        "commit_p95_ms": _percentile(shipped.commits, 95),
        "over_wait_p50_ms": _percentile(shipped.over_the_wait, 50),
        "over_wait_p95_ms": _percentile(shipped.over_the_wait, 95),
        "last_to_first": _last_to_first(shipped.over_the_wait, shipped.wait_ms),
        "late_commit_p50_ms": _percentile(late.commits, 50),
        "late_commit_p95_ms": _percentile(late.commits, 95),
    }
    publish("overhead", WHAT, [table(header, rows)], result, models="none: each answers at once", keep=keep)


def _last_to_first(over: Sequence[float], wait_ms: int) -> float | str:
    """Of the medians of the last and the first quarter (D28)."""
    quarter = len(over) // 4
    if not quarter:
        return "-"
    first, last = np.median(over[:quarter]) + wait_ms, np.median(over[-quarter:]) + wait_ms
    if not np.isfinite(first + last):
        return "inf" if np.isinf(last) else "-"
    return round(float(last / first), 3)


def _percentile(values: Sequence[float], percent: float) -> int | str:
    return in_whole(quantile(values, percent))


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=12, help="questions in each of the two calls")
    parser.add_argument("--quick", action="store_true", help="four questions at most; the result is not kept")
    chosen = parser.parse_args()
    turns = min(4, chosen.turns) if chosen.quick else chosen.turns

    async def run(hurry: asyncio.Event) -> int:
        shipped = await measure("as shipped", EndpointSettings().pause_ms, turns, hurry)
        late = await measure("nothing ahead", END_MS, turns, hurry)
        report(shipped, late, keep=not chosen.quick)
        return 0

    return run_until_interrupted(run, lambda: _say("Stopping."))


if __name__ == "__main__":
    raise SystemExit(main())
