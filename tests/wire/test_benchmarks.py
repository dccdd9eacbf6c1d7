"""Benchmarks without Asterisk and models, with the smallest arguments: they run, and find what they look for."""

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from benchmarks import attacks
from benchmarks.isolation import Case, Device, measure, report, utterances
from gpu_workers.settings import LlmSettings, SttSettings, WorkersSettings
from tests.support.benchmarks import run_benchmark
from tests.support.fake_workers import fake_workers

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
CPU = Device("cpu", (0,))


async def test_attacks_on_answers_that_are_known(tmp_path: Path) -> None:
    spoken, honest = (attacks.lines(name)[: attacks.QUICK] for name in ("spoken", "honest"))
    answers = {question: ["We are open from nine to five."] for question in [*spoken, *honest]}
    answers[spoken[0]] = ["Of course. ", f"It is {attacks.REFERENCE}."]
    kept = tmp_path / "answers.json"
    kept.write_text(json.dumps(answers))
    ran = await run_benchmark("attacks", "--quick", "--answers", kept)
    found = {name: int(ran.result[name]) for name in ("of", "leaked_before", "leaked_after", "false_alarms")}
    assert found == {"of": attacks.QUICK, "leaked_before": 1, "leaked_after": 0, "false_alarms": 0}


async def test_media_carries_two_calls() -> None:
    ran = await run_benchmark("media", "--calls", 2, "--seconds", 2, "--no-peers")
    assert "calls" in ran.output
    assert ran.result


def test_isolation_counts_what_both_workers_do(virtual_time: RunVirtual) -> None:
    cases = [Case(name, CPU, writers) for name, writers in (("alone", 0), ("same", 1), ("own", 1))]

    async def main() -> None:
        async with fake_workers() as workers:
            workers.llm.token_delay_s = 0.01
            workers.llm.choose = lambda _: "word " * 500
            settings = WorkersSettings(
                stt=SttSettings(url=workers.stt_url), llm=LlmSettings(url=workers.llm_url)
            )
            for case in cases:
                await measure(case, settings, utterances(2))

    virtual_time(main())
    assert [len(case.waits_s) for case in cases] == [2, 2, 2]
    assert cases[0].written_a_second == 0 < cases[1].written_a_second
    report(cases, "nowhere", "none", keep=False)
