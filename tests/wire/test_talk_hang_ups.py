"""A caller hangs up every 50 ms of a talk, in virtual time: nothing of the call is left (A12, P1).

One moment in three; VOICEBOT_HANG_UP_FROM=1 begins with another one, VOICEBOT_HANG_UP_EVERY=1 takes them all.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Self

import pytest

from media_bridge.plane import MediaPlane
from tests.support.media_call import speech
from tests.support.talk import Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

STEP_S, STEPS = 0.05, 120
FIRST = int(os.environ.get("VOICEBOT_HANG_UP_FROM", "0"))
EVERY = int(os.environ.get("VOICEBOT_HANG_UP_EVERY", "3"))
MOMENTS = range(FIRST, STEPS, EVERY)
UNDONE_S = 0.5
ANSWER = "It costs nineteen dollars a month. You can cancel it whenever you want to."


@pytest.fixture
def planes(monkeypatch: pytest.MonkeyPatch) -> list[MediaPlane]:
    """Those that were begun."""
    begun: list[MediaPlane] = []
    enter = MediaPlane.__aenter__

    async def noted(plane: MediaPlane) -> Any:
        begun.append(plane)
        return await enter(plane)

    monkeypatch.setattr(MediaPlane, "__aenter__", noted)
    return begun


class Script:
    """Greeting, question, answer, interruption: six seconds, and each part of the call has something to do."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def __aenter__(self) -> Self:
        self._saying = asyncio.ensure_future(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._saying.cancel()
        await asyncio.wait({self._saying})
        # what was not said any more belongs to no later call
        self._scene.line.ear.fall_silent()

    async def _run(self) -> None:
        ear = self._scene.line.ear
        await asyncio.sleep(0.4)
        await ear.say(speech("price01.wav"))
        await asyncio.sleep(2.0)
        await ear.say(speech("finished01.wav"))


def running_tasks() -> Counter[str]:
    """By what they run, but for the connections that the fakes' servers keep."""
    names = (getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks())
    return Counter(name for name in names if not name.startswith(("RequestHandler.", "FakeAri.")))


def test_whoever_hangs_up_at_any_moment_leaves_nothing(
    virtual_time: RunVirtual, planes: list[MediaPlane]
) -> None:
    at_work: Counter[tuple[bool, ...]] = Counter()

    async def main() -> None:
        async with talk() as scene:
            workers = scene.workers
            models = (workers.stt, workers.llm, workers.tts)
            workers.stt.choose, workers.stt.delay_s = (lambda _: "How much is it?"), 0.15
            workers.llm.replies, workers.llm.delay_s, workers.llm.token_delay_s = [ANSWER], 0.2, 0.1
            workers.tts.delay_s, workers.tts.chunk_delay_s = 0.05, 0.08
            scene.hang_up()
            await asyncio.sleep(1)
            (plane,) = planes
            baseline = running_tasks()
            for moment in MOMENTS:
                caller = scene.ari.caller(f"1700000001.{moment}")
                async with Script(scene):
                    await asyncio.sleep(moment * STEP_S)
                    at_work[tuple(worker.running > 0 for worker in models)] += 1
                    scene.ari.end(caller)
                await asyncio.sleep(UNDONE_S)
                assert not scene.ari.channels, moment
                assert not scene.ari.bridges, moment
                assert await scene.metric("voicebot_calls") == 0, moment
                assert [worker.running for worker in models] == [0, 0, 0], moment
                assert plane.port_stats().leased == 0, moment
                assert running_tasks() == baseline, moment
            assert await scene.metric("voicebot_defects_total") == 0
            assert await scene.metric("voicebot_calls_ended_total", cause="caller_hung_up") == 1 + len(
                MOMENTS
            )

    virtual_time(main())
    # the moments were what they are for: while each of the models was at work, and while none was
    assert all(any(which[model] for which in at_work) for model in range(3)), at_work
    assert at_work[(False, False, False)], at_work
