"""Whom the dialplan refuses when no bot could take the sound: a real Asterisk, and what a proxy sees of it (A6)."""

import asyncio
import re

import pytest

from tests.support.rig import AriProbe, run_sipp
from tests.support.rtp_peer import RtpPeer
from voicebot.asterisk import AsteriskProcess


@pytest.mark.parametrize("answered", [False, True])
async def test_a_call_without_a_sound_path_is_refused_unless_somebody_has_answered_it(
    asterisk: AsteriskProcess, answered: bool
) -> None:
    with RtpPeer() as ear:
        async with AriProbe(asterisk) as bot, asyncio.TaskGroup() as group:
            keys = {"rtp_port": str(ear.address[1])}
            call = group.create_task(run_sipp("uac_listen", asterisk, keys=keys))
            channel = (await bot.event("StasisStart"))["channel"]["id"]
            if answered:
                await bot.call("POST", f"channels/{channel}/answer")
            await bot.call(
                "POST", f"channels/{channel}/variable", variable="VOICEBOT_REASON", value="media_failed"
            )
            await bot.call("POST", f"channels/{channel}/continue")
    messages = call.result().messages
    finals = re.findall(r"^SIP/2\.0 ([2-6]\d\d) .*?^CSeq: *\d+ INVITE", messages, re.MULTILINE | re.DOTALL)
    assert finals[:1] == (["200"] if answered else ["503"]), call.result().errors
    assert call.result().causes[:1] == ([41] if answered else [34])
    assert await asterisk.channels() == 0
