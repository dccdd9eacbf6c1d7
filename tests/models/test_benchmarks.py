"""benchmarks.turns and what makes and replays its corpora, on three clips and with the real models. No times."""

from pathlib import Path
from typing import Final

import pytest

from tests.models.conftest import StartWorker
from tests.support.benchmarks import run_benchmark, run_module

LINES: Final = """\
finished | How late are you open tonight? | open |
unfinished | Please put me down for [0.4] Thursday at eleven. | open |
interrupt | Wait a second, that is wrong. | open |
"""
FIGURES: Final = (
    *("wait_p50_ms", "wait_p95_ms", "false_cut_pct", "missed_end_pct", "barge_p95_ms", "false_stops"),
    *("digits_whole", "word_loss_pct", "barge_missed"),
)


@pytest.mark.timeout(200)
async def test_a_corpus_is_spoken_replayed_and_played_as_calls(
    start_worker: StartWorker, tmp_path: Path
) -> None:
    """benchmarks.turns on a line of its own, where a call is the product's and only Asterisk is stood in for."""
    lines, corpus = tmp_path / "lines.txt", tmp_path / "corpus"
    lines.write_text(LINES)
    async with start_worker("tts") as tts:
        await run_module("turns_say", lines, corpus, "--tts", tts.url)
    assert (corpus / "turns.tsv").read_text().count("\n") == 4

    replayed = await run_module("turns_replay", corpus, "--cache", tmp_path / "readings.json")
    assert "| corpus |" in replayed

    ran = await run_benchmark("turns", "--corpus", corpus, "--no-peers", "--no-keep")
    ways = ("", "unasked_", "fixed_")
    assert set(ran.result) == {f"{way}{figure}" for way in ways for figure in FIGURES}
    assert ran.result["missed_end_pct"] == "0.0"
    wait_ms, *_, heard = ran.row("finished01")
    assert wait_ms != "missed"
    assert "open" in heard
    stopped, *_ = ran.row("interrupt03")
    assert stopped == "yes"
