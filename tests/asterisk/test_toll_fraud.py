"""What a caller sends instead of a number and a name: it dials nobody (S3, S8). A real Asterisk, SIPp as the caller."""

import asyncio
import re
from pathlib import Path

from tests.asterisk.test_asterisk_conf import complaints, until_no_channels
from tests.support.rig import AriProbe, SippResult, run_sipp
from voicebot.asterisk import AsteriskProcess

# as a phone must write it in a URI: what has no place there is percent-encoded (RFC 3261 section 25.1)
DIALLED = (
    *("500&PJSIP/x", "1000&PJSIP/500", "1000,1,Dial(PJSIP/x)", "1000%2C1", "1000%40from-trunk"),
    *("1000;a=b", "1000/500", "%00", "%0d%0aX"),
    *("$%7BSHELL(id)%7D", "%24%7BEXTEN%7D", "_X.", "%5FX!", "00900123456", "+900123456", "*8", "%231"),
    *("s", "h", "t", "i", "o", "a", "voicebot-talk", "voicebot-after", "PJSIP", "Local", "0" * 200),
)  # fmt: skip
SENT = (
    ("0900&PJSIP/x", "${SHELL(touch /tmp/voicebot-was-here)}"),
    ("$%7BEXTEN%7D", "x)},1,Dial(PJSIP/x"),
    ("$%5B1+1%5D", "&PJSIP/x|Local/s@voicebot-after; System(reboot)"),
    ("0900,30,T", "%n%s <script>alert(1)</script>"),
    ("9" * 100, "n" * 300),
)  # fmt: skip
HARMLESS = re.compile(r"[0-9A-Za-z .,+*#]*")


async def test_what_is_dialled_reaches_the_announcement_or_nothing(asterisk: AsteriskProcess) -> None:
    before = complaints(asterisk)
    at_once = asyncio.Semaphore(6)

    async def dial(dialled: str) -> SippResult:
        async with at_once:
            return await run_sipp(
                "uac_silent", asterisk, service=dialled, pause_ms=200, keys={"rtp_port": "9"}
            )

    async with asyncio.TaskGroup() as group:
        calls = {dialled: group.create_task(dial(dialled)) for dialled in DIALLED}
    for dialled, call in calls.items():
        result = call.result()
        # answered by an announcement, or the INVITE itself is refused
        assert (result.successful, result.failed) in ((1, 0), (0, 1)), (dialled, result.errors)
        invites = re.findall("^INVITE sip:.*$", result.messages, re.MULTILINE)
        assert len(set(invites)) == 1, f"{dialled}: nothing was dialled, {invites}"
    await until_no_channels(asterisk)
    assert complaints(asterisk) == before


async def test_what_the_caller_calls_itself_is_made_harmless(asterisk: AsteriskProcess) -> None:
    before = complaints(asterisk)
    for number, name in SENT:
        async with AriProbe(asterisk) as bot, asyncio.TaskGroup() as group:
            keys = {"rtp_port": "9", "caller": number, "caller_name": name}
            call = group.create_task(run_sipp("uac_listen", asterisk, keys=keys))
            event = group.create_task(bot.event("StasisStart"))
            await asyncio.wait((call, event), return_when=asyncio.FIRST_COMPLETED)
            if not event.done():  # Asterisk takes no such header
                event.cancel()
                assert call.result().failed == 1
                continue
            channel = event.result()["channel"]
            assert event.result()["args"] == ["profile=default"]
            assert HARMLESS.fullmatch(channel["caller"]["number"]), channel["caller"]
            assert HARMLESS.fullmatch(channel["caller"]["name"]), channel["caller"]
            assert await asterisk.channels() == 1
            await bot.call("DELETE", f"channels/{channel['id']}")
            await call
            await until_no_channels(asterisk)
        assert len(set(re.findall("^INVITE sip:.*$", call.result().messages, re.MULTILINE))) == 1
    assert not Path("/tmp/voicebot-was-here").exists()  # noqa: ASYNC240 - what the name above would make
    # Asterisk cuts a name that is too long, and says so
    assert [line for line in complaints(asterisk) if "CallerID Name" not in line] == before
