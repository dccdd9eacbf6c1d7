"""Several calls at once, each over a bad network of its own: a phone, a real Asterisk, the real bot."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caller_phone.call import Call
from caller_phone.phone import Phone
from caller_phone.recording import Recording
from media_bridge.settings import MediaSettings
from media_bridge.stats import MediaStats
from tests.support.bot import MEDIA, PROFILE, Bot, running_bot
from tests.support.detour import Detour, Leg, detour
from tests.support.fake_workers import FakeTts, FakeWorkers, fake_workers
from tests.support.observed import Observed, observed_calls
from tests.support.relay import Impairment
from voicebot.asterisk import AsteriskProcess

CLEAN = Impairment()


@dataclass
class Line:
    """One call: its phone, its leg with the relay, and what the bot's side saw."""

    phone: Call
    leg: Leg
    observed: Observed
    stats: list[MediaStats] = field(default_factory=list)
    """One every 100 ms while `Stage.play` runs."""

    @property
    def recording(self) -> Recording:
        return self.phone.recording()


@dataclass
class Stage:
    """A bot behind a detour, and a phone to call it with."""

    asterisk: AsteriskProcess
    bot: Bot
    workers: FakeWorkers
    way: Detour
    phone: Phone
    observed: list[Observed]

    @asynccontextmanager
    async def call(self, to_bot: Impairment = CLEAN, to_caller: Impairment = CLEAN) -> AsyncIterator[Line]:
        """A call whose media goes through a relay with these two networks. Begin them one after another."""
        self.way.next_call = (to_bot, to_caller)
        number = len(self.way.legs)
        async with self.phone.call(f"sip:1000@127.0.0.1:{self.asterisk.sip_port}") as call:
            assert len(self.way.legs) == len(self.observed) == number + 1
            yield Line(call, self.way.legs[number], self.observed[number])

    async def play(
        self,
        lanes: Mapping[str, tuple[Impairment, Impairment]],
        script: Callable[[Line], Coroutine[Any, Any, None]],
    ) -> dict[str, Line]:
        """Run the script on every lane at once."""
        async with AsyncExitStack() as stack:
            lines = {
                name: await stack.enter_async_context(self.call(*networks))
                for name, networks in lanes.items()
            }
            watch = asyncio.create_task(_watch(list(lines.values())))
            try:
                async with asyncio.TaskGroup() as group:
                    for line in lines.values():
                        group.create_task(script(line))
            finally:
                watch.cancel()
                await asyncio.wait({watch})
        await self.bot.until_idle()
        return lines


async def _watch(lines: list[Line]) -> None:
    while True:
        for line in lines:
            line.stats.append(line.observed.stats())
        await asyncio.sleep(0.1)


@asynccontextmanager
async def stage(
    asterisk: AsteriskProcess,
    folder: Path,
    *,
    greeting: str,
    media: MediaSettings = MEDIA,
    tts: FakeTts | None = None,
) -> AsyncIterator[Stage]:
    """The bot greets with one tone, 60 ms for each character of `greeting`, or with what `tts` says."""
    profile = PROFILE.model_copy(update={"greeting": greeting, "no_input_s": 120.0})
    async with fake_workers(tts) as workers, detour(asterisk) as way:
        with observed_calls() as observed:
            async with (
                running_bot(asterisk, workers, folder, profile=profile, media=media, ari_url=way.url) as bot,
                Phone() as phone,
            ):
                yield Stage(asterisk, bot, workers, way, phone, observed)
