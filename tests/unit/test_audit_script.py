"""scripts/audit.sh, with a stand-in for pip-audit: what is green, what is red, and what was never asked (S9)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# $KNOWS: services that answer; $WEAK: a file with a weak package in it
STAND_IN = """\
#!/bin/bash
echo "$@" >> "$CALLS"
[[ "$*" =~ -s\\ ([a-z]+)\\ -r\\ ([^ ]+) ]] || exit 9
service=${BASH_REMATCH[1]} file=${BASH_REMATCH[2]}
[[ " $KNOWS " == *" $service "* ]] || { echo 'jinja2 Skip Reason: not found'; exit 1; }
case $file in
    */known.txt) echo 'jinja2 2.4.1 PYSEC-2014-8'; exit 1 ;;
    *"$WEAK") echo 'thing 1.0 CVE-2030-1'; exit 1 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "audit.sh", tmp_path / "scripts")
    (tmp_path / "requirements").mkdir()
    for name in ("audit", "run", "vllm-left-out"):
        (tmp_path / "requirements" / f"{name}.txt").write_text("thing==1.0\n")
    tool = tmp_path / "var" / "audit"
    (tool / "bin").mkdir(parents=True)
    (tool / "bin" / "pip-audit").write_text(STAND_IN)
    (tool / "bin" / "pip-audit").chmod(0o755)
    pinned = (tmp_path / "requirements" / "audit.txt").read_bytes()
    (tool / "done").write_bytes(
        subprocess.run(["cksum"], input=pinned, capture_output=True, check=True).stdout
    )
    return tmp_path


def audit(checkout: Path, knows: str, weak: str = "none") -> "subprocess.CompletedProcess[str]":
    env = {"PATH": os.environ["PATH"], "CALLS": str(checkout / "calls"), "KNOWS": knows, "WEAK": weak}
    script = str(checkout / "scripts" / "audit.sh")
    return subprocess.run([script], capture_output=True, text=True, env=env, check=False, timeout=60)


@pytest.mark.parametrize("service", ["pypi", "osv"])
def test_every_pin_is_asked_about(checkout: Path, service: str) -> None:
    assert audit(checkout, service).returncode == 0
    asked = [
        line.split("-r ")[1] for line in (checkout / "calls").read_text().splitlines() if "--strict" in line
    ]
    assert asked == ["requirements/audit.txt", "requirements/run.txt"]


def test_a_known_weakness_is_red(checkout: Path) -> None:
    result = audit(checkout, "pypi osv", "run.txt")
    assert result.returncode == 1
    assert "CVE-2030-1" in result.stdout
    assert "scripts/lock.sh" in result.stderr


def test_a_service_that_does_not_know_what_everybody_knows_is_none(checkout: Path) -> None:
    result = audit(checkout, "")
    assert result.returncode == 3
    assert "NOTHING WAS ASKED" in result.stderr
    assert "--strict" not in (checkout / "calls").read_text()


def test_continuous_integration_asks_and_only_a_missing_service_is_let_pass() -> None:
    text = (ROOT / ".ci" / "run").read_text()
    assert "\nmake test\nscripts/audit.sh || [ $? -eq 3 ]\n" in "\n".join(
        line for line in text.replace("#", "\n#").splitlines() if not line.startswith("#") and line.strip()
    ).join(("\n", "\n"))
