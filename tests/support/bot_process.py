"""`voicebot run` as a process of its own, on a private Asterisk, with workers the test speaks for."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import SOCK_STREAM

import aiohttp
import yaml

from tests.support.bot import Bot
from tests.support.callers import PATIENCE_S, until
from tests.support.fake_workers import FakeWorkers
from tests.support.rig import HOST, free_ports
from voicebot.asterisk import AsteriskProcess

ROOT = Path(__file__).parents[2]
WORKERS_KEY = "k3y-of-the-w0rkers"


@dataclass
class Process:
    running: asyncio.subprocess.Process
    bot: Bot
    log: Path

    def send(self, number: signal.Signals) -> None:
        self.running.send_signal(number)

    async def exit_code(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            return await self.running.wait()

    async def ended(self, cause: str) -> float:
        return await self.bot.metric("voicebot_calls_ended_total", cause=cause)


@asynccontextmanager
async def process(
    asterisk: AsteriskProcess,
    workers: FakeWorkers,
    folder: Path,
    *,
    level: str = "info",
    drain_s: float = 1.0,
    max_calls: int = 150,
    log: Path | None = None,
    arguments: tuple[str, ...] = (),
) -> AsyncIterator[Process]:
    """Ready for calls, or ended by itself; killed at the end if it still runs."""
    web = free_ports(1, SOCK_STREAM)[0]
    urls = {"stt": workers.stt_url, "llm": workers.llm_url, "tts": workers.tts_url}
    config = {
        "asterisk": {"start": False},
        "ari": {"url": asterisk.ari_url, "password": "${ARI_PASSWORD}"},
        "media": {
            "port_start": 31_600,
            "port_end": 31_999,
            "port_quarantine_s": 0.2,
            "first_packet_s": 60,
            "media_timeout_s": 60,
        },
        "web": {"port": web},
        "workers": {
            "cache_dir": str(folder / "cache"),
            **{name: {"start": False, "url": url, "api_key": "${API_KEY}"} for name, url in urls.items()},
        },
        "calls": {"max_calls": max_calls, "drain_s": drain_s},
        "log": {"level": level},
        "profiles": {"default": {"prompt": "You sell one walrus.", "greeting": "Hello.", "no_input_s": 60}},
    }
    (folder / "voicebot.yaml").write_text(yaml.safe_dump(config))
    log = log or folder / f"log-{web}"
    with log.open("wb") as output:
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "voicebot", "run", "-c", "voicebot.yaml", *arguments),
            cwd=folder,
            stdout=output,
            stderr=output,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "ARI_PASSWORD": asterisk.ari_password.get_secret_value(),
                "API_KEY": WORKERS_KEY,
            },
        )
    async with aiohttp.ClientSession() as http:
        bot = Bot(f"http://{HOST}:{web}", http, asyncio.Event(), asyncio.Event(), lambda: None)
        try:
            await until(lambda: has_begun(running, bot))
            yield Process(running, bot, log)
        finally:
            if running.returncode is None:
                running.kill()
            await running.wait()


async def has_begun(running: asyncio.subprocess.Process, bot: Bot) -> bool:
    return running.returncode is not None or await is_ready(bot)


async def is_ready(bot: Bot) -> bool:
    try:
        return bool((await bot.ready())["ready"])
    except aiohttp.ClientError:
        return False
