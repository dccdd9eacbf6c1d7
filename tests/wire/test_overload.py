"""A process whose media clock has too much to do keeps its calls and takes no other, in virtual time."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from media_bridge.overload import BUSY_FOR, CALM_FOR
from media_bridge.pacer import PTIME_S
from media_bridge.session import MediaSession
from stasis_app.settings import CallSettings
from tests.support.talk import Scene, talk
from tests.support.virtual_time import VirtualTimeLoop

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


class SlowHearing:
    """Each tick takes so much of the time that there is."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.share = 0.0
        hear = MediaSession.hear

        def slow(session: MediaSession, due: float, skipped: int) -> None:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualTimeLoop)
            loop.freeze(self.share * PTIME_S)
            hear(session, due, skipped)

        patch.setattr(MediaSession, "hear", slow)


async def ready(scene: Scene) -> tuple[int, str]:
    async with scene.http.get(f"{scene.web}/ready") as answer:
        return answer.status, (await answer.json())["parts"]["media"]


def refused(scene: Scene, channel: str) -> bool:
    return channel not in scene.ari.channels


def test_new_calls_go_back_to_the_dialplan_until_there_is_room(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hearing = SlowHearing(monkeypatch)
    caplog.set_level(logging.INFO, "media_bridge")

    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            assert await ready(scene) == (200, "ready")
            hearing.share = 0.9
            await asyncio.sleep(BUSY_FOR + 2)
            assert await ready(scene) == (503, "overloaded: no new calls")
            assert await scene.metric("voicebot_media_overloaded") == 1
            assert await scene.metric("voicebot_media_busy_ratio") == pytest.approx(0.9, abs=0.05)
            other = scene.ari.caller("1700000000.2")
            await scene.until(lambda: refused(scene, other), 2)
            assert scene.ari.variables[other] == {"VOICEBOT_REASON": "overloaded"}
            assert await scene.metric("voicebot_calls_refused_total", reason="overloaded") == 1
            assert scene.is_up
            hearing.share = 0.3
            await asyncio.sleep(CALM_FOR + 2)
            assert await ready(scene) == (200, "ready")
            assert await scene.metric("voicebot_media_overloaded") == 0
            assert await scene.metric("voicebot_calls") == 1

    virtual_time(main())
    told = [record for record in caplog.records if record.name == "media_bridge.plane"]
    assert [record.levelname for record in told] == ["WARNING", "INFO"]
    assert "calls.max_calls" in told[0].getMessage()


def test_of_calls_that_come_at_once_those_are_taken_that_it_can_serve(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a fiftieth of the time: from ten that were measured to 37, and none beyond."""
    hearing = SlowHearing(monkeypatch)
    hearing.share = 0.02

    async def main() -> None:
        async with talk(calls=CallSettings(max_calls=100, drain_s=0)) as scene:
            for number in range(2, 11):
                scene.ari.caller(f"1700000000.{number}")
            await asyncio.sleep(3)
            assert await scene.metric("voicebot_calls") == 10
            burst = [scene.ari.caller(f"1700000001.{number}") for number in range(40)]
            await asyncio.sleep(1)
            assert sum(refused(scene, channel) for channel in burst) == 13
            assert await ready(scene) == (503, "overloaded: no new calls")
            await asyncio.sleep(BUSY_FOR + 2)
            assert await scene.metric("voicebot_calls") == 37
            assert await scene.metric("voicebot_media_busy_ratio") == pytest.approx(0.74, abs=0.03)
            assert await scene.metric("voicebot_calls_refused_total", reason="overloaded") == 13
            # one leaves, one is taken
            scene.ari.end(burst[0])
            await asyncio.sleep(1)
            assert await ready(scene) == (200, "ready")
            for number in (1, 2):
                scene.ari.caller(f"1700000002.{number}")
            await asyncio.sleep(1)
            assert await scene.metric("voicebot_calls") == 37

    virtual_time(main())


def test_a_process_that_was_stopped_for_a_while_is_not_overloaded(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        async with talk(may_be_silent=True) as scene:
            await scene.quiet()
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualTimeLoop)
            for _ in range(6):
                loop.freeze(1.0)
                for _ in range(4):
                    await asyncio.sleep(1.0)
                    assert (await ready(scene))[1] == "ready"

    virtual_time(main())
