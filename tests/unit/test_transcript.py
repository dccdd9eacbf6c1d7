"""The file with what was said: its owner's alone, and whole lines on a disk that is full (fault A14, S4)."""

import json
from pathlib import Path

import pytest

from stasis_app.conversation import Saying
from stasis_app.metrics import TurnTimes
from stasis_app.transcript import Transcript
from stasis_app.turn import Turn
from tests.support.full_disk import files_no_longer_than


def a_turn(number: int) -> Turn:
    return Turn(number, Saying.GREETING, times=TurnTimes())


def write_three(transcript: Transcript) -> None:
    for number in range(3):
        transcript.write("c1", a_turn(number), "Good day to you. " * 8, cut=False)


@pytest.mark.parametrize("there", [False, True])
def test_nobody_else_can_read_it(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "said.jsonl"
    if there:
        path.touch(mode=0o644)
    with Transcript(path) as transcript:
        write_three(transcript)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize("limit", [1, 250, 251, 399])
def test_a_full_disk_ends_it_after_a_whole_line(
    tmp_path: Path, limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "said.jsonl"
    with Transcript(path) as transcript, files_no_longer_than(limit):
        write_three(transcript)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["turn"] for line in lines] == list(range(len(lines)))
    assert len(lines) < 3
    assert len(caplog.messages) == 1
    assert "said.jsonl ends here" in caplog.messages[0]
    assert "Good day" not in caplog.text


def test_a_device_that_takes_nothing_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with Transcript(Path("/dev/full")) as transcript:
        write_three(transcript)
    assert caplog.messages == ["the transcript /dev/full ends here: No space left on device"]
