"""What `voicebot up` does to the files in the directory of its logs."""

import json
from pathlib import Path

from voicebot.config import parse
from voicebot.up import set_old_logs_aside


def test_only_the_logs_of_our_own_parts_are_set_aside(tmp_path: Path) -> None:
    config = parse(
        json.dumps({"log": {"directory": str(tmp_path)}, "calls": {"processes": 2}}), "test.yaml", {}
    )
    ours = {f"{name}.log" for name in ("stt", "llm", "tts", "calls", "calls-2")}
    theirs = {"kern.log", "kern.log.1", "calls-recorded.log", "call.log"}
    for _ in range(3):
        for name in ours | theirs:
            (tmp_path / name).write_text(name)
        set_old_logs_aside(config)
    left = {one.name for one in tmp_path.iterdir()}
    assert left == theirs | {f"{name}.{number}" for name in ours for number in (1, 2)}
    assert all((tmp_path / name).read_text() == name for name in theirs)


def test_what_is_kept_stays_while_a_part_writes_no_log(tmp_path: Path) -> None:
    config = parse(json.dumps({"log": {"directory": str(tmp_path / "new")}}), "test.yaml", {})
    set_old_logs_aside(config)
    (tmp_path / "new" / "llm.log.1").write_text("of the run before")
    set_old_logs_aside(config)
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["llm.log.1"]
