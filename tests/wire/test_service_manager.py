"""`voicebot run` under a service manager: at SIGTERM it says how long the drain may take."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from socket import SOCK_STREAM

import aiohttp
import pytest
import yaml

from tests.support.callers import until
from tests.support.rig import HOST, free_ports, two_ports
from voicebot.config import parse
from voicebot.time_to_end import drain_within_s

ROOT = Path(__file__).parents[2]
DRAIN_S = 300


@pytest.mark.parametrize("processes", [1, 2])
async def test_it_asks_for_the_time_its_calls_may_take(tmp_path: Path, processes: int) -> None:
    """One process, and the supervisor of two: whoever gets the signal asks, for the longest of them."""
    web, nobody = two_ports(), free_ports(1, SOCK_STREAM)[0]
    config = {
        "asterisk": {"start": False},
        "ari": {"url": f"http://{HOST}:{nobody}", "password": "x"},
        "media": {"port_start": 31_600, "port_end": 31_999},
        "web": {"port": web},
        "workers": {"cache_dir": str(tmp_path / "cache")},
        "calls": {"processes": processes, "drain_s": DRAIN_S},
    }
    text = yaml.safe_dump(config)
    (tmp_path / "voicebot.yaml").write_text(text)
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "voicebot", "run", "-c", "voicebot.yaml"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT), "NOTIFY_SOCKET": str(tmp_path / "notify")},
        )
        try:
            await until(lambda: lives(web))
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(30):
                told = await loop.sock_recv(manager, 4096)
                assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    within_s = drain_within_s(parse(text, "voicebot.yaml", {}))
    assert within_s > DRAIN_S
    assert told.decode().splitlines() == [
        "STOPPING=1",
        f"EXTEND_TIMEOUT_USEC={round(within_s * 1e6)}",
    ]


async def lives(port: int) -> bool:
    try:
        async with aiohttp.request("GET", f"http://{HOST}:{port}/live") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False
