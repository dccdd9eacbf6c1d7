"""One call, two names: ours and Asterisk's, each known on the other side."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stasis_app.settings import CallSettings
from tests.support.fake_ari import answers
from tests.support.talk import CALLER, GREETING, talk

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


def test_asterisk_gets_our_name_and_the_log_has_asterisks(
    virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with talk(calls=CallSettings(max_calls=1, drain_s=0)) as scene:
            await scene.until(lambda: scene.ari.call_names)
            await scene.until_said(GREETING)
            other = scene.ari.caller("1700000000.2")
            await scene.until(lambda: other not in scene.ari.channels)
            (name,) = {line["call"] for line in scene.lines()}
            assert scene.ari.call_names == {CALLER: name}
            assert f"call {name} (channel {CALLER}) begins" in caplog.messages
            assert f"a call (channel {other}) is handed back to the dialplan: full" in caplog.messages
        assert any(f"call {name} (channel {CALLER}) ended after" in line for line in caplog.messages)
        fields = [vars(record) for record in caplog.records if getattr(record, "channel", None) == CALLER]
        assert {line["call"] for line in fields} == {name}

    caplog.set_level(logging.INFO)
    virtual_time(main())


def test_a_call_goes_on_where_asterisk_does_not_take_its_name(
    virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with talk() as scene:
            scene.ari.faults["name"] = [answers(500)]
            await scene.ask("What does it cost?", "Nineteen dollars.")
            await scene.until_said("Nineteen dollars.")
            assert not scene.ari.call_names

    caplog.set_level(logging.INFO)
    virtual_time(main())
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
