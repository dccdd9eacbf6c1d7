"""Benchmarks on a real Asterisk with models that are made up: they run, and find what they look for. No times."""

from pathlib import Path

import pytest

from benchmarks.overhead import WORDS, configuration
from tests.support.benchmarks import run_benchmark
from tests.support.fake_workers import fake_workers

SPEECH = Path(__file__).parents[1] / "data" / "speech"


@pytest.mark.timeout(200)
async def test_the_response_to_a_question_and_an_interruption(tmp_path: Path) -> None:
    speech = tmp_path / "speech"
    speech.mkdir()
    for clip in ("price01.wav", "no01.wav"):
        (speech / clip).symlink_to(SPEECH / clip)
    config = tmp_path / "voicebot.yaml"
    async with fake_workers() as workers:
        workers.stt.choose = lambda _: WORDS
        workers.llm.replies = ["Nineteen dollars a month, no more."]
        config.write_text(configuration(workers, 200))
        ran = await run_benchmark("response", "--quick", "-c", config, "--speech", speech)
    assert (ran.result["turns"], ran.result["answered"], ran.result["missing"]) == ("2", "2", "0"), ran.output
    assert {"response_p50_ms", "response_p95_ms", "cut_p95_ms", "early", "gap_p99_ms"} < set(ran.result)


@pytest.mark.timeout(200)
async def test_a_burst_of_calls() -> None:
    """P9: each time all the places are taken, and the same five too many go back."""
    ran = await run_benchmark("burst", "--quick", "--rounds", 3, "--places", 15)
    assert ran.row("taken")[0] == "45", ran.output
    assert ran.row("refused")[0] == "15"
