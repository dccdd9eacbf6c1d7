"""What signals do to a worker's process. No model is loaded."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gpu_workers.client import health

END_S = 30  # far more than it needs, on a busy machine too


@asynccontextmanager
async def started(how: str, folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    there = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.slow_worker", str(port), how,
        cwd=folder, env={**os.environ, "PYTHONPATH": there},
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        async with aiohttp.ClientSession() as http:
            while (await health(http, url)).status is None:
                assert process.returncode is None
                await asyncio.sleep(0.02)
        yield process, url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_worker_ends_while_its_model_loads(number: signal.Signals, tmp_path: Path) -> None:
    async with started("loading", tmp_path) as (process, _):
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), END_S) == 0


async def test_a_worker_that_ends_takes_its_pip_along(tmp_path: Path) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text(
        "import os, time, pathlib\n"
        "pathlib.Path('pid.new').write_text(str(os.getpid()))\n"
        "os.rename('pid.new', 'pid')\n"
        "time.sleep(600)\n"
    )
    async with started("fetching", tmp_path) as (process, _):
        pid = tmp_path / "pid"
        while not pid.exists():
            assert process.returncode is None
            await asyncio.sleep(0.02)
        process.terminate()
        assert await asyncio.wait_for(process.wait(), END_S) == 0
        try:
            async with asyncio.timeout(END_S):
                while _runs(int(pid.read_text())):  # noqa: ASYNC110 - another process' end tells nobody
                    await asyncio.sleep(0.02)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_cuts_off_what_the_first_one_lets_end(
    number: signal.Signals, tmp_path: Path
) -> None:
    async with started("answering", tmp_path) as (process, url), aiohttp.ClientSession() as http:
        async with http.post(f"{url}/v1/answer") as answer:
            assert await answer.content.readany() == b"One "
            process.send_signal(number)
            async with asyncio.timeout(END_S):
                while (await health(http, url)).status is not None:  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.02)
            assert process.returncode is None, "the answer goes on"
            process.send_signal(number)
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(answer.content.read(), END_S)
        assert await asyncio.wait_for(process.wait(), END_S) == 0


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
