"""A worker's port, held open by strangers who ask nothing or take their time."""

import asyncio
import resource
import socket
from collections.abc import AsyncIterator

import pytest

from gpu_workers import door
from tests.support.worker_app import Worker, a_ready_worker, eventually

MOST = 20
ASKS = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture
async def worker(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Worker]:
    monkeypatch.setattr(door, "most_connections", lambda: MOST)
    async with a_ready_worker() as running:
        yield running


class Stranger:
    """A connection that has sent `first`, and is read to its end."""

    def __init__(self, worker: Worker, first: bytes) -> None:
        host, _, port = worker.url.removeprefix("http://").partition(":")
        self._sock = socket.create_connection((host, int(port)))
        self._sock.setblocking(False)
        self._sock.sendall(first)

    async def send(self, more: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._sock, more)

    async def read(self) -> bytes:
        """b"" once the worker has closed it."""
        try:
            return await asyncio.get_running_loop().sock_recv(self._sock, 1 << 16)
        except ConnectionError:
            return b""

    def close(self) -> None:
        self._sock.close()


@pytest.mark.parametrize("first", [b"", b"POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nX-Slow: "])
async def test_who_holds_all_connections_open_keeps_nobody_out(worker: Worker, first: bytes) -> None:
    strangers = [Stranger(worker, first) for _ in range(2 * MOST)]
    for _ in range(3):
        status, _sound, _headers = await worker.speech(input="Good morning.")
        assert status == 200
    # the oldest made room
    assert await strangers[0].read() == b""
    for stranger in strangers:
        stranger.close()


async def test_a_request_that_is_being_answered_gives_its_place_to_nobody(worker: Worker) -> None:
    while worker.voice.may_begin.acquire(blocking=False):
        pass
    worker.voice.may_begin.release()
    asked = asyncio.create_task(worker.speech(input="One. Two"))
    await eventually(lambda: worker.voice.made == 1)
    strangers = [Stranger(worker, b"") for _ in range(2 * MOST)]
    assert await strangers[0].read() == b""
    worker.voice.may_begin.release()
    status, _sound, _headers = await asked
    assert (status, worker.voice.made) == (200, 2)
    for stranger in strangers:
        stranger.close()


@pytest.mark.parametrize("first", [b"", b"GET /health HTT", ASKS])
async def test_a_head_has_its_time(worker: Worker, first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the second one of a connection, and also when it comes byte by byte."""
    monkeypatch.setattr(door, "REQUEST_S", 0.3)
    stranger = Stranger(worker, first)
    if first == ASKS:
        assert (await stranger.read()).startswith(b"HTTP/1.1 200")
        await stranger.send(b"GET /hea")

    async def dribble() -> None:
        while True:
            await asyncio.sleep(0.05)
            await stranger.send(b"a")

    slowly = asyncio.create_task(dribble()) if first else None
    async with asyncio.timeout(5):
        assert await stranger.read() == b""
    if slowly:
        slowly.cancel()
        await asyncio.gather(slowly, return_exceptions=True)
    stranger.close()


@pytest.mark.parametrize(
    ("soft", "most"), [(1024, 512), (20, 16), (1_000_000, 2048), (resource.RLIM_INFINITY, 2048)]
)
def test_half_of_the_descriptors_are_for_connections(
    soft: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    assert door.most_connections() == most
