"""The transfer key of the caller's phone (REFER, RFC 3515) in a talk with the bot: nobody is dialled, the talk goes on.

A real Asterisk would dial the new number on its owner's bill. It is refused by the endpoint; and by the dialplan where
the endpoint's `allow_transfer = no` was forgotten.
"""

import asyncio
import re
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from asterisk_conf import CONF_DIR
from caller_phone.call import Call
from caller_phone.phone import Phone
from caller_phone.script import Say, WaitAnswer, run_script
from caller_phone.sip_message import Response, parse
from tests.support.bot import Bot, nothing_left, running_bot
from tests.support.callers import number
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.rig import HOST, private_asterisk
from tests.support.speech import QUESTION
from voicebot.asterisk import AsteriskProcess

ACCEPTED, NOT_FOUND, DECLINED = 202, 404, 603
AT_ONCE = ("Refer-Sub", "false")
"""The phone wants the outcome as the answer (RFC 4488); without it Asterisk says 202, and the outcome in a NOTIFY."""
DIALLED = (
    *("00900123456", "+900123456", "1000", "2000", "s", "h", "external_replaces", "*8"),
    *("1000%40voicebot", "PJSIP%2Floopback-phone", "voicebot-transfer"),
)
REPLACES = "Replaces=nobody%40nowhere%3Bto-tag%3Done%3Bfrom-tag%3Danother"


@pytest_asyncio.fixture
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        fakes.stt.answers = ["How much is the walrus?"]
        fakes.llm.replies = ["The walrus is nineteen dollars."]
        yield fakes


@pytest.fixture
def forgetful(tmp_path: Path) -> Path:
    """asterisk_conf/ without `allow_transfer = no`."""
    folder = tmp_path / "conf"
    shutil.copytree(CONF_DIR, folder)
    pjsip = folder / "pjsip.conf"
    text = pjsip.read_text()
    assert len(re.findall("^allow_transfer = no$", text, re.MULTILINE)) == 1
    pjsip.write_text(text.replace("\nallow_transfer = no\n", "\n"))
    return folder


async def answers_to_refer(
    asterisk: AsteriskProcess, workers: FakeWorkers, folder: Path
) -> tuple[set[int], set[int]]:
    """What a phone is told that asks for one transfer after another; the call lives through all of them.

    The second set: of a phone that wants the outcome at once.
    """
    told: tuple[set[int], set[int]] = set(), set()
    async with running_bot(asterisk, workers, folder) as bot, Phone() as phone:
        async with phone.call(number(asterisk)) as call:
            await call.wait_for_bot_speech(20, since_s=call.answered_s)
            channels = await asterisk.channels()
            for dialled in DIALLED:
                for after in ("", f"?{REPLACES}"):
                    to = ("Refer-To", f"<sip:{dialled}@{HOST}:{asterisk.sip_port}{after}>")
                    for answers, fields in zip(told, ((to,), (to, AT_ONCE)), strict=True):
                        answers.add(await call.request("REFER", fields))
                        assert await asterisk.channels() == channels, f"{dialled}: somebody was dialled"
            assert await answered(call)
            await call.hang_up()
        await bot.until_idle()
        assert await one_call(bot)
    await nothing_left(asterisk)
    return told


async def answered(call: Call) -> bool:
    (turn,) = (await run_script(call, [Say(QUESTION), WaitAnswer()])).turns
    return turn.answered


async def one_call(bot: Bot) -> bool:
    ended = await bot.metric("voicebot_calls_ended_total", cause="caller_hung_up")
    return ended == 1 and await bot.metric("voicebot_defects_total") == 0


async def test_the_callers_phone_cannot_transfer_the_call(workers: FakeWorkers, tmp_path: Path) -> None:
    async with private_asterisk() as asterisk:
        assert await answers_to_refer(asterisk, workers, tmp_path) == ({DECLINED}, {DECLINED})
        assert await asyncio.to_thread(out_of_the_blue, asterisk) >= 400
        assert await asterisk.channels() == 0


def out_of_the_blue(asterisk: AsteriskProcess) -> int:
    """The answer to a REFER that belongs to no call."""
    there = f"{HOST}:{asterisk.sip_port}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.bind((HOST, 0))
        phone.settimeout(10)
        here = f"{HOST}:{phone.getsockname()[1]}"
        lines = (
            f"REFER sip:1000@{there} SIP/2.0",
            f"Via: SIP/2.0/UDP {here};branch=z9hG4bKblue",
            "Max-Forwards: 70",
            f"From: <sip:caller@{here}>;tag=blue",
            f"To: <sip:1000@{there}>",
            f"Call-ID: blue@{here}",
            "CSeq: 1 REFER",
            f"Contact: <sip:caller@{here}>",
            f"Refer-To: <sip:00900123456@{there}>",
            "Content-Length: 0",
        )
        phone.sendto("\r\n".join((*lines, "", "")).encode(), (HOST, asterisk.sip_port))
        while True:
            answer = parse(phone.recv(4096))
            assert isinstance(answer, Response)
            if answer.status >= 200:
                return answer.status


async def test_nor_where_the_endpoint_would_let_it(
    workers: FakeWorkers, tmp_path: Path, forgetful: Path
) -> None:
    async with private_asterisk(forgetful) as asterisk:
        assert await answers_to_refer(asterisk, workers, tmp_path) == ({ACCEPTED}, {NOT_FOUND})


async def test_nor_once_the_bot_is_away_or_gave_the_call_back(forgetful: Path) -> None:
    """Until the call ends: a person may take it in voicebot-after."""
    async with private_asterisk(forgetful) as asterisk, Phone() as phone:
        async with phone.call(number(asterisk)) as call:
            for dialled in DIALLED:
                to = ("Refer-To", f"<sip:{dialled}@{HOST}:{asterisk.sip_port}>")
                assert await call.request("REFER", (to, AT_ONCE)) == NOT_FOUND, dialled
                assert await asterisk.channels() == 1
            await call.hang_up()
        await nothing_left(asterisk)
