"""The commands that docs/cluster.md shows for systemd, run with stand-ins for what they command."""

import re
import subprocess
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text().partition("\n## systemd\n")[2]
BLOCKS = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(RENEW,) = (block for block in BLOCKS if "for n in" in block)

STAND_INS = {
    "sudo": 'exec "$@"',
    "sleep": "",
    "journalctl": 'echo "journal $*"',
    "curl": 'echo "$*" >> "$DID"; for port in $READY; do case "$*" in *":$port/"*) exit 0 ;; esac; done; exit 22',
    "systemctl": 'echo "systemctl $*" >> "$DID"; [ "$1" = restart ] && exit 0; [ "$3" = "$FAILED" ]',
}


def renewed(folder: Path, shell: str, ready: str, failed: str = "") -> tuple[list[str], str, int]:
    """The units that were restarted, what was said, and how often /ready was asked for."""
    for name, script in STAND_INS.items():
        program = folder / name
        program.write_text(f"#!/bin/bash\n{script}\n")
        program.chmod(0o755)
    did = folder / "did"
    environ = {"PATH": f"{folder}:/usr/bin:/bin", "DID": str(did), "READY": ready, "FAILED": failed}
    done = subprocess.run(
        [shell, "-c", RENEW], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    lines = did.read_text().splitlines()
    restarted = [line.rpartition(" ")[2] for line in lines if line.startswith("systemctl restart")]
    return restarted, done.stdout, sum("/ready" in line for line in lines)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_units_are_renewed_one_after_another_and_the_first_that_fails_is_the_last(
    tmp_path: Path, shell: str
) -> None:
    assert renewed(tmp_path, shell, "8080 8081") == (["voicebot@1", "voicebot@2"], "", 2)
    (tmp_path / "did").unlink()
    restarted, said, asked = renewed(tmp_path, shell, "8081", "voicebot@1")
    assert (restarted, asked) == (["voicebot@1"], 2)
    assert "voicebot@1 does not become ready" in said
    assert "journal -n 20 --no-pager -u voicebot@1" in said


def test_one_that_never_becomes_ready_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    restarted, said, asked = renewed(tmp_path, "sh", "8080")
    assert restarted == ["voicebot@1", "voicebot@2"]
    assert "voicebot@2 does not become ready" in said
    assert asked == 1 + 120 + 1


def test_every_line_is_one_that_a_shell_can_read() -> None:
    for block in BLOCKS:
        subprocess.run(["sh", "-n"], input=block, text=True, check=True)
