"""A bad network between two UDP peers, the same one each time: every decision comes from a seed."""

import heapq
import random
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal, Self

from media_bridge.errors import RtpError
from media_bridge.rtp import RtpPacket, build, parse, sequence_add, timestamp_add

Address = tuple[str, int]
Rewrite = Callable[[bytes], list[bytes]]
"""What a datagram becomes on its way: any number of others. It may keep a state."""

# far more packets than any call has
ALWAYS = range(2**62)


@dataclass(frozen=True, slots=True)
class Impairment:
    """What one direction of the relay does to RTP packets. The numbers of packets count from 0.

    `loss` and `duplicate` are probabilities. `lost` is a burst: these packets and no others. Every
    `reorder_every`th packet arrives `reorder_by` packets later. `jitter_ms` is the mean of an extra delay
    of the given shape; the packets stay in order, as in a queue. `during` are the packets that chance may
    befall: loss, duplicates, order, jitter. From packet `jump_at` on, `new_ssrc`, `sequence_jump` and
    `timestamp_jump` change the numbers. `rewrite` comes before all that.
    """

    loss: float = 0.0
    lost: range = range(0)
    duplicate: float = 0.0
    reorder_every: int = 0
    reorder_by: int = 0
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    shape: Literal["exponential", "normal", "pareto"] = "exponential"
    during: range = ALWAYS
    jump_at: int | None = None
    new_ssrc: int | None = None
    sequence_jump: int = 0
    timestamp_jump: int = 0
    rewrite: Rewrite | None = None


def _is_rtcp(datagram: bytes) -> bool:
    """By its second byte (RFC 5761 section 4)."""
    return len(datagram) > 1 and datagram[1] in range(192, 224)


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
        rewrite = self._impairment.rewrite
        arriving: list[tuple[float, bytes]] = []
        # Asterisk sends its reports to the same port
        for each in [datagram] if rewrite is None or _is_rtcp(datagram) else rewrite(datagram):
            arriving += self._carry(each, now)
        return arriving

    def _carry(self, datagram: bytes, now: float) -> list[tuple[float, bytes]]:
        index, self._count = self._count, self._count + 1
        it = self._impairment
        exposed = index in it.during
        released = [(now, data) for left, data in self._held if left <= 1]
        self._held = [(left - 1, data) for left, data in self._held if left > 1]
        # drawn for every packet, lost or not, so that one fault's setting does not move another's dice
        is_lost = (self._random.random() < it.loss and exposed) or index in it.lost
        is_twice = self._random.random() < it.duplicate and exposed
        extra_ms = self._extra_ms() if exposed else 0.0
        at = self._newest = max(self._newest, now + (it.delay_ms + extra_ms) / 1000)
        if is_lost:
            return released
        datagram = self._renumber(datagram, index)
        if exposed and it.reorder_every and index % it.reorder_every == it.reorder_every - 1:
            self._held.append((it.reorder_by, datagram))
            return released
        return [(at, datagram)] * (2 if is_twice else 1) + released

    def _extra_ms(self) -> float:
        it = self._impairment
        match it.shape:
            case "normal":
                # three deviations either way reach from nothing to twice the mean
                return it.jitter_ms * min(2.0, max(0.0, self._random.gauss(1, 1 / 3)))
            case "pareto":
                # the shape 2.5 has a mean of 1.67; its tail is cut at ten times the mean, or one packet in
                # thousands would be an outage of its own
                return it.jitter_ms * min(10.0, (self._random.paretovariate(2.5) - 1) * 1.5)
            case "exponential":
                return it.jitter_ms * self._random.expovariate(1)

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
    round. So the peer on the left talks to `relay.left` and believes the other one lives there.

    Made by `Relays.open`.
    """

    def __init__(self, to_right: Impairment, to_left: Impairment, seed: int, host: str) -> None:
        self._addresses: list[Address] = [(host, 0), (host, 0)]
        self.socks = [self._bound(side) for side in range(2)]
        self._networks = [Network(to_right, seed), Network(to_left, seed + 1)]
        self._ends: list[Address | None] = [None, None]
        self.latest: list[bytes] = [b"", b""]
        """The newest datagram from the left and from the right, as it came."""

    @property
    def left(self) -> Address:
        return self._addresses[0]

    @property
    def right(self) -> Address:
        return self._addresses[1]

    def bind(self, side: int) -> None:
        """Open the port of that side again."""
        self.socks[side] = self._bound(side)

    def join(self, left: Address, right: Address) -> None:
        """Tell the relay where the two peers are."""
        self._ends = [left, right]

    def read(self, side: int) -> list[tuple[float, int, bytes]]:
        """Take what waits on that side: (instant, side it leaves from, datagram)."""
        try:
            datagram = self.socks[side].recv(2048)
        except OSError:
            # nothing there after all, or an ICMP error for something delivered to a closed port
            return []
        self.latest[side] = datagram
        arriving = self._networks[side].carry(datagram, time.monotonic())
        return [(at, 1 - side, data) for at, data in arriving]

    def _bound(self, side: int) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(self._addresses[side])
        sock.setblocking(False)
        host, port = sock.getsockname()
        self._addresses[side] = host, port
        return sock

    def deliver(self, side: int, datagram: bytes) -> None:
        end = self._ends[side]
        if end is not None:
            try:
                self.socks[side].sendto(datagram, end)
            except OSError:
                # the peer is away: what is sent to it is lost
                return


class Relays:
    """Any number of relays on one thread, as a context manager; its end closes them all."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._relays: list[Relay] = []
        self._queue: list[tuple[float, int, Relay, int, bytes]] = []
        self._number = 0
        self._thread = threading.Thread(target=self._run, name="relays", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waker.send(b"x")
        self._thread.join()
        self._selector.close()
        for sock in [self._waker, self._woken, *(sock for relay in self._relays for sock in relay.socks)]:
            sock.close()

    def open(
        self,
        to_right: Impairment = Impairment(),
        to_left: Impairment = Impairment(),
        seed: int = 1,
        host: str = "127.0.0.1",
    ) -> Relay:
        """`to_right` and `to_left` say how each direction is impaired."""
        relay = Relay(to_right, to_left, seed, host)
        self._relays.append(relay)
        for side, sock in enumerate(relay.socks):
            self._selector.register(sock, selectors.EVENT_READ, (relay, side))
        return relay

    def close(self, relay: Relay, side: int) -> None:
        """From now on what is sent to that side meets a closed port."""
        self._selector.unregister(relay.socks[side])
        relay.socks[side].close()

    def reopen(self, relay: Relay, side: int) -> None:
        """The same port is open again."""
        relay.bind(side)
        self._selector.register(relay.socks[side], selectors.EVENT_READ, (relay, side))

    def _run(self) -> None:
        while True:
            wait_s = max(0.0, self._queue[0][0] - time.monotonic()) if self._queue else None
            for key, _ in self._selector.select(wait_s):
                if key.data is None:
                    return
                relay, side = key.data
                for at, out, data in relay.read(side):
                    self._number += 1
                    heapq.heappush(self._queue, (at, self._number, relay, out, data))
            self._deliver(time.monotonic())

    def _deliver(self, now: float) -> None:
        while self._queue and self._queue[0][0] <= now:
            _at, _number, relay, side, data = heapq.heappop(self._queue)
            relay.deliver(side, data)
