"""The files in which llama.cpp's server keeps what talks begin with, where they cannot be written or removed."""

import http.server
import json
import logging
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpu_workers.llm.warm import SlotStates
from gpu_workers.settings import TalkMessage

TALK = (TalkMessage(role="system", content="Be brief."),)


@contextmanager
def server(answer: Callable[[str], int]) -> Iterator[str]:
    """Stands for llama.cpp's: `answer` gives the status for a path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(answer(self.path))
            self.end_headers()
            self.wfile.write(json.dumps({}).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def states(folder: Path, model: Path) -> SlotStates:
    model.touch()
    return SlotStates(folder, model, "layout")


def state_in(folder: Path, found: SlotStates) -> Path:
    return folder / found._name(TALK)


def test_a_folder_that_cannot_be_made_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    asked: list[str] = []

    def answer(path: str) -> int:
        asked.append(path)
        return 500 if "save" in path else 200

    with caplog.at_level(logging.WARNING), server(answer) as url:
        found = states(tmp_path / "file" / "states", tmp_path / "m.gguf")
        found.prepare(url, [TALK], None)
        found.restore(url, [TALK], 2, None)
    assert asked == ["/v1/chat/completions", "/slots/0?action=save"]
    assert "states cannot be made: Not a directory; what talks begin with is read anew" in caplog.text


@pytest.mark.parametrize("was", [None, 0o755, 0o777])
def test_nobody_else_reads_what_talks_begin_with(tmp_path: Path, was: int | None) -> None:
    folder = tmp_path / "cache" / "states"
    if was is not None:
        folder.mkdir(parents=True)
        folder.chmod(was)
        (folder / "old.state").touch()
    states(folder, tmp_path / "m.gguf")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / "old.state").exists() == (was is not None)


def test_a_state_that_cannot_be_removed_is_left(tmp_path: Path) -> None:
    """A folder in its place: that is not removed by `unlink` whoever asks, not even root."""
    folder = tmp_path / "states"
    found = states(folder, tmp_path / "m.gguf")
    state = state_in(folder, found)
    state.mkdir()
    with server(lambda _: 400) as url:
        found.restore(url, [TALK], 1, None)
    os.utime(state, (0, 0))
    states(folder, tmp_path / "m.gguf")
    assert state.is_dir()


def test_a_state_whose_age_cannot_be_noted_is_used_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "states"
    found = states(folder, tmp_path / "m.gguf")
    state_in(folder, found).touch()
    asked: list[str] = []

    def answer(path: str) -> int:
        asked.append(path)
        shutil.rmtree(folder)
        return 200

    with server(answer) as url:
        found.restore(url, [TALK], 1, None)
    assert asked == ["/slots/0?action=restore"]
