"""The file with what was said: its owner's alone, and whole lines on a disk that is full (fault A14, S4)."""

import asyncio
import errno
import json
import os
import threading
from pathlib import Path

import pytest

from stasis_app import disk_thread
from stasis_app.conversation import Saying
from stasis_app.metrics import TurnTimes
from stasis_app.transcript import MAX_WAITING, Transcript
from stasis_app.turn import Turn
from tests.support.full_disk import files_no_longer_than


def a_turn(number: int) -> Turn:
    return Turn(number, Saying.GREETING, times=TurnTimes())


def write_three(transcript: Transcript) -> None:
    for number in range(3):
        transcript.write("c1", a_turn(number), "Good day to you. " * 8, cut=False)


@pytest.mark.parametrize("there", [False, True])
async def test_nobody_else_can_read_it(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "said.jsonl"
    if there:
        path.touch(mode=0o644)
    with Transcript(path) as transcript:
        write_three(transcript)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize("limit", [1, 250, 251, 399])
async def test_a_full_disk_ends_it_after_a_whole_line(
    tmp_path: Path, limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "said.jsonl"
    with files_no_longer_than(limit), Transcript(path) as transcript:
        write_three(transcript)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["turn"] for line in lines] == list(range(len(lines)))
    assert len(lines) < 3
    assert len(caplog.messages) == 1
    assert "said.jsonl ends here" in caplog.messages[0]
    assert "Good day" not in caplog.text


async def test_a_device_that_takes_nothing_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with Transcript(Path("/dev/full")) as transcript:
        write_three(transcript)
    assert caplog.messages == ["the transcript /dev/full ends here: No space left on device"]


async def test_a_slow_disk_delays_nobody_and_what_it_cannot_take_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk stands still, then works again: the lines that found room are there, whole and in order."""
    works = threading.Event()
    size_of = os.fstat

    def slow(descriptor: int) -> os.stat_result:
        works.wait()
        return size_of(descriptor)

    monkeypatch.setattr(os, "fstat", slow)
    path, lost = tmp_path / "said.jsonl", []
    works.set()
    with Transcript(path, lambda: lost.append(1)) as transcript:
        works.clear()
        for number in range(MAX_WAITING + 3):
            transcript.write("c1", a_turn(number), "Good day.", cut=False)
        assert len(lost) == 3
        assert path.read_text() == ""
        works.set()
        while len(path.read_text().splitlines()) < MAX_WAITING:  # noqa: ASYNC110 - written by a thread
            await asyncio.sleep(0.01)
        # what the thread has done comes to the loop, and from there to whoever counts what waits
        for _ in range(5):
            await asyncio.sleep(0)
        transcript.write("c1", a_turn(999), "Good day.", cut=False)
    turns = [json.loads(line)["turn"] for line in path.read_text().splitlines()]
    assert turns == [*range(MAX_WAITING), 999]
    assert len(lost) == 3
    assert caplog.messages == [f"the transcript {path} has holes: the disk does not keep up"]


async def test_every_line_behind_a_full_disk_counts_as_lost() -> None:
    lost: list[int] = []
    with Transcript(Path("/dev/full"), lambda: lost.append(1)) as transcript:
        write_three(transcript)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(lost) == 3


async def test_a_disk_that_hangs_is_not_waited_for_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    works, hangs = threading.Event(), threading.Event()
    lost: list[int] = []
    append = Transcript._append

    def slow(self: Transcript, text: bytes) -> bool:
        hangs.set()
        works.wait()
        return append(self, text)

    monkeypatch.setattr(Transcript, "_append", slow)
    monkeypatch.setattr(disk_thread.ended, "__defaults__", (0.05,))
    try:
        with Transcript(tmp_path / "said.jsonl", lambda: lost.append(1)) as transcript:
            write_three(transcript)
            hangs.wait()
        assert caplog.messages == [f"the transcript {tmp_path / 'said.jsonl'} ends early: the disk hangs"]
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(lost) == 2, "the first one may still be written"
    finally:
        works.set()
        transcript._writer.shutdown()
        transcript._close()


async def test_what_another_process_wrote_meanwhile_is_not_cut_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several call processes may share one file."""
    path = tmp_path / "said.jsonl"
    size_of, others = os.fstat, [b"another line\n"]
    with files_no_longer_than(100), Transcript(path) as transcript:

        def and_another_writes(descriptor: int) -> os.stat_result:
            size = size_of(descriptor)
            if others:
                with path.open("ab") as file:
                    file.write(others.pop())
            return size

        monkeypatch.setattr(os, "fstat", and_another_writes)
        write_three(transcript)
    assert path.read_text().startswith("another line\n")


async def test_a_file_that_is_taken_away_ends_it_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As a stale handle of NFS does: each call on the file fails, fstat and close too."""
    lost: list[int] = []
    path = tmp_path / "said.jsonl"
    with Transcript(path, lambda: lost.append(1)) as transcript:
        assert transcript._file is not None
        os.close(transcript._file.fileno())
        write_three(transcript)
    for _ in range(5):
        await asyncio.sleep(0)
    assert caplog.messages == [f"the transcript {path} ends here: {os.strerror(errno.EBADF)}"]
    assert len(lost) == 3
