"""The files children's output goes to: bounded, whole lines, nothing lost, their owner's alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.full_disk import files_no_longer_than
from voicebot.child_log import TAIL_BYTES, ChildLog, set_aside


def printed(log: ChildLog, code: str) -> None:
    """A child runs `code` to its end."""
    with log.pipe() as output:
        subprocess.run((sys.executable, "-c", code), stdout=output, stderr=output, check=True)


def files(path: Path) -> list[Path]:
    """Oldest first."""
    return sorted(path.parent.iterdir(), key=lambda one: one.name, reverse=True)


@pytest.mark.parametrize("flush", [True, False])
def test_nothing_is_lost_where_one_file_ends_and_the_next_begins(tmp_path: Path, flush: bool) -> None:
    log = ChildLog(tmp_path / "log" / "stt.log", max_bytes=20_000, kept=9)
    printed(log, f"[print('line', n, 'x' * (n % 90), flush={flush}) for n in range(2000)]")
    found = files(log.path)
    assert len(found) > 4
    whole = "".join(one.read_text() for one in found)
    assert whole == "".join(f"line {n} {'x' * (n % 90)}\n" for n in range(2000))
    for one in found:
        assert one.read_text().endswith("\n"), "a line is in one file"
        assert 0 < one.stat().st_size <= 20_000 + 100
        assert one.stat().st_mode & 0o777 == 0o600
    assert log.path.parent.stat().st_mode & 0o777 == 0o700


def test_no_more_files_than_are_kept_and_the_newest_ones(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "log" / "stt.log", max_bytes=1000, kept=2)
    printed(log, "[print(f'line {n}') for n in range(2000)]")
    assert [one.name for one in files(log.path)] == ["stt.log.2", "stt.log.1", "stt.log"]
    assert sum(one.stat().st_size for one in files(log.path)) <= 3000 + 3 * 10
    assert log.path.read_text().endswith("line 1999\n")


def test_a_line_longer_than_a_file_is_still_whole(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "log" / "llm.log", max_bytes=1000, kept=9)
    printed(log, "print('a'); print('b' * 5000); print('c')")
    assert "".join(one.read_text() for one in files(log.path)) == f"a\n{'b' * 5000}\nc\n"


def test_the_tail_is_of_the_last_start(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "tts.log")
    printed(log, "print('first')")
    printed(log, f"print('x' * {2 * TAIL_BYTES}); print('last')")
    assert log.tail().endswith("x\nlast\n")
    assert len(log.tail()) == TAIL_BYTES
    assert log.path.read_text().startswith("first\n")


def test_what_a_full_disk_does_not_take_is_lost_and_the_child_goes_on(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "calls.log")
    with files_no_longer_than(500):
        printed(log, "[print('line', n) for n in range(1000)]")
    assert log.path.stat().st_size == 500
    assert log.tail().endswith("line 999\n")


def test_one_that_left_the_childs_session_keeps_nobody_waiting(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "calls.log")
    with log.pipe() as output:
        command = (sys.executable, "-c", "print('up', flush=True); input()")
        stays = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, start_new_session=True)
        while "up\n" not in log.tail():
            os.sched_yield()
    assert stays.poll() is None
    stays.communicate(b"\n")
    assert log.path.read_text() == "up\n"


def test_older_ones_move_up(tmp_path: Path) -> None:
    for name in ("a.log", "a.log.1", "a.log.2", "a.log.3"):
        (tmp_path / name).write_text(name)
    set_aside(tmp_path / "a.log")
    left = {one.name: one.read_text() for one in tmp_path.iterdir()}
    assert left == {"a.log.1": "a.log", "a.log.2": "a.log.1", "a.log.3": "a.log.3"}
