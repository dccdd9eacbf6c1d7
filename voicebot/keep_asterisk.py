"""Our Asterisk, started again when it dies."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from voicebot.asterisk import AsteriskError, AsteriskProcess
from voicebot.supervise import Backoff, Say

_TAIL_BYTES = 4_000
_TAIL_LINES = 5


@asynccontextmanager
async def kept_asterisk(
    make: Callable[[], AsteriskProcess], say: Say, backoff: Backoff | None = None
) -> AsyncIterator[None]:
    """Asterisk is up when the block begins, and is kept up until it ends.

    AsteriskError comes out inside an exception group when it cannot be started in the first place.
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
                code = await process.wait()
                how = f"Asterisk ended with exit code {code}{_tail(process.log_path)}"
        except AsteriskError as error:
            if not up.done():
                raise
            how = f"Asterisk does not start again: {error}"
        deaths = 1 if loop.time() - began >= backoff.calm_s else deaths + 1
        say(f"{how}\nIt is started again in {backoff.wait_s(deaths):g} s.")
        await asyncio.sleep(backoff.wait_s(deaths))


def _tail(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").splitlines()[-_TAIL_LINES:]
        return "".join([". The end of its log:", *(f"\n    {line}" for line in lines)])
    return "."
