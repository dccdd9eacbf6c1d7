"""What must never slip into asterisk_conf/, as text; tests/asterisk/ runs it."""

import re
from itertools import pairwise
from pathlib import Path

from asterisk_conf import CONF_DIR

CONF_FILES = sorted(CONF_DIR.rglob("*.conf"))


def test_every_include_is_there() -> None:
    made = {"ari.conf", "extensions.conf", "http.conf", "pjsip.conf", "rtp.conf"}
    for path in CONF_FILES:
        for target in re.findall(r"^#include (\S+)", path.read_text(), re.MULTILINE):
            folder, name = target.split("/")
            assert name in made if folder == "voicebot_local" else (CONF_DIR / target).is_file(), target


def test_nothing_is_run_and_no_secret_is_kept() -> None:
    for path in CONF_FILES:
        active = "\n".join(live_lines(path))
        assert not re.search(r"#exec|SHELL|System\(|\bpassword = ", active), path


def test_ari_is_not_open_to_the_network() -> None:
    for path in CONF_FILES:
        assert not re.search(r"^(bindaddr|tlsbindaddr) *=", path.read_text(), re.MULTILINE), path
    assert "live_dangerously = no" in live_lines(CONF_DIR / "asterisk.conf")


def test_the_dialplan_dials_nobody_and_comes_back_from_every_stasis() -> None:
    lines = live_lines(CONF_DIR / "voicebot" / "extensions_voicebot.conf")
    lines += live_lines(CONF_DIR / "extensions.conf")
    assert not [line for line in lines if "Dial(" in line]
    assert not [
        line for line in lines if re.search(r"_[X.!]", line) and "voicebot-not-in-service" not in line
    ]
    for line, after in pairwise(lines):
        if "Stasis(" in line:
            assert after.startswith('same => n,GotoIf($["${STASISSTATUS}" = "FAILED"]?next)')
        if "Gosub(voicebot-talk" in line:
            assert after == "same => n,Goto(voicebot-after,s,1)"
    assert not [line for line in lines if "${EXTEN" in line], "what the caller sent is never used"
    for name in re.findall(r"\$\{(CALLERID[^}]*)\}", "\n".join(lines)):
        assert "FILTER(0-9A-Za-z" in next(line for line in lines if name in line)


def test_every_line_of_the_dialplan_is_taken() -> None:
    """Asterisk passes over a line it cannot read; a commented example must be readable when uncommented."""
    text = (CONF_DIR / "voicebot" / "extensions_voicebot.conf").read_text()
    for line in re.findall(r"^;? ?((?:exten|same) =>.*)$", text, re.MULTILINE):
        assert re.fullmatch(r"(exten => [^,]+,1|same => n(\(\w+\))?),\w+\(.*\)", line), line
        assert line.count("(") == line.count(")"), line
        assert line.count("[") == line.count("]"), line


def live_lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines() if line.strip() and line[0] != ";"]
