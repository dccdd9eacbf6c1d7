"""The files children's output goes to: bounded, whole lines, nothing lost, their owner's alone."""

import asyncio
import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from tests.support.full_disk import files_no_longer_than
from voicebot import child_log
from voicebot.child_log import TAIL_BYTES, ChildLog, set_aside


def printed(log: ChildLog, code: str) -> None:
    """A child runs `code` to its end."""

    async def main() -> None:
        async with log.pipe() as output:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", code, stdout=output, stderr=output
            )
            assert await child.wait() == 0

    asyncio.run(main())


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
    lost: list[OSError] = []
    log = ChildLog(tmp_path / "calls.log", lost.append)
    with files_no_longer_than(500):
        printed(log, "[print('line', n) for n in range(1000)]")
    assert [error.errno for error in lost] == [errno.EFBIG]
    assert log.path.stat().st_size == 500
    assert log.tail().endswith("line 999\n")


def test_a_file_that_cannot_be_set_aside_goes_on(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "log" / "stt.log", max_bytes=1000, kept=1)
    (tmp_path / "log" / "stt.log.1" / "of somebody").mkdir(parents=True)
    printed(log, "[print(f'line {n}') for n in range(2000)]")
    assert log.path.read_text() == "".join(f"line {n}\n" for n in range(2000))


async def test_a_file_that_cannot_be_opened_is_told_once_and_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.write_text("a file where the folder is to be")
    lost: list[OSError] = []
    log = ChildLog(folder / "stt.log", lost.append)
    async with log.pipe() as output:
        for line in ("first\n", "second\n"):
            os.write(output, line.encode())
            while not log.tail().endswith(line):  # noqa: ASYNC110 - written by a thread
                await asyncio.sleep(0.01)
        while not lost:  # noqa: ASYNC110 - told by a thread
            await asyncio.sleep(0.01)
        folder.unlink()
        os.write(output, b"third\n")
    async with log.pipe() as output:
        os.write(output, b"fourth\n")
    assert len(lost) == 1
    assert log.path.read_text().endswith("third\nfourth\n")


@pytest.mark.parametrize("for_ever", [False, True])
async def test_a_disk_that_hangs_stops_nothing_else(
    tmp_path: Path, for_ever: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    works, hangs, write_all = threading.Event(), threading.Event(), child_log._write_all

    def slow(file: int, data: bytes) -> None:
        hangs.set()
        works.wait()
        write_all(file, data)

    monkeypatch.setattr(child_log, "_write_all", slow)
    monkeypatch.setattr(child_log, "LAST_WRITES_S", 0.05 if for_ever else 60.0)
    log = ChildLog(tmp_path / "stt.log")
    async with log.pipe() as output:
        os.write(output, b"first\n")
        await asyncio.to_thread(hangs.wait)
        if not for_ever:
            asyncio.get_running_loop().call_later(0.05, works.set)
    assert works.is_set() != for_ever
    works.set()
    async with log.pipe() as output:
        os.write(output, b"second\n")
    for thread in threading.enumerate():
        if thread.name.startswith("log of"):
            await asyncio.to_thread(thread.join)
    assert sorted(log.path.read_text().splitlines()) == ["first", "second"]
    assert log.tail() == "second\n"


async def test_one_that_left_the_childs_session_keeps_nobody_waiting(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "calls.log")
    async with log.pipe() as output:
        stays = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "print('up', flush=True); input()"),
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            start_new_session=True,
        )
        while "up\n" not in log.tail():  # noqa: ASYNC110 - written by a thread
            await asyncio.sleep(0.01)
    assert stays.returncode is None
    await stays.communicate(b"\n")
    assert log.path.read_text() == "up\n"


def test_older_ones_move_up(tmp_path: Path) -> None:
    for name in ("a.log", "a.log.1", "a.log.2", "a.log.3"):
        (tmp_path / name).write_text(name)
    set_aside(tmp_path / "a.log")
    left = {one.name: one.read_text() for one in tmp_path.iterdir()}
    assert left == {"a.log.1": "a.log", "a.log.2": "a.log.1", "a.log.3": "a.log.3"}
