"""How long the machine let this process stand still while a test ran: what a slow machine excuses, and no more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

_STEP_S = 0.01


@dataclass
class Stalls:
    longest_s: float = 0.0
    """The longest that this loop was late."""


@asynccontextmanager
async def stalls() -> AsyncIterator[Stalls]:
    found, loop = Stalls(), asyncio.get_running_loop()

    async def look() -> None:
        while True:
            due_s = loop.time() + _STEP_S
            await asyncio.sleep(_STEP_S)
            found.longest_s = max(found.longest_s, loop.time() - due_s)

    looking = asyncio.create_task(look())
    try:
        yield found
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
