"""A phone of the network, as pjsip.conf shows it: `voicebot call` as one that gives its password."""

import re
import shutil
from pathlib import Path

import pytest

from asterisk_conf import CONF_DIR
from caller_phone.errors import CallFailed
from caller_phone.phone import Credentials
from tests.support.bot import running_bot
from tests.support.fake_workers import fake_workers
from tests.support.rig import private_asterisk
from voicebot.config import parse
from voicebot.place_call import place

PASSWORD = "a long random word"


def with_a_phone_that_logs_in(folder: Path) -> Path:
    """The configuration with its example in files of one's own beside it, and nobody known by his address."""
    conf = shutil.copytree(CONF_DIR, folder / "conf", ignore=shutil.ignore_patterns("local"))
    pjsip, modules = (conf / "pjsip.conf").read_text(), (conf / "modules.conf").read_text()
    example = re.search(r"(?:^;.*\n)+", pjsip[pjsip.index(";[desk1]") :], re.MULTILINE)
    needed = re.search(r"(?<=^; for phones that log in:\n)(?:;load.*\n)+", modules, re.MULTILINE)
    assert example and needed
    (conf / "local").mkdir()
    for name, lines in (("pjsip", example[0]), ("modules", needed[0])):
        (conf / "local" / f"{name}.conf").write_text(re.sub(r"^;", "", lines, flags=re.MULTILINE))
    by_address = "[loopback-phone]\ntype = identify\nendpoint = loopback-phone\nmatch = 127.0.0.1\n"
    assert by_address in pjsip
    (conf / "pjsip.conf").write_text(pjsip.replace(by_address, ""))
    return conf


async def test_it_talks_with_the_bot_and_a_wrong_password_is_told_with_its_mend(tmp_path: Path) -> None:
    said: list[str] = []
    async with (
        fake_workers() as workers,
        private_asterisk(with_a_phone_that_logs_in(tmp_path)) as asterisk,
        running_bot(asterisk, workers, tmp_path),
    ):
        text = (
            f"asterisk: {{start: false, sip_port: {asterisk.sip_port}}}\n"
            f"ari: {{url: '{asterisk.ari_url}', password: a-password-of-a-test}}"
        )
        config = parse(text, "test.yaml", {})
        who = Credentials("desk1", PASSWORD)
        assert await place(config, "1000", ["price01"], None, who, said.append) == 0
        for wrong in (None, Credentials("desk1", "another word")):
            with pytest.raises(CallFailed, match=r"401.*--user NAME, its password in VOICEBOT_CALL_PASSWORD"):
                await place(config, "1000", ["price01"], None, wrong, said.append)
    assert said[0] == f"Calling sip:1000@127.0.0.1:{asterisk.sip_port} ..."
