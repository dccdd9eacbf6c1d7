"""Callers of the number 1000 on a real Asterisk, and waiting for what they cause."""

import asyncio
import itertools
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

from caller_phone.call import Call
from caller_phone.phone import Phone
from tests.support.rig import HOST
from voicebot.asterisk import AsteriskProcess

PATIENCE_S = 60.0


async def until(holds: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Ask again and again, a coroutine's answer is awaited. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while True:
            answer = holds()
            if await answer if asyncio.iscoroutine(answer) else answer:
                return
            await asyncio.sleep(0.02)


def number(asterisk: AsteriskProcess) -> str:
    return f"sip:1000@{HOST}:{asterisk.sip_port}"


async def greeted(
    stack: AsyncExitStack, phone: Phone, asterisk: AsteriskProcess, caller: str = "caller"
) -> Call:
    """A call that has heard something, the bot or the dialplan; it lasts as long as the stack."""
    call = await stack.enter_async_context(phone.call(number(asterisk), caller=caller))
    await call.wait_for_bot_speech(20, since_s=call.answered_s)
    return call


async def dial(stack: AsyncExitStack, phone: Phone, asterisk: AsteriskProcess, count: int) -> list[Call]:
    """So many of them at once."""
    return list(await asyncio.gather(*(greeted(stack, phone, asterisk) for _ in range(count))))


def since(call: Call, start_s: float) -> bool:
    """Whether the bot's sound went on from `start_s` to now, without a hole in its numbers."""
    packets = [stamped.rtp for stamped in call.recording().received if stamped.at_s > start_s]
    steps = {(after.sequence - before.sequence) & 0xFFFF for before, after in itertools.pairwise(packets)}
    return len(packets) > 0.8 * 50 * (time.monotonic() - start_s) and steps == {1}
