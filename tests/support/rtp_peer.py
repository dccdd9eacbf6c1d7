"""A UDP peer that plays Asterisk's side of one call: sends a packet each 20 ms and records what comes.

It runs in its own threads, so that a test may stall the event loop of the bot and still see, by the peer's
clock, when packets left.
"""

import asyncio
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from media_bridge.g711 import CODECS
from media_bridge.rtp import RtpPacket, build, parse, sequence_add, timestamp_add
from media_bridge.settings import Codec

PTIME_S = 0.020
FRAME_SAMPLES = 160
FRAME_BYTES = 2 * FRAME_SAMPLES
SO_TIMESTAMPNS = 35

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Received:
    """One packet and the time.monotonic() of its arrival, by the kernel's stamp."""

    at: float
    packet: RtpPacket


class RtpPeer:
    """A context manager. `address` is where it listens and sends from."""

    def __init__(self, codec: Codec = "ulaw", host: str = "127.0.0.1", seed: int = 1) -> None:
        numbers = random.Random(seed)
        self._codec = CODECS[codec]
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.bind((host, 0))
        # a test in virtual time sends minutes of packets at once
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._sock.settimeout(0.05)
        self.sequence = numbers.getrandbits(16)
        self.timestamp = numbers.getrandbits(32)
        self.ssrc = numbers.getrandbits(32)
        self.received: list[Received] = []
        self._to: Address | None = None
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._listen, daemon=True)]

    @property
    def address(self) -> Address:
        host, port = self._sock.getsockname()
        return host, port

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._sock.close()

    def talk_to(self, address: Address) -> None:
        """Where packets go from now on."""
        self._to = address

    def send(self, datagram: bytes) -> None:
        """Send these very bytes."""
        assert self._to is not None
        self._sock.sendto(datagram, self._to)

    def next_frame(self, pcm: bytes) -> bytes:
        """The datagram of these samples, numbered after the last one."""
        payload = self._codec.encode(pcm)
        packet = RtpPacket(self._codec.payload_type, self.sequence, self.timestamp, self.ssrc, payload)
        self.sequence = sequence_add(self.sequence, 1)
        self.timestamp = timestamp_add(self.timestamp, len(pcm) // 2)
        return build(packet)

    def play(self, pcm: bytes) -> threading.Event:
        """Send pcm (8 kHz), a packet each 20 ms, beginning now; the event is set when the last one has
        left.
        """
        done = threading.Event()
        thread = threading.Thread(target=self._play, args=(pcm, done), daemon=True)
        self._threads.append(thread)
        thread.start()
        return done

    def packets(self) -> list[RtpPacket]:
        """What came so far, in the order of arrival."""
        return [received.packet for received in list(self.received)]

    def heard(self) -> bytes:
        """What came so far as pcm, in the order of arrival."""
        return b"".join(self._codec.decode(packet.payload) for packet in self.packets())

    def _play(self, pcm: bytes, done: threading.Event) -> None:
        start = time.monotonic()
        for index, offset in enumerate(range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES)):
            if self._over.wait(max(0.0, start + index * PTIME_S - time.monotonic())):
                break
            self.send(self.next_frame(pcm[offset : offset + FRAME_BYTES]))
        done.set()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                data, ((_level, _kind, stamp),), _flags, _source = self._sock.recvmsg(2048, 64)
            except (TimeoutError, ConnectionError):
                continue
            seconds, nanoseconds = struct.unpack("@qq", stamp)
            age = time.time() - seconds - nanoseconds * 1e-9
            self.received.append(Received(time.monotonic() - age, parse(data)))


async def until(condition: Callable[[], object], timeout_s: float = 10.0) -> None:
    """Wait for something another thread does. Fails after `timeout_s`."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - the other side is a thread and knows no asyncio
            await asyncio.sleep(0.005)
