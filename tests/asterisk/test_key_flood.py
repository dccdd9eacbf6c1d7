"""A phone that presses keys without end (A11), beside a caller who talks."""

import asyncio
import itertools
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from caller_phone.phone import Phone
from tests.support.bot import PROFILE, nothing_left, running_bot
from tests.support.callers import greeted, since
from tests.support.fake_workers import fake_workers
from tests.support.rig import HOST, run_sipp
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEPT = 32
EVENTS = 101
END = 0x80


def key(number: int) -> list[bytes]:
    """The three last packets of a key 8 that was pressed for 20 ms (RFC 4733, 2.5.1.4)."""
    event = struct.pack("!BBH", 8, END | 10, 160)
    heads = (struct.pack("!BBHII", 0x80, EVENTS, 3 * number + turn, 160 * number, 4711) for turn in range(3))
    return [head + event for head in heads]


@asynccontextmanager
async def a_phone_that_only_presses_keys(asterisk: AsteriskProcess, stays_s: float) -> AsyncIterator[None]:
    """500 a second, once it is answered and hears something."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.bind((HOST, 0))
        phone.setblocking(False)
        port = str(phone.getsockname()[1])
        calling = asyncio.create_task(
            run_sipp("uac_silent", asterisk, pause_ms=round(stays_s * 1000), keys={"rtp_port": port})
        )
        _, there = await loop.sock_recvfrom(phone, 2048)

        async def press() -> None:
            for number in itertools.count(1):
                for packet in key(number):
                    phone.sendto(packet, there)
                await asyncio.sleep(0.002)

        pressing = asyncio.create_task(press())
        try:
            yield
        finally:
            result = await calling
            pressing.cancel()
            await asyncio.wait({pressing})
        assert (result.successful, result.failed) == (1, 0), result.errors


async def test_keys_without_end_are_counted_and_the_other_callers_hear_no_gap(
    asterisk: AsteriskProcess, tmp_path: Path
) -> None:
    """Asterisk itself passes on some fifteen keys a second, whatever comes (AST_MIN_DTMF_DURATION and its gap)."""
    patient = PROFILE.model_copy(update={"no_input_s": 60.0})
    async with (
        fake_workers() as workers,
        running_bot(asterisk, workers, tmp_path, profile=patient) as bot,
        Phone() as phone,
        AsyncExitStack() as stack,
    ):
        talks = await greeted(stack, phone, asterisk)
        before_s = time.monotonic()
        async with a_phone_that_only_presses_keys(asterisk, 8):
            await asyncio.sleep(7)
            assert since(talks, before_s)
        dropped = await bot.metric("voicebot_digits_total", kind="dropped")
        assert dropped > 0
        assert await bot.metric("voicebot_digits_total", kind="taken") + dropped > KEPT
        told = [asked["messages"][-1]["content"].count("8") for asked in workers.llm.requests]
        assert max(told) == KEPT
        assert await bot.metric("voicebot_defects_total") == 0
        await talks.hang_up()
        await bot.until_idle()
    await nothing_left(asterisk)
