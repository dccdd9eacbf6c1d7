"""The callers of the benchmarks' peers against a bot that says back what it hears, over real sockets."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.peers.framing import FRAME_BYTES, MEDIA, audiosocket_greeting
from benchmarks.peers.stream_callers import StreamCallers

HEAD = 3
CALLS = 3


@contextmanager
def bot(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """A server with a thread for each of its calls; its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threads: list[threading.Thread] = []

        def accept() -> None:
            for _ in range(CALLS):
                connection, _ = server.accept()
                threads.append(threading.Thread(target=run, args=(connection,)))
                threads[-1].start()

        def run(connection: socket.socket) -> None:
            with connection:
                serve(connection)

        accepting = threading.Thread(target=accept)
        accepting.start()
        yield server.getsockname()
        accepting.join()
        for thread in threads:
            thread.join()


def whole(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length and (more := connection.recv(length - len(data))):
        data += more
    return data


def echo(connection: socket.socket) -> None:
    number = int.from_bytes(whole(connection, len(audiosocket_greeting(0)))[HEAD:], "big")
    assert 1 <= number <= CALLS
    while len(message := whole(connection, HEAD + FRAME_BYTES)) == HEAD + FRAME_BYTES:
        connection.sendall(message)


def hang_up(connection: socket.socket) -> None:
    whole(connection, len(audiosocket_greeting(0)))


def talk(address: tuple[str, int], seconds: float, until: dict[str, int]) -> dict[str, object]:
    """The figures once these are there; the bot may be slow."""
    callers = StreamCallers(MEDIA["audiosocket"], CALLS)
    callers.call([address] * CALLS)
    callers.talk(seconds)
    patience = time.monotonic() + 20
    while not until.items() <= callers.figures(0.0, gaps_too=True).items() and time.monotonic() < patience:
        callers.read_until(time.monotonic() + 0.05)
    callers.finish()
    return callers.figures(0.0, gaps_too=True)


def test_all_that_the_bot_says_is_counted() -> None:
    with bot(echo) as address:
        found = talk(address, seconds=0.6, until={"received": 30 * CALLS})
    assert (found["received"], found["spoken"]) == (30 * CALLS, 30 * CALLS)
    assert (found["broken"], found["mute"], found["refused"]) == (0, 0, 0)


def test_a_bot_that_hangs_up_is_a_broken_call() -> None:
    with bot(hang_up) as address:
        found = talk(address, seconds=0.2, until={"broken": CALLS})
    assert (found["broken"], found["mute"], found["received"]) == (CALLS, CALLS, 0)
