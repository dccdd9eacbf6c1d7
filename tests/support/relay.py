"""A bad network between two UDP peers, the same one each time: every decision comes from a seed."""

import heapq
import random
import select
import socket
import threading
import time
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from media_bridge.errors import RtpError
from media_bridge.rtp import RtpPacket, build, parse, sequence_add, timestamp_add

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Impairment:
    """What one direction of the relay does to RTP packets. The numbers of packets count from 0.

    `loss` and `duplicate` are probabilities. `lost` is a burst: these packets and no others. Every
    `reorder_every`th packet arrives `reorder_by` packets later. `jitter_ms` is the mean of an exponential
    delay or, with `pareto`, of a heavy-tailed one; the packets stay in order, as in a queue. From packet
    `jump_at` on, `new_ssrc`, `sequence_jump` and `timestamp_jump` change the numbers.
    """

    loss: float = 0.0
    lost: range = range(0)
    duplicate: float = 0.0
    reorder_every: int = 0
    reorder_by: int = 0
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    pareto: bool = False
    jump_at: int | None = None
    new_ssrc: int | None = None
    sequence_jump: int = 0
    timestamp_jump: int = 0


class Network:
    """One direction, without sockets and clock: packets go in, packets with the instant they arrive come
    out.
    """

    def __init__(self, impairment: Impairment, seed: int) -> None:
        self._impairment = impairment
        self._random = random.Random(seed)
        self._count = 0
        self._newest = 0.0
        # packets held back, each with how many others still go first
        self._held: list[tuple[int, bytes]] = []

    def carry(self, datagram: bytes, now: float) -> list[tuple[float, bytes]]:
        """What the other side will get because of this datagram, and when."""
        index, self._count = self._count, self._count + 1
        it = self._impairment
        released = [(now, data) for left, data in self._held if left <= 1]
        self._held = [(left - 1, data) for left, data in self._held if left > 1]
        # drawn for every packet, lost or not, so that one fault's setting does not move another's dice
        is_lost = self._random.random() < it.loss or index in it.lost
        is_twice = self._random.random() < it.duplicate
        at = self._newest = max(self._newest, now + self._delay_s())
        if is_lost:
            return released
        datagram = self._renumber(datagram, index)
        if it.reorder_every and index % it.reorder_every == it.reorder_every - 1:
            self._held.append((it.reorder_by, datagram))
            return released
        return [(at, datagram)] * (2 if is_twice else 1) + released

    def _delay_s(self) -> float:
        it = self._impairment
        # the shape 2.5 has a mean of 1.67 and a tail that reaches ten times as far
        extra = (self._random.paretovariate(2.5) - 1) * 1.5 if it.pareto else self._random.expovariate(1)
        return (it.delay_ms + it.jitter_ms * extra) / 1000

    def _renumber(self, datagram: bytes, index: int) -> bytes:
        it = self._impairment
        if it.jump_at is None or index < it.jump_at:
            return datagram
        try:
            packet = parse(datagram)
        except RtpError:
            return datagram
        return build(_renumbered(packet, it))


def _renumbered(packet: RtpPacket, it: Impairment) -> RtpPacket:
    return replace(
        packet,
        ssrc=packet.ssrc if it.new_ssrc is None else it.new_ssrc,
        sequence=sequence_add(packet.sequence, it.sequence_jump),
        timestamp=timestamp_add(packet.timestamp, it.timestamp_jump),
    )


class Relay:
    """Forwards datagrams between two addresses: what comes to `left` leaves from `right`, and the other way
    round.

    So the peer on the left talks to `relay.left` and believes the other one lives there. A context manager
    with its own thread. `to_right` and `to_left` say how each direction is impaired.
    """

    def __init__(
        self,
        to_right: Impairment = Impairment(),
        to_left: Impairment = Impairment(),
        seed: int = 1,
        host: str = "127.0.0.1",
    ) -> None:
        self._socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for sock in self._socks:
            sock.bind((host, 0))
            sock.setblocking(False)
        self._networks = [Network(to_right, seed), Network(to_left, seed + 1)]
        self._ends: list[Address | None] = [None, None]
        self._queue: list[tuple[float, int, int, bytes]] = []
        self._number = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def left(self) -> Address:
        host, port = self._socks[0].getsockname()
        return host, port

    @property
    def right(self) -> Address:
        host, port = self._socks[1].getsockname()
        return host, port

    def join(self, left: Address, right: Address) -> None:
        """Tell the relay where the two peers are."""
        self._ends = [left, right]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        for sock in self._socks:
            sock.close()

    def _run(self) -> None:
        while not self._over.is_set():
            wait_s = 0.02 if not self._queue else min(0.02, max(0.0, self._queue[0][0] - time.monotonic()))
            readable, _, _ = select.select(self._socks, [], [], wait_s)
            for sock in readable:
                self._read(self._socks.index(sock))
            self._deliver(time.monotonic())

    def _read(self, side: int) -> None:
        try:
            datagram = self._socks[side].recv(2048)
        except OSError:
            # nothing there after all, or an ICMP error for something delivered to a closed port
            return
        for at, data in self._networks[side].carry(datagram, time.monotonic()):
            self._number += 1
            heapq.heappush(self._queue, (at, self._number, 1 - side, data))

    def _deliver(self, now: float) -> None:
        while self._queue and self._queue[0][0] <= now:
            _at, _number, side, data = heapq.heappop(self._queue)
            end = self._ends[side]
            if end is not None:
                self._socks[side].sendto(data, end)
