"""When the bot takes a caller's turn for finished, and what stops it while it speaks.

    python -m benchmarks.turns --corpus DIR [--kinds finished,dictation] [--match NAME] [--beside N]
                               [--no-peers] [-c voicebot.yaml]

Plays every clip of the corpus (benchmarks/turns.md says what one is) as G.711 over real RTP into the media path and the
conversation of a call, with the recogniser and the settings as shipped, and workers for the answer that take no time.
"""

import argparse
import asyncio
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import turns_pipecat
from benchmarks.report import publish, table
from benchmarks.turns_corpus import KINDS, Clip, CorpusError, read_corpus
from benchmarks.turns_line import Line
from benchmarks.turns_run import FIXED_MS, Outcome, over_jobs, play_all, turn_jobs
from benchmarks.turns_score import Decided, Interrupted, cut_pauses, figures, is_read, percentile, words_lost
from benchmarks.turns_words import fixed_words, peer_words
from caller_phone.media import MediaEngine
from gpu_workers.client import SttClient, health, worker_session
from media_bridge.plane import MediaPlane
from media_bridge.turn_end_waits import EndWaits
from voicebot.config import Config, parse, read_text
from voicebot.interrupts import run_until_interrupted
from voicebot.supervise import Child, supervised

WHAT: Final = f"""Each clip is one call. Wait: from the caller's last sound to the decision that the turn is over, after
which the answer may be heard. False cut: a turn with pauses inside that was taken for finished in one of them. Missed:
not finished within 3 s. Barge-in: from the caller's first sound to the bot's last packet. False stop: a sound of
listening or a noise, clean and over beds, that stops the bot for good (not: a pause that goes on at the same sample).
Word loss: percent of the words said that are in no turn that was taken for finished, as our recogniser reads each turn
(numbers left out; dictations are judged whole).

`ours` has been asked a question that wants the kind of answer that the clip is, `unasked` an open one. `fixed` is a
silence of {FIXED_MS} ms on the same voice detector and the same frames, with any speech stopping the bot. `pipecat` is
the default turn detection of pipecat-ai on the same sound; its words take as long as ours, any turn stops its bot."""
RATIOS_DB: Final = (20.0, 10.0)
_POLL_S: Final = 0.2
_TIMED: Final = 9


@dataclass(frozen=True)
class Measured:
    """Asked (with everything that is said over the bot), unasked where that makes a difference, and the peer's.

    `fixed_words` and `peer_words`: by clip, what is in the turns that they took for finished.
    """

    asked: Sequence[Outcome]
    unasked: Sequence[Outcome]
    fixed_words: Mapping[str, str]
    peer: turns_pipecat.Events | None
    peer_words: Mapping[str, str]


@asynccontextmanager
async def _recogniser(config: Config, text: str, hurry: asyncio.Event) -> AsyncIterator[str]:
    """The STT worker as it ships, on a port of its own; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="voicebot-bench-") as folder:
        file = Path(folder) / "voicebot.yaml"
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
        command = (sys.executable, "-m", "benchmarks.turns_worker", str(file), str(port))
        child = Child("stt", command, Path(folder) / "stt.log", nice=5)
        url = f"http://127.0.0.1:{port}"
        async with supervised([child], _say, hurry), worker_session() as http:
            while not (await health(http, url)).ready:  # noqa: ASYNC110 - the other side is a process
                await asyncio.sleep(_POLL_S)
            yield url


async def measure(
    config: Config, text: str, clips: Sequence[Clip], chosen: argparse.Namespace, hurry: asyncio.Event
) -> Measured:
    beds = [clip for clip in clips if clip.kind == "bed"]
    clips = [clip for clip in clips if clip.kind in chosen.kinds and chosen.match in clip.name]
    settings = config.media.model_copy(
        update={"port_start": 28000, "port_end": 28998, "port_quarantine_s": 0.0}
    )
    waits = EndWaits.around(settings.endpoint.end_ms)
    async with _recogniser(config, text, hurry) as url, SttClient(url) as stt:
        with MediaEngine() as engine:
            async with MediaPlane(settings) as plane:
                line = Line(engine, plane, stt, waits)
                words_ms = await _words_take_ms(line.stt, clips)
                asked = await play_all(line, turn_jobs(clips, asked=True), chosen.beside, settings, _say)
                # the recogniser has little to do here: more of them go side by side
                over = over_jobs(clips, beds, RATIOS_DB)
                asked += await play_all(line, over, 2 * chosen.beside, settings, _say)
                closed = [clip for clip in clips if clip.answer not in ("open", "none", "")]
                unasked = await play_all(line, turn_jobs(closed, asked=False), chosen.beside, settings, _say)
            played = [one.job.clip for one in asked]
            peer = None if chosen.no_peers else await turns_pipecat.decide(played, words_ms, _say)
        by_peer = {} if peer is None else await peer_words(stt, played, peer)
        return Measured(asked, unasked, await fixed_words(stt, asked), peer, by_peer)


async def _words_take_ms(stt: SttClient, clips: Sequence[Clip]) -> float:
    """The median for a few of the clips, one after the other."""
    took = []
    for clip in [clip for clip in clips if clip.text][:_TIMED]:
        began = time.monotonic()
        await stt.transcribe(
            clip.samples.tobytes(), 8000, priority="final", deadline_ms=None, call_id="turns", language="en"
        )
        took.append(1000 * (time.monotonic() - began))
    words_ms = statistics.median(took) if took else 0.0
    _say(f"The recogniser takes {words_ms:.0f} ms.")
    return words_ms


def report(config: Config, measured: Measured, *, keep: bool) -> None:
    asked, unasked, peer = measured.asked, measured.unasked, measured.peer
    swapped = {outcome.job.clip.name: outcome for outcome in unasked}
    alone = [swapped.get(outcome.job.clip.name, outcome) for outcome in asked]
    ways = {
        "": _figures([outcome.ours for outcome in asked], _heard_by_clip(asked)),
        "unasked_": _figures([outcome.ours for outcome in alone], _heard_by_clip(alone)),
        "fixed_": _figures([outcome.fixed for outcome in asked], measured.fixed_words),
    }
    if peer is not None:
        ways["pipecat_"] = _figures([_by_peer(outcome, peer) for outcome in asked], measured.peer_words)
    result = {f"{way}{key}": value for way, found in ways.items() for key, value in found.items()}
    header = ("", *ways[""])
    rows = [(way.rstrip("_") or "ours", *found.values()) for way, found in ways.items()]
    stt = config.workers.stt
    publish(
        "turns",
        WHAT,
        [
            table(header, rows),
            table(("more of ours", ""), _notes(asked)),
            table(
                ("clip", "wait ms", "cut", "fixed wait ms", "fixed cut", "heard"),
                [_row(o) for o in asked if isinstance(o.ours, Decided)],
            ),
            table(
                ("over the bot", "stopped", "paused", "silent after ms", "fixed stopped", "heard"),
                [_over_row(o) for o in asked if isinstance(o.ours, Interrupted)],
            ),
            table(
                ("unasked", "wait ms", "cut", "fixed wait ms", "fixed cut", "heard"),
                [_row(o) for o in unasked],
            ),
        ],
        result,
        models=f"STT {stt.model} {stt.compute_type} with {stt.threads} threads",
        keep=keep,
    )


def _by_peer(outcome: Outcome, peer: turns_pipecat.Events) -> Decided | Interrupted:
    judge = turns_pipecat.interrupted if outcome.job.over else turns_pipecat.decided
    return judge(outcome.job.clip, peer)


def _figures(found: Sequence[Decided | Interrupted], heard: Mapping[str, str]) -> dict[str, object]:
    return {
        **figures(
            [one for one in found if isinstance(one, Decided)],
            [one for one in found if isinstance(one, Interrupted)],
        ),
        "word_loss_pct": words_lost(heard, [one.clip for one in found]),
    }


def _heard_by_clip(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {one.job.clip.name: _heard(one) for one in outcomes}


def _notes(asked: Sequence[Outcome]) -> list[tuple[object, object]]:
    ours = [one.ours for one in asked]
    decided = [one for one in ours if isinstance(one, Decided)]
    over = [one for one in ours if isinstance(one, Interrupted)]
    sounds = [one for one in over if one.clip.kind != "interrupt"]
    heard = _heard_by_clip(asked)
    meant = [one for one in over if one.clip.kind == "interrupt"]
    dictation = [one.clip for one in decided if one.clip.kind == "dictation"]
    read = [is_read(clip.value, heard[clip.name]) for clip in dictation]
    finished = [one for one in decided if one.clip.kind == "finished"]
    cut, pauses = cut_pauses(decided)
    overhead = [ms for one in asked for ms in _overheads(one)]
    return [
        ("pauses taken for the end", f"{cut} of {pauses}"),
        ("finished turns taken for finished too early", sum(one.cuts > 0 for one in finished)),
        ("sounds over the bot that paused it", f"{sum(one.paused for one in sounds)} of {len(sounds)}"),
        ("interruptions that stopped it", f"{sum(one.stopped for one in meant)} of {len(meant)}"),
        ("dictations read right", f"{sum(read)} of {len(read)}"),
        (
            "decision to the bot's first packet, p50 and p95 ms",
            f"{percentile(overhead, 50)}, {percentile(overhead, 95)}",
        ),
    ]


def _overheads(outcome: Outcome) -> list[float]:
    return [
        1000 * (answer.first_packet_s - answer.at_s)
        for answer in outcome.played.answers
        if answer.first_packet_s
    ]


def _heard(outcome: Outcome) -> str:
    return " / ".join(answer.words for answer in outcome.played.answers)


def _row(outcome: Outcome) -> tuple[object, ...]:
    ours, fixed = outcome.ours, outcome.fixed
    assert isinstance(ours, Decided)
    assert isinstance(fixed, Decided)
    return (
        outcome.job.clip.name, _whole(ours.wait_ms), ours.cuts or "", _whole(fixed.wait_ms), fixed.cuts or "",
        _heard(outcome),
    )  # fmt: skip


def _over_row(outcome: Outcome) -> tuple[object, ...]:
    ours, fixed = outcome.ours, outcome.fixed
    assert isinstance(ours, Interrupted)
    assert isinstance(fixed, Interrupted)
    cut = _whole(ours.cut_ms) if ours.stopped else "-"
    return (
        outcome.job.clip.name, "yes" if ours.stopped else "", "yes" if ours.paused else "", cut,
        "yes" if fixed.stopped else "", _heard(outcome),
    )  # fmt: skip


def _whole(value: float | None) -> str:
    return "missed" if value is None else f"{value:.0f}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(text.split(","))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(KINDS)}")
    return kinds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="a folder with turns.tsv and its WAV files"
    )
    parser.add_argument("--kinds", type=_kinds, default=KINDS, help="only these; the result is not kept")
    parser.add_argument(
        "--match", default="", help="only clips with this in their name; the result is not kept"
    )
    parser.add_argument(
        "--beside", type=int, default=2, help="calls at a time (with 1, none waits for another's words)"
    )
    parser.add_argument("--no-peers", action="store_true", help="pipecat-ai is not measured; nothing is kept")
    parser.add_argument("-c", "--config", type=Path, help="voicebot.yaml (its defaults if not given)")
    parser.add_argument(
        "--no-keep", action="store_true", help="print only; benchmarks/results/turns.md stays"
    )
    chosen = parser.parse_args()
    text = read_text(chosen.config)
    config = parse(text, str(chosen.config), os.environ)
    try:
        clips = read_corpus(chosen.corpus)
    except CorpusError as error:
        print(error, file=sys.stderr)
        return 2
    keep = not (chosen.no_keep or chosen.no_peers or chosen.match or chosen.kinds != KINDS)

    async def run(hurry: asyncio.Event) -> int:
        report(config, await measure(config, text, clips, chosen, hurry), keep=keep)
        return 0

    return run_until_interrupted(run, lambda: _say("Stopping."))


if __name__ == "__main__":
    raise SystemExit(main())
