"""Requests that phones send inside a call and must have an answer to: RFC 3261 (12.2.1.2) lets who gets none give the
call up. REFER is in test_refer.
"""

import asyncio

import pytest

from caller_phone.phone import Phone
from tests.asterisk.test_asterisk_conf import complaints, until_no_channels
from tests.support.callers import number
from tests.support.rig import AriProbe
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEYS = (
    ("application/dtmf-relay", b"Signal=5\r\nDuration=160\r\n", "5"),
    ("application/dtmf-relay", b"Signal=#\r\nDuration=100\r\n", "#"),
    ("application/dtmf", b"7", "7"),
)


async def answer(bot: AriProbe) -> str:
    channel: str = (await bot.event("StasisStart"))["channel"]["id"]
    await bot.call("POST", f"channels/{channel}/answer")
    return channel


async def test_keys_sent_as_info_reach_the_bot_and_a_sign_of_life_is_given(asterisk: AsteriskProcess) -> None:
    before = complaints(asterisk)
    async with AriProbe(asterisk) as bot, Phone() as phone:
        answering = asyncio.create_task(answer(bot))
        async with phone.call(number(asterisk)) as call:
            channel = await answering
            for kind, body, digit in KEYS:
                assert await call.request("INFO", (("Content-Type", kind),), body) == 200
                assert (await bot.event("ChannelDtmfReceived"))["digit"] == digit
            # of a gateway that asks whether the call is still up
            for method in ("INFO", "OPTIONS", "UPDATE"):
                assert await call.request(method) == 200
            await bot.call("DELETE", f"channels/{channel}")
            await call.wait_for_end(10)
    await until_no_channels(asterisk)
    assert complaints(asterisk) == before
