"""asterisk_conf/ on a real Asterisk, as it is: what callers hear when no bot is there, and who is let in."""

import asyncio
import os
import re
import shutil
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from asterisk_conf import CONF_DIR
from media_bridge.g711 import CODECS
from tests.support.rig import AriProbe, SippResult, private_asterisk, run_sipp, the_asterisk
from tests.support.rtp_peer import RtpPeer
from voicebot.asterisk import AsteriskError, AsteriskProcess
from voicebot.errors import PortTakenError

LOUD = 500  # of 32767, the mean level of a frame of speech
SQUARE_WAVE = (b"\x00\x20" * 8 + b"\x00\xe0" * 8) * 500  # one second of 500 Hz, as pcm


@pytest.fixture
def tone(tmp_path: Path) -> Path:
    """The same as raw mu-law."""
    path = tmp_path / "tone.ulaw"
    path.write_bytes(CODECS["ulaw"].encode(SQUARE_WAVE))
    return path


async def listen(asterisk: AsteriskProcess, service: str, **keys: str) -> tuple[SippResult, float]:
    """Call `service`, listen until hung up on; the result and how many seconds of speech were heard."""
    with RtpPeer() as ear:
        result = await run_sipp(
            "uac_listen", asterisk, service=service, keys={"rtp_port": str(ear.address[1]), **keys}
        )
        return result, loud_s(ear)


def loud_s(ear: RtpPeer) -> float:
    """How many seconds of what came were louder than a quiet line."""
    pcm = np.frombuffer(ear.heard(), "<i2").astype(float)
    frames = pcm[: len(pcm) // 160 * 160].reshape(-1, 160)
    return float(np.sum(np.abs(frames).mean(axis=1) > LOUD)) * 0.02


async def bridged(bot: AriProbe, peer: RtpPeer) -> None:
    """Answer the next call and bridge it with an external media channel that ends at `peer`."""
    caller = (await bot.event("StasisStart"))["channel"]["id"]
    await bot.call("POST", f"channels/{caller}/answer")
    host = f"{peer.address[0]}:{peer.address[1]}"
    _, leg = await bot.call(
        "POST", "channels/externalMedia", app="voicebot", external_host=host, format="ulaw"
    )
    await bot.event("StasisStart")
    peer.talk_to(("127.0.0.1", int(leg["channelvars"]["UNICASTRTP_LOCAL_PORT"])))
    _, bridge = await bot.call("POST", "bridges", type="mixing")
    await bot.call("POST", f"bridges/{bridge['id']}/addChannel", channel=f"{caller},{leg['id']}")


async def cleared(bot: AriProbe, asterisk: AsteriskProcess) -> None:
    """Delete what a gone caller leaves behind."""
    for kind in ("bridges", "channels"):
        for left in (await bot.call("GET", kind))[1]:
            await bot.call("DELETE", f"{kind}/{left['id']}")
    await until_no_channels(asterisk)


def complaints(asterisk: AsteriskProcess) -> list[str]:
    return [
        line for line in asterisk.log_path.read_text().splitlines() if re.search(r"\b(WARNING|ERROR)\[", line)
    ]


class TestBoot:
    async def test_nothing_is_complained_of_and_ari_is_there(self) -> None:
        async with private_asterisk() as asterisk:
            assert complaints(asterisk) == []
            assert await asterisk.channels() == 0
            assert f"127.0.0.1:{asterisk.http_port}" in await asterisk.cli("http show status")
            assert f"127.0.0.1:{asterisk.sip_port}" in await asterisk.cli("pjsip show transports")
            folder = asterisk.log_path.parents[1]
        assert not folder.exists()
        with pytest.raises(ProcessLookupError):
            os.kill(asterisk.pid, 0)

    async def test_every_module_of_the_list_is_running(self, asterisk: AsteriskProcess) -> None:
        shown = await asterisk.cli("module show")
        running = set(re.findall(r"^(\S+\.so) .*Running", shown, re.MULTILINE))
        listed = set(
            re.findall(
                r"^(?:preload-)?(?:load|require) = (\S+)",
                (CONF_DIR / "modules.conf").read_text(),
                re.MULTILINE,
            )
        )
        assert listed == running

    async def test_a_killed_one_is_noticed_and_leaves_nothing(self) -> None:
        async with private_asterisk() as asterisk:
            folder = asterisk.log_path.parents[1]
            asterisk.kill()
            assert await asterisk.wait() == -9
            with pytest.raises(AsteriskError):
                await asterisk.channels()
        assert not folder.exists()

    async def test_a_taken_port_is_told_before_anything_starts(self, asterisk: AsteriskProcess) -> None:
        second = AsteriskProcess(
            the_asterisk(),
            ari_password=asterisk.ari_password,
            sip_port=asterisk.sip_port,
            http_port=asterisk.http_port,
        )
        with pytest.raises(PortTakenError, match=rf"SIP port {asterisk.sip_port} .*asterisk\.sip_port"):
            async with second:
                pass

    async def test_a_configuration_that_cannot_be_used_is_told(self, tmp_path: Path) -> None:
        conf = tmp_path / "conf"
        shutil.copytree(CONF_DIR, conf)
        with (conf / "modules.conf").open("a") as modules:
            modules.write("require = no_such_module.so\n")
        with pytest.raises(AsteriskError, match=r"did not start.*no_such_module"):
            async with private_asterisk(conf):
                pass


class TestNoBot:
    async def test_the_caller_of_the_bot_is_told_and_hung_up_on(self, asterisk: AsteriskProcess) -> None:
        result, speech_s = await listen(asterisk, "1000")
        assert (result.successful, result.failed, result.causes) == (1, 0, [41]), result.errors
        assert 3 < speech_s < 8, "three announcements, about six seconds"
        assert await asterisk.channels() == 0

    async def test_other_numbers_are_told_that_they_are_none(self, asterisk: AsteriskProcess) -> None:
        before = complaints(asterisk)
        numbers = ("2000", "1", "10000", "+4930123456", "*97", "alice", "500&PJSIP/x", "1000&PJSIP/x")
        async with asyncio.TaskGroup() as group:
            calls = {number: group.create_task(listen(asterisk, number)) for number in numbers}
        for number, call in calls.items():
            result, speech_s = call.result()
            assert (number, result.successful, result.causes) == (number, 1, [1]), result.errors
            assert 2 < speech_s < 7, "one announcement, about five seconds"
            assert len(re.findall("^INVITE sip:", result.messages, re.MULTILINE)) == 1, "nothing was dialled"
        assert await asterisk.channels() == 0
        assert complaints(asterisk) == before

    async def test_callers_who_talk_and_leave_are_gone(self, asterisk: AsteriskProcess, tone: Path) -> None:
        result = await run_sipp("uac_talk", asterisk, calls=5, pause_ms=1500, media=tone)
        assert (result.successful, result.failed) == (5, 0), result.errors
        await until_no_channels(asterisk)

    async def test_a_caller_who_goes_on_talking_is_hung_up_on(
        self, asterisk: AsteriskProcess, tone: Path
    ) -> None:
        result = await run_sipp("uac_talk_wait", asterisk, service="2000", media=tone)
        assert (result.successful, result.causes) == (1, [1]), result.errors

    async def test_a_caller_who_says_nothing_and_leaves_is_gone(self, asterisk: AsteriskProcess) -> None:
        result = await run_sipp("uac_silent", asterisk, pause_ms=300, keys={"rtp_port": "9"})
        assert (result.successful, result.failed) == (1, 0), result.errors
        await until_no_channels(asterisk)

    async def test_an_extension_can_be_asked_for(self, asterisk: AsteriskProcess) -> None:
        assert (await run_sipp("options", asterisk)).successful == 1


class TestBot:
    """The dialplan around an application that takes the call and gives it back."""

    async def test_the_profile_and_clean_caller_data_reach_it(self, asterisk: AsteriskProcess) -> None:
        async with AriProbe(asterisk) as bot, asyncio.TaskGroup() as group:
            group.create_task(listen(asterisk, "1000", caller="+49301234", caller_name="Eve ${SHELL(id)}"))
            start = await bot.event("StasisStart")
            await bot.call("DELETE", f"channels/{start['channel']['id']}")
        assert start["args"] == ["profile=default"]
        assert start["channel"]["caller"] == {"name": "Eve SHELLid", "number": "+49301234"}

    @pytest.mark.parametrize(("reason", "cause"), [("full", 17), ("overloaded", 17), ("draining", 41)])
    async def test_a_call_given_back_hears_why(
        self, asterisk: AsteriskProcess, reason: str, cause: int
    ) -> None:
        async with AriProbe(asterisk) as bot, asyncio.TaskGroup() as group:
            call = group.create_task(listen(asterisk, "1000"))
            channel = (await bot.event("StasisStart"))["channel"]["id"]
            await bot.call("POST", f"channels/{channel}/variable", variable="VOICEBOT_REASON", value=reason)
            await bot.call("POST", f"channels/{channel}/continue")
        result, speech_s = call.result()
        assert result.causes == [cause], result.errors
        assert speech_s > 2

    async def test_the_caller_hears_the_bot(self, asterisk: AsteriskProcess) -> None:
        async with AriProbe(asterisk) as bot, asyncio.TaskGroup() as group:
            with RtpPeer() as mouth, RtpPeer() as ear:
                keys = {"rtp_port": str(ear.address[1])}
                group.create_task(run_sipp("uac_silent", asterisk, pause_ms=1500, keys=keys))
                await bridged(bot, mouth)
                mouth.play(SQUARE_WAVE)
                await bot.event("StasisEnd")
                assert loud_s(ear) > 0.8
            await cleared(bot, asterisk)

    async def test_the_bot_hears_the_caller(self, asterisk: AsteriskProcess, tone: Path) -> None:
        async with AriProbe(asterisk) as bot, asyncio.TaskGroup() as group:
            with RtpPeer() as ear:
                group.create_task(run_sipp("uac_talk", asterisk, pause_ms=1500, media=tone))
                await bridged(bot, ear)
                await bot.event("StasisEnd")
                assert loud_s(ear) > 0.8
            await cleared(bot, asterisk)

    async def test_a_call_left_alone_ends_by_itself(self, tmp_path: Path) -> None:
        conf = tmp_path / "conf"
        shutil.copytree(CONF_DIR, conf)
        dialplan = conf / "voicebot" / "extensions_voicebot.conf"
        dialplan.write_text(dialplan.read_text().replace("TIMEOUT(absolute)=3600", "TIMEOUT(absolute)=1"))
        async with private_asterisk(conf) as short, AriProbe(short) as bot, asyncio.TaskGroup() as group:
            call = group.create_task(listen(short, "1000"))
            channel = (await bot.event("StasisStart"))["channel"]["id"]
            await bot.call("POST", f"channels/{channel}/answer")
        assert call.result()[0].successful == 1

    async def test_its_limit_ends_with_it(self, tmp_path: Path) -> None:
        """Whom the bot has put through may talk on; who comes back to it is limited again; messages are heard whole."""
        conf = tmp_path / "conf"
        shutil.copytree(CONF_DIR, conf)
        dialplan = conf / "voicebot" / "extensions_voicebot.conf"
        text = dialplan.read_text().replace("TIMEOUT(absolute)=3600", "TIMEOUT(absolute)=2")
        # the person, and the lines that bring the caller back
        text = text.replace(
            " same => n,NoOp(The bot put",
            " same => n,Answer()\n same => n,Wait(3)\n same => n,NoOp(The bot put",
        )
        text = re.sub(r"^; (same => n,Gosub\(voicebot-)", r" \1", text, flags=re.MULTILINE)
        dialplan.write_text(text)
        async with private_asterisk(conf) as short:
            result, speech_s = await listen(short, "1000")
            assert (result.causes, 3 < speech_s < 8) == ([41], True), "no bot: three announcements"
            loop = asyncio.get_running_loop()
            async with AriProbe(short) as bot, asyncio.TaskGroup() as group:
                call = group.create_task(listen(short, "1000"))
                channel = (await bot.event("StasisStart"))["channel"]["id"]
                place = {"context": "voicebot-transfer", "extension": "2000", "priority": "1"}
                await bot.call("POST", f"channels/{channel}/continue", **place)
                put_through = loop.time()
                assert (await bot.event("StasisStart"))["channel"]["id"] == channel
                back = loop.time()
                assert back - put_through >= 3
                await call
                assert 1 < loop.time() - back < 5
        assert call.result()[0].successful == 1

    async def test_functions_that_write_files_are_out_of_its_reach(
        self, asterisk: AsteriskProcess, tmp_path: Path
    ) -> None:
        file = tmp_path / "written"
        async with AriProbe(asterisk) as bot, asyncio.TaskGroup() as group:
            group.create_task(listen(asterisk, "1000"))
            channel = (await bot.event("StasisStart"))["channel"]["id"]
            await bot.call("POST", f"channels/{channel}/variable", variable=f"FILE({file})", value="x")
            await bot.call("DELETE", f"channels/{channel}")
        assert not file.exists()


class TestAri:
    @pytest.mark.parametrize(
        "login", [("voicebot", "wrong"), ("nobody", "for-tests-only"), ("voicebot-user", "")]
    )
    async def test_a_wrong_login_is_refused(self, asterisk: AsteriskProcess, login: tuple[str, str]) -> None:
        async with (
            aiohttp.ClientSession(headers={"Authorization": aiohttp.encode_basic_auth(*login)}) as http,
            http.get(f"{asterisk.ari_url}/ari/asterisk/info") as answer,
        ):
            assert answer.status == 401

    async def test_the_right_login_is_let_in(self, asterisk: AsteriskProcess) -> None:
        async with AriProbe(asterisk, "another") as ari:
            status, info = await ari.call("GET", "asterisk/info")
        assert status == 200
        assert info["system"]["version"].startswith(asterisk.version)


OWN_ASTERISK = {
    "asterisk.conf": "[options]\nnocolor = yes\n",
    "modules.conf": "[modules]\nautoload = yes\n",
    "logger.conf": "[logfiles]\nmessages => notice,warning,error\n",
    "http.conf": """\
[general]
bindaddr = 127.0.0.1
#include voicebot_local/http.conf
#include voicebot/http_voicebot.conf
""",
    "ari.conf": """\
[general]
pretty = yes
[somebody]
type = user
password = else
#include voicebot/ari_voicebot.conf
[voicebot](voicebot-user)
password = for-tests-only
""",
    "extensions.conf": """\
[globals]
MINE = 1
[from-phones]
exten => 2000,1,Answer()
 same => n,Hangup(16)
include => voicebot
#include voicebot/extensions_voicebot.conf
""",
    "pjsip.conf": """\
[udp]
type = transport
protocol = udp
#include voicebot_local/pjsip.conf
[phone]
type = endpoint
context = from-phones
allow = ulaw
[phone]
type = identify
endpoint = phone
match = 127.0.0.1
""",
    "rtp.conf": "[general]\n#include voicebot_local/rtp.conf\n",
}


class TestOwnAsterisk:
    """An admin's own Asterisk, all modules loaded, that includes the three files of voicebot/."""

    async def test_it_has_the_bot_and_keeps_its_own(self, tmp_path: Path) -> None:
        shutil.copytree(CONF_DIR / "voicebot", tmp_path / "voicebot")
        for name, content in OWN_ASTERISK.items():
            (tmp_path / name).write_text(content)
        async with private_asterisk(tmp_path) as asterisk, AriProbe(asterisk) as bot:
            async with asyncio.TaskGroup() as group:
                group.create_task(listen(asterisk, "1000"))
                start = await bot.event("StasisStart")
                await bot.call("DELETE", f"channels/{start['channel']['id']}")
            own = await run_sipp("uac_listen", asterisk, service="2000", keys={"rtp_port": "9"})
            unknown = await run_sipp("uac_listen", asterisk, service="3000", keys={"rtp_port": "9"})
            settings = await asterisk.cli("ari show users")
        assert start["args"] == ["profile=default"]
        assert own.causes == [16]
        assert unknown.failed == 1, "numbers that are not the bot's are left to the admin"
        assert {"somebody", "voicebot"} <= set(settings.split())


async def until_no_channels(asterisk: AsteriskProcess) -> None:
    async with asyncio.timeout(5):
        while await asterisk.channels():  # noqa: ASYNC110 - Asterisk has to be asked
            await asyncio.sleep(0.05)
