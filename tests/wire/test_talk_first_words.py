"""A hum over the bot that is read as words, in whole talks (D11): told by the recogniser's first words where it says
them, else by a second reading."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.support.talk import talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

SHORT = "finished01.wav"
LONG = "This is a rather long sentence about very many bikes and all that can be done with them."
NEXT = "That was the answer."


@pytest.mark.parametrize(
    ("first_words_logprob", "read_twice", "meant"),
    [(-2.8, False, False), (-6.0, False, True), (None, True, True)],
)
def test_what_the_recogniser_thought_of_first_spares_the_second_reading(
    virtual_time: RunVirtual, first_words_logprob: float | None, read_twice: bool, meant: bool
) -> None:
    async def main() -> None:
        async with talk() as scene:
            stt = scene.workers.stt
            await scene.ask("Tell me about bikes.", LONG, NEXT)
            await scene.until_heard(LONG, for_s=1.0)
            stt.avg_logprob, stt.first_words_logprob = -0.6, first_words_logprob
            before = len(stt.requests)
            await scene.say(SHORT, "Why?")
            await scene.quiet(2.0)
            judged = [one for one in stt.requests[before:] if one.priority == "final"]
            assert sum(bool(one.first_words) for one in judged) == 1, (
                "the words of the turn are not asked for it"
            )
            assert any(len(one.pcm) < len(judged[0].pcm) for one in judged) is read_twice
            assert (scene.heard_s(LONG) < scene.whole_s(LONG) - 0.5) is meant
            assert await scene.metric("voicebot_interruptions_total", verdict="meant") == int(meant)

    virtual_time(main())
