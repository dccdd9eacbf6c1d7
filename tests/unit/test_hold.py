"""A caller on hold: the silence that the bot asks about counts from the end of the hold."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from types import SimpleNamespace
from typing import Any, cast

from stasis_app.ari.events import Channel, ChannelEvent, ChannelHold, ChannelUnhold, StasisStart
from stasis_app.ari.hub import Subscription
from stasis_app.call import Call
from stasis_app.conversation import NoInput
from stasis_app.metrics import Metrics
from stasis_app.settings import Profile
from stasis_app.switchboard import Switchboard

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
CALLER = Channel("1700000000.1")
NO_INPUT_S = 8.0


class Session:
    """What `hold` was told, when."""

    def __init__(self) -> None:
        self.holds: list[tuple[float, bool]] = []

    def hold(self, on: bool) -> None:
        self.holds.append((asyncio.get_running_loop().time(), on))


async def asked_at(*happens: tuple[float, ChannelEvent | None]) -> tuple[list[float], list[bool]]:
    """When NoInput comes, in seconds, if these events come then; None: the bot has just been quiet for the first time.

    And what the session was told.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    asked: list[float] = []
    # no request is made, so there is nobody to ask
    board = cast("Switchboard", SimpleNamespace(metrics=Metrics(), context_tokens=None))
    call = Call(StasisStart(CALLER), "c1", Profile(prompt="p", no_input_s=NO_INPUT_S), board)
    session = Session()
    queue: asyncio.Queue[ChannelEvent] = asyncio.Queue()

    async def inbox() -> AsyncIterator[ChannelEvent]:
        while True:
            yield await queue.get()

    async def listen() -> None:
        while True:
            if isinstance(await call._mailbox.get(), NoInput):
                asked.append(loop.time() - began)

    tasks = [
        asyncio.create_task(call._watch_caller(cast("Subscription", inbox()), cast("Any", session))),
        asyncio.create_task(listen()),
    ]
    for at, event in happens:
        await asyncio.sleep(began + at - loop.time())
        if event is None:
            call._silence.count(0)
        else:
            queue.put_nowait(event)
    await asyncio.sleep(60)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return [round(at, 3) for at in asked], [on for _, on in session.holds]


def run(virtual_time: RunVirtual, *happens: tuple[float, ChannelEvent | None]) -> Sequence[object]:
    return cast("Sequence[object]", virtual_time(asked_at(*happens)))


HOLD, UNHOLD = ChannelHold(CALLER), ChannelUnhold(CALLER)


def test_without_a_hold_it_asks_when_the_time_is_over(virtual_time: RunVirtual) -> None:
    assert run(virtual_time, (0, None)) == ([NO_INPUT_S], [])


def test_the_timer_rests_while_on_hold_and_begins_anew_after_it(virtual_time: RunVirtual) -> None:
    assert run(virtual_time, (0, None), (5, HOLD), (45, UNHOLD)) == ([45 + NO_INPUT_S], [True, False])


def test_the_bot_that_falls_quiet_during_a_hold_waits_for_its_end(virtual_time: RunVirtual) -> None:
    assert run(virtual_time, (1, HOLD), (3, None), (30, UNHOLD)) == ([30 + NO_INPUT_S], [True, False])


def test_nobody_is_asked_while_the_hold_lasts(virtual_time: RunVirtual) -> None:
    assert run(virtual_time, (0, None), (1, HOLD)) == ([], [True])
