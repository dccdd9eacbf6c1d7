"""What systemd is told: over the real socket that it would have made."""

import asyncio
import logging
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from voicebot.service_manager import told_of_stopping, will_stop_within


@pytest.fixture(params=["path", "abstract"])
def manager(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """The far end of NOTIFY_SOCKET, in both forms that systemd uses."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(path if request.param == "path" else f"\0{path}")
        listening.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", path if request.param == "path" else f"@{path}")
        yield listening


def test_it_is_told_how_long_the_end_may_take(manager: socket.socket) -> None:
    will_stop_within(80.5)
    assert manager.recv(4096) == b"STOPPING=1\nEXTEND_TIMEOUT_USEC=80500000"


async def test_it_is_told_when_the_signal_has_come_and_once(manager: socket.socket) -> None:
    stop = asyncio.Event()
    async with told_of_stopping(stop, 20):
        await asyncio.sleep(0)
        with pytest.raises(BlockingIOError):
            manager.recv(4096)
        stop.set()
        await asyncio.sleep(0)
        assert manager.recv(4096).startswith(b"STOPPING=1\n")
    with pytest.raises(BlockingIOError):
        manager.recv(4096)


def test_without_one_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    will_stop_within(1)
    assert not caplog.records


def test_one_that_is_gone_stops_no_drain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    caplog.set_level(logging.WARNING)
    will_stop_within(1)
    assert "could not be told" in caplog.text


def test_without_a_file_descriptor_either(manager: socket.socket, caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        will_stop_within(1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "could not be told that calls are finishing: Too many open files" in caplog.text
