"""Which voicebot it is: an admin who goes back to an earlier one has to be able to tell."""

import re
import subprocess
from pathlib import Path

import pytest

from voicebot.version import version


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_checkout_names_its_commit_and_whether_something_was_changed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "-am", "a release", "v9")
    commit = git(tmp_path, "rev-parse", "HEAD")
    said = version(tmp_path)
    assert re.fullmatch(r"\d+\.\d+\.\d+, commit [0-9a-f]{9,12}", said)
    assert commit.startswith(said.rpartition(" ")[2])
    (tmp_path / "file").write_text("2")
    assert version(tmp_path) == f"{said} and changes"


def test_what_is_no_checkout_has_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = version(tmp_path)
    assert re.fullmatch(r"\d+\.\d+\.\d+", number)
    (tmp_path / ".git").write_text("gitdir: nowhere")
    assert version(tmp_path) == number
    monkeypatch.setenv("PATH", "")
    assert version(tmp_path) == number
