"""The log of our own Asterisk: set aside when it is long, and nothing of callers and strangers in it."""

import asyncio
import contextlib
import os
import socket
from pathlib import Path

import pytest

from caller_phone.sip_message import Response, parse
from tests.support.rig import HOST, private_asterisk
from voicebot import keep_asterisk
from voicebot.asterisk import AsteriskError, AsteriskProcess
from voicebot.keep_asterisk import bound_log


async def test_a_long_log_is_set_aside_and_a_new_one_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async with private_asterisk() as asterisk:
        log = asterisk.log_path
        files = Path(f"/proc/{asterisk.pid}/fd")

        def written() -> set[str]:
            return {name for name in map(os.readlink, files.iterdir()) if name.startswith(str(log))}

        await bound_log(asterisk)
        assert not log.with_name("messages.1").exists(), "it is short"
        monkeypatch.setattr(keep_asterisk, "MAX_BYTES", 10)
        for _ in range(4):
            with contextlib.suppress(AsteriskError):  # it complains in its log
                await asterisk.cli("module load no_such_module.so")
            await bound_log(asterisk)
        names = sorted(path.name for path in log.parent.glob("messages*"))
        assert names == ["messages", "messages.1", "messages.2"]
        assert written() == {str(log)}
        assert "no_such_module" in log.with_name("messages.1").read_text()


STRANGER, NUMBER = "127.0.0.2", "+4915559876543"


async def test_a_call_of_a_stranger_leaves_no_number_in_it() -> None:
    async with private_asterisk() as asterisk:
        assert await asyncio.to_thread(called_by_a_stranger, asterisk) == 401
        with contextlib.suppress(AsteriskError):  # what it complains of comes after what it had to say
            await asterisk.cli("module load no_such_module.so")
        said = asterisk.log_path.read_text()
    assert "no_such_module" in said
    assert NUMBER not in said


def called_by_a_stranger(asterisk: AsteriskProcess) -> int:
    """The answer to an INVITE from where no phone is known."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.bind((STRANGER, 0))
        phone.settimeout(10)
        here = f"{STRANGER}:{phone.getsockname()[1]}"
        lines = (
            f"INVITE sip:1000@{HOST}:{asterisk.sip_port} SIP/2.0",
            f"Via: SIP/2.0/UDP {here};branch=z9hG4bKstranger",
            "Max-Forwards: 70",
            f"From: <sip:{NUMBER}@{here}>;tag=stranger",
            f"To: <sip:1000@{HOST}>",
            f"Call-ID: stranger@{here}",
            "CSeq: 1 INVITE",
            f"Contact: <sip:{NUMBER}@{here}>",
            "Content-Length: 0",
        )
        phone.sendto("\r\n".join((*lines, "", "")).encode(), (HOST, asterisk.sip_port))
        while True:
            answer = parse(phone.recv(4096))
            assert isinstance(answer, Response)
            if answer.status >= 200:
                return answer.status
