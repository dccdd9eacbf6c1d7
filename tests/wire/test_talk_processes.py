"""One of several call processes: whether the dialplan gives it calls."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.support.talk import GREETING, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


def test_a_process_that_the_dialplan_does_not_know_says_so(
    virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        return [message for message in caplog.messages if "VOICEBOT_PROCESSES" in message]

    async def main() -> None:
        async with talk(processes=3) as scene:
            await scene.until_said(GREETING)
            assert len(told()) == 1
            assert "calls.processes is 3 and this is number 3" in told()[0]
            assert "VOICEBOT_PROCESSES of Asterisk is not set" in told()[0]
            for value, lines in (("2", 2), ("3", 2), ("4", 2), ("many", 3)):
                scene.ari.globals["VOICEBOT_PROCESSES"] = value
                connects = scene.ari.connects
                await scene.ari.close_sockets()
                await scene.ari.connected(connects + 1)
                await asyncio.sleep(1)
                assert len(told()) == lines, value

    caplog.set_level(logging.WARNING)
    virtual_time(main())
