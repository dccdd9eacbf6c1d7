"""Whole talks in virtual time."""

from collections.abc import Callable, Coroutine
from typing import Any

from tests.support.talk import talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


def test_a_question_is_answered(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            scene.workers.stt.answers = ["How much is it?"]
            scene.workers.llm.replies = ["Nineteen dollars."]
            await scene.say("price01.wav")
            await scene.until_said("Nineteen")
            print(scene.spurts(), scene.said(), scene.lines())

    virtual_time(main())
