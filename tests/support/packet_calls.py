"""Calls of which every packet's instant counts: what the bot's sockets sent when, and phones that cost it nothing."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.media_load.talk import FRAME_SAMPLES, conversation
from media_bridge import transport_rtp
from media_bridge.g711 import pcm_to_ulaw
from media_bridge.rtp import RtpPacket, build, parse
from media_bridge.transport import RtpAddress
from media_bridge.udp import RtpSocket

TICK_S = 0.020


class NotedSocket(RtpSocket):
    """Notes when it sends. `opened`: all of them since `noted`."""

    opened: "list[NotedSocket]"

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.connected_at = 0.0
        self.sent_at: list[float] = []
        self.opened.append(self)

    def set_peer(self, host: str, port: int) -> None:
        super().set_peer(host, port)
        self.connected_at = asyncio.get_running_loop().time()

    def send(self, payload: bytes, samples: int, *, left_out: int = 0, marker: bool = False) -> None:
        super().send(payload, samples, left_out=left_out, marker=marker)
        if self.peer is not None:
            self.sent_at.append(asyncio.get_running_loop().time())


class Phone:
    """The caller's end of one call: talks, and keeps what it hears."""

    def __init__(self, payloads: list[bytes], first: int) -> None:
        self.packets: list[RtpPacket] = []
        self._payloads = payloads
        self._sent = 0
        self._first = first
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.bind(("127.0.0.1", 0))
        self._sock.setblocking(False)

    @property
    def address(self) -> RtpAddress:
        return RtpAddress(*self._sock.getsockname())

    def talk_to(self, host: str, port: int) -> None:
        self._sock.connect((host, port))

    def tick(self, *, silent: bool = False) -> None:
        """20 ms of its time; a silent one only listens."""
        if not silent:
            payload = self._payloads[(self._first + self._sent) % len(self._payloads)]
            self.send(build(RtpPacket(0, self._sent, self._sent * FRAME_SAMPLES, 7, payload)))
            self._sent += 1
        self.read()

    def send(self, datagram: bytes) -> None:
        """These very bytes."""
        self._sock.send(datagram)

    def read(self) -> None:
        while True:
            try:
                self.packets.append(parse(self._sock.recv(2048)))
            except BlockingIOError:
                return

    def close(self) -> None:
        self._sock.close()


@contextmanager
def phones(count: int) -> Iterator[list[Phone]]:
    """Each begins elsewhere in the same conversation."""
    ulaw = pcm_to_ulaw(conversation().tobytes())
    payloads = [ulaw[at : at + FRAME_SAMPLES] for at in range(0, len(ulaw), FRAME_SAMPLES)]
    made = [Phone(payloads, number * len(payloads) // count) for number in range(count)]
    try:
        yield made
    finally:
        for phone in made:
            phone.close()


def noted(patch: pytest.MonkeyPatch) -> list[NotedSocket]:
    """The sockets of the calls to come, in the order of their beginnings."""
    NotedSocket.opened = []
    patch.setattr(transport_rtp, "RtpSocket", NotedSocket)
    return NotedSocket.opened
