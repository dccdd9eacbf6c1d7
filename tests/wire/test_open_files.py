"""Where the limit on open files is too low for `calls.max_calls`, fewer calls are taken, and it is said."""

import asyncio
import os
import resource
import sys
from pathlib import Path
from socket import SOCK_STREAM

import aiohttp
import pytest
import yaml

from tests.support.callers import PATIENCE_S
from tests.support.rig import HOST, free_ports
from voicebot.open_files import ALL_CALLS, EACH_CALL

ROOT = Path(__file__).parents[2]
ENOUGH_FOR_4 = ALL_CALLS + 4 * EACH_CALL + 1


async def started(folder: Path, web: int, soft: int, hard: int) -> asyncio.subprocess.Process:
    nobody = free_ports(1, SOCK_STREAM)[0]
    config = {
        "asterisk": {"start": False},
        "ari": {"url": f"http://{HOST}:{nobody}", "password": "x"},
        "media": {"port_start": 31_600, "port_end": 31_999},
        "web": {"port": web},
        "workers": {"cache_dir": str(folder / "cache")},
        "calls": {"max_calls": 30},
    }
    (folder / "voicebot.yaml").write_text(yaml.safe_dump(config))
    limited = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({}, {})); "
        "os.execv(sys.executable, sys.argv[1:])"
    )
    command = (sys.executable, "-m", "voicebot", "run", "-c", "voicebot.yaml")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", limited.format(soft, hard), *command),
        cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


async def places(port: int) -> int:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                async with aiohttp.request("GET", f"http://{HOST}:{port}/ready") as answer:
                    return int((await answer.json())["max_calls"])
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(("hard", "calls"), [(ENOUGH_FOR_4, 4), (1024, 30)])
async def test_no_more_calls_are_taken_than_it_is_enough_for(tmp_path: Path, hard: int, calls: int) -> None:
    """The soft limit is raised to the hard one, which is what counts."""
    web = free_ports(1, SOCK_STREAM)[0]
    process = await started(tmp_path, web, ENOUGH_FOR_4, hard)
    try:
        assert await places(web) == calls
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
        process.terminate()
        said = (await process.communicate())[0].decode()
        assert process.returncode == 0, said
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert ("is enough for 4 calls" in said) == (calls == 4), said


async def test_without_room_for_a_single_call_it_does_not_start(tmp_path: Path) -> None:
    process = await started(tmp_path, free_ports(1, SOCK_STREAM)[0], 110, 110)
    said = (await process.communicate())[0].decode()
    assert process.returncode == 2
    assert "the limit on open files is 110, which is not enough for one call: raise it to 460" in said
    assert "Traceback" not in said
