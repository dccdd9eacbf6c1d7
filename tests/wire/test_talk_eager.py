"""Work on an answer before the caller has finished: nothing of it is heard, remembered or left running (D23)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.support.talk import Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

IN_TWO_PARTS = "unfinished13.wav"  # pauses from 1.28 to 2.18 and from 2.68 to 3.08 s
FIRST, WHOLE = "Please put me down for", "Please put me down for Thursday at eleven."


async def says_in_two_parts(scene: Scene) -> list[float]:
    """Seconds of the clip at which a request to the model was open."""
    began, opened = scene.now, []
    speaking = asyncio.create_task(scene.say(IN_TWO_PARTS, ""))
    await asyncio.sleep(0.02)
    scene.workers.stt.choose = lambda heard: FIRST if heard.seconds < 2.2 else WHOLE
    while not speaking.done():
        if scene.workers.llm.running:
            opened.append(scene.now - began)
        await asyncio.sleep(0.02)
    return opened


def test_an_answer_begun_too_early_is_stopped_at_once_and_never_remembered(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            scene.workers.llm.token_delay_s = 0.05
            scene.workers.llm.replies = ["and so on " * 200]  # only what is stopped ever ends
            opened = await says_in_two_parts(scene)
            assert any(1.28 < at < 2.2 for at in opened), "work began in the first pause"
            # speech again at 2.18 s; it is certain some 60 ms later, and 200 ms are for the stopping
            assert not [at for at in opened if 2.18 + 0.36 < at < 2.68], "and ended when the caller went on"
            assert scene.workers.llm.aborted >= 1
            assert [line["saying"] for line in scene.lines()] == ["greeting"], (
                "nothing was heard or remembered"
            )

    virtual_time(main())


def test_the_answer_is_to_all_that_was_said_and_is_given_once(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            scene.workers.llm.replies = ["You are down for eleven."]
            await says_in_two_parts(scene)
            await scene.until_said("You are down for eleven.")
            await asyncio.sleep(3)
            assert [(line["saying"], line["caller"]) for line in scene.lines()] == [
                ("greeting", ""),
                ("answer", WHOLE),
            ]
            assert scene.asked()[-1]["content"] == WHOLE

    virtual_time(main())
