"""How long an outage of the event socket takes to be noticed, mended and told, at the default times (D5, D6)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from stasis_app.ari.events import ChannelGone, StasisStart
from stasis_app.ari.link import AriLink
from stasis_app.ari.stream import Connected, LinkState, Lost
from stasis_app.settings import AriSettings
from tests.support.fake_ari import FakeAri
from tests.support.line import line_to

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

TICK_S = 0.01


@dataclass
class Rig:
    link: AriLink
    states: list[LinkState]
    calls: list[StasisStart]

    async def until(self, holds: Callable[[], object], within_s: float) -> float:
        """Seconds it took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not holds():
            assert loop.time() - began < within_s, "it never came"
            await asyncio.sleep(TICK_S)
        return loop.time() - began


@asynccontextmanager
async def rig(fake: FakeAri, url: str | None = None) -> AsyncIterator[Rig]:
    """With the settings of who has set nothing but the address and the password."""
    password = fake.settings().password
    settings = AriSettings(url=url or f"http://127.0.0.1:{fake.port}", password=password)
    states: list[LinkState] = []
    calls: list[StasisStart] = []
    async with AriLink(settings, "bot", calls.append, states.append) as link:
        running = asyncio.create_task(link.run())
        world = Rig(link, states, calls)
        try:
            await world.until(lambda: link.connected or fake.drops, 5)
            yield world
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("after_s", [0.1, 2.4, 4.9, 5.1])
def test_silence_is_noticed_within_eight_seconds_and_made_good_two_after_the_return(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, after_s: float
) -> None:
    """A3, A4, D6, P7: at any phase of the heartbeat; who hung up meanwhile is known to be gone, who did not goes on."""

    async def main() -> None:
        # the age of an idle connection, which aiohttp takes by the real clock: the dead ones are too old to be used
        monkeypatch.setattr("aiohttp.connector.monotonic", asyncio.get_running_loop().time)
        async with FakeAri() as fake, line_to("127.0.0.1", fake.port) as line, rig(fake, line.url) as world:
            for caller in ("1.1", "1.2"):
                fake.caller(caller)
            await world.until(lambda: len(world.calls) == 2, 1)
            await asyncio.sleep(after_s)
            line.fall_silent()
            fake.channels.pop("1.1")
            took_s = await world.until(lambda: Lost in map(type, world.states), 9)
            assert took_s <= 8
            assert not world.link.connected
            line.heal()
            with world.link.hub.subscribe("1.1") as gone:
                # a try that hangs on the dead line, and the wait after it
                await world.until(lambda: world.states[-1] == Connected(), 2 + 1 + TICK_S)
                async with asyncio.timeout(2):
                    told = await anext(gone)
                assert isinstance(told, ChannelGone)
            assert set(world.link.hub.callers) == {"1.2"}

    virtual_time(main())


def test_a_socket_that_dies_at_once_for_half_a_minute_is_less_than_a_line_a_second(
    virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
) -> None:
    """D5: at the levels that are on by default."""
    seconds = 30

    async def main() -> None:
        async with FakeAri(drops=1000) as fake, rig(fake):
            await asyncio.sleep(seconds)
            assert seconds / 2 <= fake.connects <= 2 * seconds + 4, (
                "waits of 0.5 to 1 s, after three shorter ones"
            )

    caplog.set_level(logging.INFO)
    virtual_time(main())
    assert len(caplog.records) < seconds
    told = [record.getMessage() for record in caplog.records]
    assert sum("trying again" in message for message in told) == 1
    assert "ARI events from" in told[-1], (
        "what was told last is that it is up, as it has been again and again"
    )


def test_a_socket_that_ends_in_the_middle_of_a_frame_is_opened_again(virtual_time: RunVirtual) -> None:
    """A2: what was half an event is none."""

    async def main() -> None:
        async with FakeAri() as fake, rig(fake) as world:
            fake.caller("1.1")
            await world.until(lambda: len(world.calls) == 1, 1)
            fake.break_off()
            await world.until(lambda: fake.connects == 2 and world.link.connected, 1)
            assert [type(state) for state in world.states] == [Connected, Lost, Connected]
            fake.caller("1.2")
            await world.until(lambda: len(world.calls) == 2, 1)
            counts = world.link.counts
            assert (counts.malformed_events, counts.failed_handlers, counts.lost_connections) == (0, 0, 1)
            assert set(world.link.hub.callers) == {"1.1", "1.2"}

    virtual_time(main())
