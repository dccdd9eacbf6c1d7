"""From when on silence counts (P2), by a loop's own clock that jumps."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stasis_app.conversation import Event
from stasis_app.silence import Silence
from stasis_app.timers import Timers

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


def asked_after(virtual_time: RunVirtual, before: Callable[[Silence], object]) -> float:
    """Seconds from `count`, two seconds after `before`, to the prompt."""
    told: list[float] = []
    posted: list[Event] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        timers = Timers(posted.append)
        silence = Silence(timers, 8.0, lambda _: told.append(loop.time()))
        await asyncio.sleep(5)
        before(silence)
        await asyncio.sleep(2)
        began = loop.time()
        silence.count(1)
        await asyncio.sleep(20)
        told[:] = [at - began for at in told]

    virtual_time(main())
    assert not posted
    (after_s,) = told
    return after_s


@pytest.mark.parametrize(
    ("before", "after_s"),
    [
        (lambda _: None, 8.0),
        (lambda silence: silence.caller_spoke(5.0), 6.0),
        (lambda silence: (silence.caller_spoke(5.0), silence.bot_spoke()), 8.0),
        (lambda silence: (silence.caller_spoke(5.0), silence.hold(), silence.unhold(0)), 8.0),
        (lambda silence: silence.caller_spoke(-60.0), 0.0),
    ],
    ids=["nobody", "the caller", "the bot after them", "a hold after them", "long ago"],
)
def test_it_counts_from_what_was_said_last(
    virtual_time: RunVirtual, before: Callable[[Silence], object], after_s: float
) -> None:
    assert asked_after(virtual_time, before) == pytest.approx(after_s)
