"""Our Asterisk, started again when it dies, and its log bounded like those of the other parts."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gpu_workers.ended import how_it_ended
from voicebot.asterisk import AsteriskError, AsteriskProcess
from voicebot.child_log import MAX_BYTES, set_aside
from voicebot.errors import VoicebotError
from voicebot.supervise import Backoff, Say

_LOOK_AT_LOG_S = 30.0
_TAIL_BYTES = 4_000
_TAIL_LINES = 5


@asynccontextmanager
async def kept_asterisk(
    make: Callable[[], AsteriskProcess], say: Say, backoff: Backoff | None = None
) -> AsyncIterator[None]:
    """Asterisk is up when the block begins, and is kept up until it ends.

    AsteriskError or PortTakenError comes out inside an exception group when it cannot be started in the first place;
    later whatever keeps it from starting may have gone by the next try.
    """
    async with asyncio.TaskGroup() as group:
        up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        keeper = group.create_task(_keep(make, say, backoff or Backoff(), up), name="asterisk")
        try:
            await up
            yield
        finally:
            keeper.cancel()


async def _keep(
    make: Callable[[], AsteriskProcess], say: Say, backoff: Backoff, up: asyncio.Future[None]
) -> None:
    loop = asyncio.get_running_loop()
    deaths = 0
    while True:
        began = loop.time()
        try:
            async with make() as process:
                if up.done():
                    say("Asterisk is up again.")
                else:
                    up.set_result(None)
                code = await _ended(process)
                how = f"Asterisk {how_it_ended(code)}{_tail(process.log_path)}"
        except VoicebotError as error:
            if not up.done():
                raise
            how = f"Asterisk does not start again: {error}"
        except OSError as error:  # no room in its folder, no process to be had
            if not up.done():
                raise AsteriskError(f"Asterisk cannot be started: {error}") from error
            how = f"Asterisk does not start again: {error}"
        deaths = 1 if loop.time() - began >= backoff.calm_s else deaths + 1
        say(f"{how}\nIt is started again in {backoff.wait_s(deaths):g} s.")
        await asyncio.sleep(backoff.wait_s(deaths))


async def _ended(process: AsteriskProcess) -> int:
    """Its exit code; meanwhile its log is looked after."""
    ended = asyncio.ensure_future(process.wait())
    try:
        while not ended.done():
            await asyncio.wait((ended,), timeout=_LOOK_AT_LOG_S)
            if not ended.done():
                with contextlib.suppress(OSError, AsteriskError):  # it is looked at again
                    await bound_log(process)
        return ended.result()
    finally:
        ended.cancel()


async def bound_log(process: AsteriskProcess) -> None:
    """Set its log aside if it is too long, as ChildLog does. Raises OSError, AsteriskError."""
    log = process.log_path
    if log.exists():  # if not, it was set aside and Asterisk did not hear of it
        if log.stat().st_size <= MAX_BYTES:
            return
        set_aside(log)
    await process.cli("logger reload")


def _tail(log: Path) -> str:
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        lines = file.read(_TAIL_BYTES).decode(errors="replace").splitlines()[-_TAIL_LINES:]
        return "".join([". The end of its log:", *(f"\n    {line}" for line in lines)])
    return "."
