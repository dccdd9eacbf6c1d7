"""RTP over UDP for one call.

The socket is not watched by the event loop: `receive` empties it at each tick. Nothing waits for that (a
packet can only be heard at a tick), the kernel stamps the arrivals, and a process with a hundred calls is
spared 5,000 wake-ups a second.
"""

import contextlib
import logging
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable

from media_bridge.errors import MediaError, RtpError
from media_bridge.log_gate import LogGate
from media_bridge.rtp import RtpPacket, build_datagram, parse, sequence_add, timestamp_add

Address = tuple[str, int]

# larger than any RTP packet on an Ethernet; a longer datagram is cut and then fails to parse or to decode
_DATAGRAM_BYTES = 2048
# in one tick: a flood of 20,000 packets a second brings 400
_MAX_DATAGRAMS = 512
# so many in one tick are no Asterisk behind an address translation, of which the log has to tell
_FLOOD_DATAGRAMS = 32

# SO_TIMESTAMPNS of Linux, which the socket module does not name; its message is a struct timespec
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)

_log = logging.getLogger(__name__)


def _numeric(family: int, host: str, port: int) -> Address:
    """The address spelled as the kernel spells the sources of datagrams. Raises MediaError."""
    try:
        return socket.inet_ntop(family, socket.inet_pton(family, host)), port
    except OSError as error:
        version = 6 if family == socket.AF_INET6 else 4
        raise MediaError(
            f"Asterisk gave {host!r} as its media address, but media.bind_host is an IPv{version} address: "
            f"bind to an address of the family Asterisk uses"
        ) from error


class RtpSocket:
    """Sends and receives the packets of one call on a bound, non-blocking socket that its owner closes.

    Nothing is accepted before `set_peer`, and then only what comes from exactly that address and port. Once
    the peer has been heard, or strangers flood us, the socket is connected: from then on the kernel turns
    strangers away, they cost us nothing and cannot fill our receive buffer. Errors of the network are
    counted, never raised.
    """

    def __init__(
        self,
        call_id: str,
        sock: socket.socket,
        payload_type: int,
        log_gate: LogGate,
        clock: Callable[[], float],
    ) -> None:
        self._call_id = call_id
        self._sock = sock
        self._payload_type = payload_type
        self._log_gate = log_gate
        self._clock = clock
        self._peer: Address | None = None
        self._connected = False
        # whatever came before this has been read
        self._emptied_at = clock()
        # RFC 3550 section 5.1: all three begin at random
        self._sequence = random.getrandbits(16)
        self._timestamp = random.getrandbits(32)
        self._ssrc = random.getrandbits(32)
        self.dropped: Counter[str] = Counter()
        self.packets_in = 0
        self.packets_out = 0
        self.send_errors = 0
        self.receive_errors = 0
        # where the kernel cannot stamp, the tick that reads a packet does
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)

    @property
    def peer(self) -> Address | None:
        """Where packets go to and come from; None while unknown."""
        return self._peer

    def set_peer(self, host: str, port: int) -> None:
        """Tell where Asterisk sends from and listens. `host` is an IP address. Raises MediaError."""
        self._peer = _numeric(self._sock.family, host, port)
        if self._connected:
            self._connect()

    def receive(self) -> list[tuple[RtpPacket, float]]:
        """The packets that came from the peer since the last call, each with the instant it arrived."""
        packets: list[tuple[RtpPacket, float]] = []
        strangers = 0
        began = self._clock()
        for _ in range(_MAX_DATAGRAMS):
            try:
                data, ancillary, _flags, source = self._sock.recvmsg(_DATAGRAM_BYTES, _ANCILLARY_BYTES)
            except BlockingIOError:
                self._emptied_at = began
                break
            except OSError as error:
                # an ICMP error that came back for something sent; reading it clears it
                self.receive_errors += 1
                # refused is how a leg that Asterisk has just taken down looks: every call ends so
                if not isinstance(error, ConnectionRefusedError):
                    self._warn("cannot receive from %s: %s", self._peer, error.strerror)
                continue
            if source[:2] != self._peer:
                strangers += 1
                self._drop_stranger(source)
                continue
            try:
                packet = parse(data)
            except RtpError as error:
                self.dropped[error.why] += 1
                self._warn("dropped a datagram from %s: %s", self._peer, error)
                continue
            packets.append((packet, self._arrival(ancillary)))
        self.packets_in += len(packets)
        if not self._connected and self._peer and (packets or strangers >= _FLOOD_DATAGRAMS):
            self._connect()
        return packets

    def send(self, payload: bytes, samples: int, *, left_out: int = 0, marker: bool = False) -> None:
        """Send one packet to the peer. `left_out`: samples not sent before it, whose time has passed all
        the same.
        """
        if self._peer is None:
            return
        self._timestamp = timestamp_add(self._timestamp, left_out)
        datagram = build_datagram(
            self._payload_type, self._sequence, self._timestamp, self._ssrc, payload, marker
        )
        # one that cannot leave is a lost packet to the other side, so the numbers go on
        self._sequence = sequence_add(self._sequence, 1)
        self._timestamp = timestamp_add(self._timestamp, samples)
        try:
            if self._connected:
                self._sock.send(datagram)
            else:
                self._sock.sendto(datagram, self._peer)
        except OSError as error:
            self.send_errors += 1
            if not isinstance(error, ConnectionRefusedError):
                self._warn("cannot send to %s: %s", self._peer, error.strerror)
            return
        self.packets_out += 1

    def _connect(self) -> None:
        assert self._peer is not None  # noqa: S101 - set before anything is accepted
        try:
            self._sock.connect(self._peer)
        except OSError as error:
            # no route just now; the check in `receive` goes on
            self._warn("cannot connect to %s: %s", self._peer, error.strerror)
            return
        self._connected = True

    def _drop_stranger(self, source: tuple[str, int]) -> None:
        if self._peer is None:
            self.dropped["no_peer"] += 1
            return
        self.dropped["wrong_source"] += 1
        self._warn(
            "dropped a datagram from %s: Asterisk said it sends from %s. If this is Asterisk, "
            "an address translation stands between it and media.bind_host",
            source[:2],
            self._peer,
        )

    def _arrival(self, ancillary: list[tuple[int, int, bytes]]) -> float:
        now = self._clock()
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
                seconds, nanoseconds = _TIMESPEC.unpack(data)
                age: float = time.time() - seconds - nanoseconds * 1e-9
                # the wall clock may be set while a packet waits: it has waited for less than since the last time
                return max(now - max(age, 0.0), self._emptied_at)
        return now

    def _warn(self, text: str, *arguments: object) -> None:
        if self._log_gate.open(self._clock()):
            _log.warning("call %s: " + text, self._call_id, *arguments)
