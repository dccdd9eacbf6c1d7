"""The callers of `benchmarks.media_load.callers`, over AudioSocket or chan_websocket for peers that speak no RTP.

    python -m benchmarks.peers.stream_callers audiosocket|websocket

The same lines of JSON, the same conversation from the same places, 20 ms of 8 kHz a message at the same times; the
part of Asterisk is played here. `listening` holds no real addresses: on `{"call": [...]}`, before `send_to`, the
callers connect and write `called`. Differences in `sent`:

* `gap_ms` is of the times between two arrivals within a sentence (a silence of the bot is no packets), and None over
  websocket, where the bot sends ahead of time in pieces of any length;
* `missing` is None (TCP), `received` and `spoken` are in units of 20 ms, `mute` counts calls that said nothing;
* `broken` counts calls that the bot ended or garbled.
"""

import json
import select
import socket
import sys
import time
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.media_load.callers import PTIME_S, SLOTS
from benchmarks.media_load.talk import conversation
from benchmarks.peers.framing import FRAME_BYTES, MEDIA, FramingError, Medium, check_upgrade

_CONNECT_S = 60.0
# a silence between two sentences of the bot is longer, a gap that a caller would call a gap is shorter
_SILENCE_S = 1.0
_SILENCE = bytes(FRAME_BYTES)


@dataclass(slots=True)
class _Stream:
    sock: socket.socket
    position: int
    unsent: bytes = b""
    unread: bytes = b""
    arrivals: "array[float]" = field(default_factory=lambda: array("d"))
    received: int = 0
    spoken: int = 0
    broken: bool = False


class StreamCallers:
    """`count` calls to a peer on loopback; each begins elsewhere in the same conversation."""

    def __init__(self, medium: Medium, count: int) -> None:
        pcm = conversation().astype("<i2").tobytes()
        self._medium = medium
        self._messages = [medium.pack(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm), FRAME_BYTES)]
        self._starts = [index * len(self._messages) // count for index in range(count)]
        self._streams: list[_Stream] = []
        self._by_fd: dict[int, _Stream] = {}
        self._poll = select.epoll()
        self.refused = 0

    def call(self, addresses: list[tuple[str, int]]) -> None:
        """Connect them all, one after the other."""
        for number, ((host, port), start) in enumerate(zip(addresses, self._starts, strict=True)):
            sock = socket.create_connection((host, port), _CONNECT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._medium.upgrade:
                sock.sendall(self._medium.upgrade(number, f"{host}:{port}"))
                check_upgrade(_http_answer(sock))
            sock.sendall(self._medium.greeting(number))
            sock.setblocking(False)
            stream = _Stream(sock, start)
            self._streams.append(stream)
            self._by_fd[sock.fileno()] = stream
            self._poll.register(sock, select.EPOLLIN)

    def talk(self, seconds: float) -> "array[float]":
        """Send on all streams, read what comes as it comes; how late each slot was, in seconds."""
        lateness = array("d")
        slots = [self._streams[slot::SLOTS] for slot in range(SLOTS)]
        begin = time.monotonic() + 0.05
        for tick in range(round(seconds / PTIME_S)):
            for slot, streams in enumerate(slots):
                if not streams:
                    continue
                due = begin + tick * PTIME_S + slot * PTIME_S / SLOTS
                self.read_until(due)
                for stream in streams:
                    self._send(stream)
                lateness.append(time.monotonic() - due)
        return lateness

    def read_until(self, due: float) -> None:
        while True:
            wait = due - time.monotonic()
            for fd, _events in self._poll.poll(max(0.0, wait)):
                self._read(self._by_fd[fd])
            if wait <= 0:
                return

    def finish(self) -> None:
        for stream in self._streams:
            stream.sock.close()
        self._poll.close()

    def figures(self, since: float, gaps_too: bool) -> dict[str, object]:
        """Of what arrived at `since` (seconds of the epoch) or later, in the form of `sent`."""
        gaps = [np.zeros(0)]
        mute = 0
        for stream in self._streams:
            stamps = np.frombuffer(stream.arrivals, np.float64)
            stamps = stamps[stamps >= since]
            mute += not stream.spoken
            steps = np.diff(stamps)
            gaps.append(steps[steps < _SILENCE_S])
        return {
            "refused": self.refused,
            "gap_ms": _ms(np.concatenate(gaps)) if gaps_too else None,
            "missing": None,
            "received": sum(stream.received for stream in self._streams),
            "spoken": sum(stream.spoken for stream in self._streams),
            "mute": mute,
            "broken": sum(stream.broken for stream in self._streams),
        }

    def _send(self, stream: _Stream) -> None:
        message = stream.unsent + self._messages[stream.position]
        stream.position = (stream.position + 1) % len(self._messages)
        if stream.broken:
            return
        try:
            stream.unsent = message[stream.sock.send(message) :]
        except BlockingIOError:
            # the bot does not read: as on a full queue in Asterisk, this one is lost
            self.refused += 1
        except OSError:
            self._break(stream)

    def _read(self, stream: _Stream) -> None:
        now = time.time()
        try:
            data = stream.sock.recv(2**18)
            unpacked = self._medium.unpack(stream.unread + data)
        except (OSError, FramingError):
            self._break(stream)
            return
        if not data:
            # the bot hung up
            self._break(stream)
        stream.unread = (stream.unread + data)[unpacked.used :]
        stream.unsent += unpacked.answer
        for sound in unpacked.sound:
            stream.arrivals.append(now)
            for at in range(0, len(sound), FRAME_BYTES):
                stream.received += 1
                stream.spoken += not _SILENCE.startswith(sound[at : at + FRAME_BYTES])

    def _break(self, stream: _Stream) -> None:
        if not stream.broken:
            stream.broken = True
            self._poll.unregister(stream.sock)


def _http_answer(sock: socket.socket) -> bytes:
    """The head of the answer, byte by byte, so that nothing behind it is taken."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = sock.recv(1)
        if not byte:
            raise FramingError("the bot hung up before the websocket was open")
        head += byte
    return head


def _ms(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> dict[str, float]:
    if not len(values):
        return {"p50": 0.0, "p99": 0.0, "max": 0.0}
    p50, p99, most = np.percentile(values, [50, 99, 100]) * 1000
    return {"p50": round(p50, 2), "p99": round(p99, 2), "max": round(most, 2)}


def _say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


def _hear() -> dict[str, Any]:
    return dict(json.loads(sys.stdin.readline()))


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in MEDIA:
        raise SystemExit(f"usage: python -m benchmarks.peers.stream_callers {'|'.join(MEDIA)}")
    name = sys.argv[1]
    _say({"ready": True})
    callers = StreamCallers(MEDIA[name], count := _hear()["streams"])
    _say({"listening": [("127.0.0.1", 0)] * count})
    callers.call(_hear()["call"])
    _say({"called": count})
    order = _hear()
    since = time.time() + order["skip"]
    lateness = callers.talk(order["seconds"])
    callers.read_until(time.monotonic() + 0.1)
    callers.finish()
    _say(
        {
            "sent": round(order["seconds"] / PTIME_S) * count,
            "late_ms": _ms(np.frombuffer(lateness, np.float64)),
            **callers.figures(since, gaps_too=name == "audiosocket"),
        }
    )


if __name__ == "__main__":
    main()
