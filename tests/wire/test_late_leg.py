"""The start of a call's media channel comes late or never, at the limits as they are, in virtual time (D3, A6)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stasis_app.legs import STASIS_START_S
from tests.support.talk import CALLER, PROFILE, Scene, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

SECOND = "1700000000.2"
PATIENT = PROFILE.model_copy(update={"no_input_s": 60.0})


async def ends(scene: Scene, cause: str) -> float:
    return await scene.metric("voicebot_calls_ended_total", cause=cause)


@pytest.mark.parametrize("late_s", [1.9, 3.0])
def test_a_start_that_is_three_seconds_late_still_makes_one_call(
    virtual_time: RunVirtual, late_s: float
) -> None:
    """D3: both in one bridge, once; the phone rings meanwhile."""

    async def main() -> None:
        async with talk(PATIENT) as scene:
            await scene.quiet()
            scene.ari.media_start_s = late_s
            asked = scene.ari.steps.count("external_media")
            scene.ari.caller(SECOND)
            await scene.until(lambda: scene.ari.steps.count("external_media") > asked)
            began = scene.now
            assert scene.ari.channels[SECOND].state == "Ring"
            await scene.until(lambda: scene.ari.channels[SECOND].state == "Up", 4)
            assert scene.now - began == pytest.approx(late_s, abs=0.1)
            joined = [bridge for bridge, channel in scene.ari.joined if channel == SECOND]
            assert len(joined) == 1
            members = scene.ari.bridges[joined[0]]
            assert members == {SECOND, f"{joined[0]}-media"}
            assert sum(f"{joined[0]}-media" == channel for _, channel in scene.ari.joined) == 1
            assert await scene.metric("voicebot_calls") == 2
            scene.ari.end(SECOND)
            await asyncio.sleep(1)
            assert await ends(scene, "caller_hung_up") == 1
            assert await ends(scene, "media_failed") == 0
            assert len(scene.ari.bridges) == 1
            assert set(scene.ari.channels) == {CALLER, *scene.ari.bridges.popitem()[1]}

    virtual_time(main())


def test_who_waits_for_a_start_that_never_comes_goes_back_unanswered(virtual_time: RunVirtual) -> None:
    """A6: the dialplan asks another process, or refuses the call with cause 34."""

    async def main() -> None:
        async with talk(PATIENT) as scene:
            await scene.quiet()
            there = dict(scene.ari.channels)
            scene.ari.media_start_s = None
            scene.ari.caller(SECOND)
            answered = scene.ari.steps.count("answer")
            took_s = await scene.until(lambda: SECOND not in scene.ari.channels, 10)
            assert took_s == pytest.approx(STASIS_START_S, abs=0.1)
            assert scene.ari.onward == {SECOND: ()}, "behind Stasis()"
            assert scene.ari.variables[SECOND] == {"VOICEBOT_REASON": "media_failed"}
            assert scene.ari.steps.count("answer") == answered
            assert await ends(scene, "media_failed") == 1
            assert await scene.metric("voicebot_calls_refused_total", reason="media_failed") == 1
            await asyncio.sleep(1)
            assert scene.ari.channels == there
            assert len(scene.ari.bridges) == 1
            assert await scene.metric("voicebot_calls") == 1

    virtual_time(main())
