"""A long talk in virtual time: the fortieth answer comes as soon as the first (D28)."""

from collections.abc import Callable, Coroutine
from typing import Any

from tests.support.talk import talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

TURNS = 40


def p95(values: list[float]) -> float:
    return sorted(values)[round(0.95 * (len(values) - 1))]


def test_the_last_of_forty_answers_comes_as_soon_as_the_first(virtual_time: RunVirtual) -> None:
    """D28, within a call."""

    async def main() -> None:
        async with talk() as scene:
            for number in range(TURNS):
                await scene.ask(f"What is number {number}?", f"It is the bike with number {number}.")
                await scene.until_said(f"with number {number}.")
            answers = [line for line in scene.lines() if line["saying"] == "answer"]
            assert [line["caller"] for line in answers] == [f"What is number {n}?" for n in range(TURNS)]
            delays = [line["ms_after_speech_end"]["first_packet"] for line in answers]
            assert p95(delays[-10:]) <= 1.15 * p95(delays[:10])
            assert scene.workers.llm.running == 0

    virtual_time(main())
