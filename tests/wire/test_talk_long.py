"""A long talk: the fortieth answer comes as soon as the first (D28)."""

import asyncio

from tests.support.own_core import OwnCoreLoop
from tests.support.talk import Scene, talk
from tests.support.virtual_time import run_virtual

TURNS, COMPARED = 40, 10
MESSAGE_S = 0.03
"""What the model takes to read a message that is new to it. The first prompts have three, the last ones up to forty."""


def p95(values: list[float]) -> float:
    return sorted(values)[round(0.95 * (len(values) - 1))]


def test_the_last_of_forty_answers_comes_as_soon_as_the_first() -> None:
    """D28, within a call. What the process computes takes its time, and so does what the model has not read yet."""
    read: list[int] = []

    async def main() -> None:
        async with talk() as scene:
            scene.workers.llm.message_delay_s = MESSAGE_S
            for number in range(TURNS):
                await scene.ask(f"What is number {number}?", f"It is the bike with number {number}.")
                await until_answered(scene, number)
                read.append(scene.workers.llm.messages_read)
            await scene.quiet()
            answers = [line for line in scene.lines() if line["saying"] == "answer"]
            assert [line["caller"] for line in answers] == [f"What is number {n}?" for n in range(TURNS)]
            delays = [line["ms_after_speech_end"]["first_packet"] for line in answers]
            assert p95(delays[-COMPARED:]) <= 1.15 * p95(delays[:COMPARED])
            assert scene.workers.llm.running == 0

    run_virtual(main(), OwnCoreLoop)
    # the talk of the second half is read once, and what is kept of it twice more: the window moves by half of itself
    assert read[-1] - read[TURNS // 2 - 1] <= 2 * read[TURNS // 2 - 1], read


async def until_answered(scene: Scene, number: int) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, OwnCoreLoop)

    def said() -> bool:
        # the transcript grows, and nobody else reads it
        with loop.not_counted():
            return any(f"with number {number}." in line["bot"] for line in scene.lines())

    await scene.until(said)
