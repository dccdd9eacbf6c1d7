"""The real call process in the test's own loop, on a private Asterisk, with workers the test speaks for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import SOCK_STREAM
from typing import Any

import aiohttp

from gpu_workers.settings import LlmSettings, SttSettings, TtsSettings, WorkersSettings
from media_bridge.settings import MediaSettings
from stasis_app.application import Setup
from stasis_app.running import run
from stasis_app.settings import AriSettings, CallSettings, Profile, WebSettings
from tests.support.fake_workers import FakeWorkers
from tests.support.rig import HOST, AriProbe, free_ports
from voicebot.asterisk import AsteriskProcess

GREETING = "Hello."
PROFILE = Profile(prompt="You are a test.", greeting=GREETING, language="en")
MEDIA = MediaSettings(port_start=31_000, port_end=32_700, port_quarantine_s=0.2, audiosocket_port=32_900)


@dataclass(frozen=True, slots=True)
class Bot:
    """What a test sees of the call process: its web port."""

    web: str
    http: aiohttp.ClientSession
    stop: asyncio.Event
    ended: asyncio.Event
    end_at_once: Callable[[], object]

    async def ready(self) -> dict[str, Any]:
        async with self.http.get(f"{self.web}/ready") as answer:
            body: dict[str, Any] = await answer.json()
            return body

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of those samples of /metrics that have these labels; 0 when there is none."""
        async with self.http.get(f"{self.web}/metrics") as answer:
            text = await answer.text()
        total = 0.0
        for line in text.splitlines():
            sample, _, value = line.rpartition(" ")
            wanted = all(f'{key}="{label}"' in sample for key, label in labels.items())
            if sample.partition("{")[0] == name and wanted:
                total += float(value)
        return total

    async def until_ready(self, within_s: float = 10) -> None:
        await self._until(lambda body: bool(body["ready"]), within_s)

    async def until_idle(self, within_s: float = 10) -> None:
        await self._until(lambda body: body["calls"] == 0, within_s)

    async def _until(self, holds: Callable[[dict[str, Any]], bool], within_s: float) -> None:
        body: dict[str, Any] = {}
        for _ in range(int(within_s / 0.05)):
            body = await self.ready()
            if holds(body):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"not within {within_s:g} s: {body}")


@asynccontextmanager
async def running_bot(
    asterisk: AsteriskProcess,
    workers: FakeWorkers,
    folder: Path,
    *,
    profile: Profile = PROFILE,
    profile_name: str = "default",
    media: MediaSettings = MEDIA,
    calls: CallSettings | None = None,
    transcript: Path | None = None,
    ari_url: str | None = None,
    app: str = "voicebot",
    heartbeat_s: float = 5.0,
) -> AsyncIterator[Bot]:
    """Ready for calls, those to extension 1000 if `app` stays. `ari_url` is another way to Asterisk's ARI."""
    web_port = free_ports(1, SOCK_STREAM)[0]
    setup = Setup(
        ari=AriSettings(
            url=ari_url or asterisk.ari_url,
            username=asterisk.ari_user,
            password=asterisk.ari_password,
            app=app,
            heartbeat_s=heartbeat_s,
        ),
        media=media,
        calls=calls or CallSettings(max_calls=60, drain_s=0),
        web=WebSettings(port=web_port),
        workers=WorkersSettings(
            stt=SttSettings(url=workers.stt_url),
            llm=LlmSettings(url=workers.llm_url),
            tts=TtsSettings(url=workers.tts_url),
        ),
        profiles={profile_name: profile},
        phrases_dir=folder / "phrases",
        transcript=transcript,
    )
    stop, ended = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(run(setup, stop))
    task.add_done_callback(lambda _: ended.set())
    async with aiohttp.ClientSession() as http:
        bot = Bot(f"http://{HOST}:{web_port}", http, stop, ended, task.cancel)
        try:
            await _web_answers(bot, task)
            await bot.until_ready()
            yield bot
        finally:
            stop.set()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def _web_answers(bot: Bot, task: asyncio.Task[None]) -> None:
    for _ in range(200):
        if task.done():
            await task
        try:
            await bot.ready()
        except aiohttp.ClientConnectorError:
            await asyncio.sleep(0.05)
        else:
            return
    raise AssertionError("the call process does not answer on its web port")


async def until(holds: Callable[[], bool], within_s: float = 5) -> bool:
    """Whether it came to hold: what ends with a call may need another turn of the loop."""
    for _ in range(int(within_s / 0.05)):
        if holds():
            return True
        await asyncio.sleep(0.05)
    return holds()


async def nothing_left(asterisk: AsteriskProcess, within_s: float = 5) -> None:
    """Fails unless Asterisk comes to have no channel and no bridge."""
    await left_in(
        asterisk, app="nothing-left", channel=lambda _: True, bridge=lambda _: True, within_s=within_s
    )


async def left_in(
    asterisk: AsteriskProcess,
    *,
    app: str,
    channel: Callable[[dict[str, Any]], bool],
    bridge: Callable[[dict[str, Any]], bool],
    within_s: float,
) -> None:
    """Fails unless Asterisk comes to have none of these. `app` is how the one that asks is called there."""
    left: object = None
    async with AriProbe(asterisk, app=app) as probe:
        for _ in range(int(within_s / 0.1)):
            _, channels = await probe.call("GET", "channels")
            _, bridges = await probe.call("GET", "bridges")
            left = [it["name"] for it in channels if channel(it)] + [it["id"] for it in bridges if bridge(it)]
            if not left:
                return
            await asyncio.sleep(0.1)
    raise AssertionError(f"left in Asterisk: {left}")
