"""More callers than places, again and again, through the whole call process, in virtual time (D24, P9)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from stasis_app.settings import CallSettings
from tests.support.fake_ari import FakeAri
from tests.support.talk import talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

PLACES, CALLERS, ROUNDS = 3, 8, 150


def test_of_eight_callers_three_are_served_and_five_handed_back_every_time(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(calls=CallSettings(max_calls=PLACES, drain_s=0), may_be_silent=True) as scene:
            scene.hang_up()
            await asyncio.sleep(1)
            for turn in range(ROUNDS):
                callers = [scene.ari.caller(f"1700000001.{turn * CALLERS + at}") for at in range(CALLERS)]
                await scene.until(lambda them=callers: settled(scene.ari, them), 1.0)  # type: ignore[misc]
                served = [caller for caller in callers if caller in scene.ari.channels]
                refused = set(callers) - set(served)
                assert (len(served), len(refused)) == (PLACES, CALLERS - PLACES), turn
                assert {scene.ari.variables[caller]["VOICEBOT_REASON"] for caller in refused} == {"full"}
                assert len(scene.ari.bridges) == PLACES, "a bridge each"
                assert len(scene.ari.channels) == 2 * PLACES, "and a leg"
                for caller in served:
                    scene.ari.end(caller)
                await scene.until(lambda: not scene.ari.channels and not scene.ari.bridges, 1.0)
                # the place is free when all is undone
                await asyncio.sleep(0.05)
            assert await scene.metric("voicebot_calls") == 0
            assert await scene.metric("voicebot_calls_refused_total", reason="full") == ROUNDS * (
                CALLERS - PLACES
            )
            assert (
                await scene.metric("voicebot_calls_ended_total", cause="caller_hung_up")
                == 1 + ROUNDS * PLACES
            )
            assert await scene.metric("voicebot_defects_total") == 0

    virtual_time(main())


def settled(ari: FakeAri, callers: list[str]) -> bool:
    """Each has been answered, or has gone on in the dialplan."""
    return all(caller in ari.onward or ari.channels[caller].state == "Up" for caller in callers)
