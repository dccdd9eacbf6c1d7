"""Downloads in a child process, so that Ctrl-C ends them at once (a thread that downloads cannot be stopped)."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from gpu_workers.leash import leashed
from voicebot.errors import PartError
from voicebot.supervise import Say

_GRACE_S = 3.0


async def fetch_missing(config_file: Path, say: Say) -> None:
    """Run `voicebot fetch`, passing its progress on. Raises PartError with what it says when it fails."""
    command = (sys.executable, "-P", "-m", "voicebot", "fetch", "--only-missing", "-c", str(config_file))
    process = await asyncio.create_subprocess_exec(
        *leashed(command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - for the type checker: both are pipes
    assert process.stderr is not None  # noqa: S101
    try:
        complaints = asyncio.ensure_future(process.stderr.read())
        async for line in process.stdout:
            say(line.decode(errors="replace").rstrip())
        message = (await complaints).decode(errors="replace").strip()
        if code := await process.wait():
            raise PartError(
                message.removeprefix("voicebot: ") or f"voicebot fetch ended with exit code {code}", code
            )
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        _signal(process, signal.SIGINT)  # it takes its half-made files away
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await process.wait()
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
