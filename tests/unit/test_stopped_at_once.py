"""A caller who hangs up in the very moment in which something is begun: it leaves nothing that was never awaited.

Python tells that as a warning when the coroutine is thrown away, and here warnings are errors.
"""

import asyncio
import gc
from types import SimpleNamespace
from typing import Any, cast

from stasis_app.conversation import Phase, Saying
from stasis_app.judging import Judges
from stasis_app.read_ahead import ReadAhead, Reading
from stasis_app.transcript import Transcript
from stasis_app.turn import Parts
from stasis_app.turns import Turns

# nothing is asked of them: what is begun never takes its first step
NOBODY = cast("Any", SimpleNamespace())


async def test_a_turn() -> None:
    media = SimpleNamespace(start_turn=lambda _number: None)
    tools = SimpleNamespace(forget=lambda _number: None)
    parts = cast("Parts", SimpleNamespace(media=media, tools=tools))
    async with asyncio.TaskGroup() as group:
        turns = Turns(parts, Transcript(None), group)
        turns.say(1, Saying.GREETING, ["Hello."])
        await turns.stop(1)
        turns.prepare(2, cast("Any", SimpleNamespace(number=1)))
        await turns.stop(2)
    gc.collect()


async def test_reading_ahead() -> None:
    async with asyncio.TaskGroup() as group:
        ahead = ReadAhead(Reading("c1", NOBODY, NOBODY, NOBODY, lambda: None), group)
        ahead.read_talk()
        ahead.follow_caller()
        ahead.read_talk()
        ahead.stop()
    gc.collect()


async def test_a_verdict() -> None:
    async with asyncio.TaskGroup() as group:
        judges = Judges(NOBODY, lambda _event: None, group)
        judges.judge(1, NOBODY, Phase.SPEAKING)
        judges.judge_ongoing(1, Phase.SPEAKING)
        judges.stop()
    gc.collect()
