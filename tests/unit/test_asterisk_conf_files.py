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


def test_the_bots_time_limit_never_cuts_a_talk_with_a_person() -> None:
    """It is set before the bot, and a channel keeps it. The lines to be uncommented count."""
    text = (CONF_DIR / "voicebot" / "extensions_voicebot.conf").read_text()
    dialling, asking = 0, 0
    for context in re.split(r"^\[", text, flags=re.MULTILINE)[1:]:
        steps = re.findall(r"^;? ?(?:exten => [^,]+,1|same => n(?:\(\w+\))?),(.+)$", context, re.MULTILINE)
        for at, step in enumerate(steps):
            if step.startswith("Dial("):
                dialling += 1
                assert "Set(TIMEOUT(absolute)=0)" in steps[:at], f"[{context.partition(']')[0]}] {step}"
            if step.startswith("Gosub(voicebot-talk"):
                asking += 1
                assert steps[at - 1] == "Gosub(voicebot-before,s,1)", step
    assert (dialling, asking) == (2, 4)


def test_no_example_in_the_documentation_dials_what_a_caller_sent() -> None:
    """S3: comments of the files and snippets of the pages are copied as they are."""
    root = CONF_DIR.parent
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *root.glob("*.yaml"), *CONF_FILES]
    steps = [
        (page.name, line.strip(" ;`"))
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if re.match(r"[ ;`>*-]*(exten|same)\s*=", line)
    ]
    assert len(steps) > 40, "the dialplan alone has so many"
    for page, line in steps:
        assert not re.search(r"\b(System|TrySystem|SHELL|EVAL|ExecIf\([^)]*Dial)\(", line), (page, line)
        # a target is written out; only what Asterisk itself has set may stand in it
        for target in re.findall(r"\b(?:Dial|Originate|Transfer|Page|Queue)\(([^)]*)\)", line):
            assert "${" not in target, (page, line)
        # a pattern takes numbers that nobody has written down
        if re.search(r"=>?\s*_", line):
            assert line.endswith(",1,Goto(voicebot-not-in-service,s,1)"), (page, line)
    examples = (CONF_DIR / "pjsip.conf").read_text().replace("\n;", "\n")
    for section in re.split(r"\n(?=\[)", examples):
        if "type = endpoint" in section:
            assert "allow_transfer = no" in section, f"a caller's phone could dial on: {section}"


def test_the_parts_of_the_modules_that_an_admin_is_sent_to_are_all_there_is() -> None:
    """Beside those of any Asterisk with phones. That they are enough: the tests of tests/asterisk load nothing else."""
    parts = re.findall(r"^; ---- ([\w ]+)", (CONF_DIR / "modules.conf").read_text(), re.MULTILINE)
    parts = [part.strip() for part in parts]
    own = {"base", "RTP and SIP"}
    for page in (CONF_DIR / "voicebot" / "extensions_voicebot.conf", CONF_DIR.parent / "README.md"):
        text = " ".join(page.read_text(encoding="utf-8").replace("\n;", "").split())
        assert all(f'"{part}"' in text for part in parts if part not in own), page
    assert set(parts) == own | {"dialplan", "sound formats", "bridges", "ARI", "external media"}


def live_lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines() if line.strip() and line[0] != ";"]
