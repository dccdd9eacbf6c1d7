"""The sound of all calls of a phone: one thread sends on a clock, one receives and stamps.

Threads, so that nothing the event loop does can move a packet: what is measured with this phone must not be the phone.
"""

import contextlib
import heapq
import secrets
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType

from caller_phone.errors import PhoneError, RtpError
from caller_phone.outgoing import OutgoingStream
from caller_phone.recording import HearingAxis, Recording, StampedPacket
from caller_phone.rtp import PTIME_S, pack, parse
from caller_phone.sdp import Media
from caller_phone.talkspurt import LiveEar

Address = tuple[str, int]

# Linux: the kernel's own arrival stamp (SO_TIMESTAMPNS and SCM_TIMESTAMPNS are both 35), a struct timespec
_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("qq")
_DATAGRAM_BYTES = 2048
_PORT_TRIES = 200
# A sender that overslept more than this goes on from now instead of sending what it missed in a burst.
_MAX_LATE_S = 0.1
# How long another busy thread may keep the interpreter from the sender. With Python's own 5 ms a busy event loop
# moved packets of 50 calls by up to 30 ms, with this by 10 ms.
_SWITCH_S = 0.0005


class MediaLeg:
    """One call's RTP socket, with what it sent and received."""

    def __init__(self, host: str, ports: range | None) -> None:
        self.socket = _bind_even(host, ports)
        self.address: Address = self.socket.getsockname()[:2]
        self.ear = LiveEar()
        self.malformed = 0
        self.send_errors = 0
        self.skipped_ticks = 0
        self.stream: OutgoingStream | None = None
        self._remote: Address | None = None
        self._axis = HearingAxis()
        # whatever came before this has been read
        self._emptied_s = time.monotonic()
        # plain tuples of bytes: the garbage collector does not walk them, so a long talk causes no pauses
        self._sent: list[tuple[float, bytes]] = []
        self._received: list[tuple[float, bytes]] = []

    def talk_to(self, remote: Media) -> None:
        """Where the packets go from now on, in which form. The stream survives a change of address."""
        if self.stream is None:
            self.stream = OutgoingStream(
                remote.codecs[0],
                remote.events,
                ssrc=secrets.randbits(32),
                sequence=secrets.randbits(16),
                timestamp=secrets.randbits(32),
            )
        # sendonly and inactive are theirs: they will not listen (a call on hold)
        self._remote = (
            (remote.host, remote.port) if remote.direction.value in {"sendrecv", "recvonly"} else None
        )

    def fall_silent(self) -> None:
        """The call is over: nothing more is sent."""
        self._remote = None
        self.stream = None

    def recording(self) -> Recording:
        return Recording(
            tuple(StampedPacket(at_s, parse(data)) for at_s, data in tuple(self._sent)),
            tuple(StampedPacket(at_s, parse(data)) for at_s, data in tuple(self._received)),
        )

    def send_tick(self, late_ticks: int) -> bool:
        """One packet; False when the stream has ended. Called by the sender thread."""
        stream, remote = self.stream, self._remote
        if stream is None:
            return False
        if late_ticks:
            self.skipped_ticks += late_ticks
            stream.skip(late_ticks)
        now = time.monotonic()
        packet = stream.next_packet(now)
        if packet is None or remote is None:
            return True
        data = pack(packet)
        try:
            self.socket.sendto(data, remote)
        except OSError:
            # a full buffer or a network that is away: the call's own signalling tells whether it is over
            self.send_errors += 1
        else:
            self._sent.append((now, data))
        return True

    def receive_all(self) -> None:
        """Everything that waits in the socket. Called by the receiver thread."""
        for data, at_s in self._datagrams():
            try:
                packet = StampedPacket(at_s, parse(data))
            except RtpError:
                self.malformed += 1
                continue
            self._received.append((at_s, data))
            if (sound := self._axis.hear(packet)) is not None:
                self.ear.hear(sound.at_s, sound.samples)

    def _datagrams(self) -> Iterator[tuple[bytes, float]]:
        began_s = time.monotonic()
        while True:
            try:
                data, ancillary, _, _ = self.socket.recvmsg(
                    _DATAGRAM_BYTES, socket.CMSG_SPACE(_TIMESPEC.size)
                )
            except BlockingIOError:
                self._emptied_s = began_s
                return
            except OSError:
                # the leg was closed by the loop's thread meanwhile
                return
            yield data, _arrival(ancillary, self._emptied_s)


class MediaEngine:
    """The two threads and their legs. `with MediaEngine() as engine: leg = engine.open(host, None)`."""

    # the switch interval belongs to the whole interpreter: the first engine sets it, the last one puts it back
    _running = 0
    _usual_switch_s = 0.0

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._grid: list[tuple[float, int, MediaLeg]] = []
        self._started = 0
        self._changed = threading.Condition()
        self._closing = False
        self._threads = [
            threading.Thread(target=self._send, name="phone-rtp-send", daemon=True),
            threading.Thread(target=self._receive, name="phone-rtp-receive", daemon=True),
        ]

    def __enter__(self) -> "MediaEngine":
        if MediaEngine._running == 0:
            MediaEngine._usual_switch_s = sys.getswitchinterval()
            sys.setswitchinterval(_SWITCH_S)
        MediaEngine._running += 1
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._waker.send(b"x")
        for thread in self._threads:
            thread.join()
        MediaEngine._running -= 1
        if MediaEngine._running == 0:
            sys.setswitchinterval(MediaEngine._usual_switch_s)
        self._selector.close()
        self._waker.close()
        self._woken.close()

    @contextlib.contextmanager
    def leg(self, host: str, ports: range | None) -> Iterator[MediaLeg]:
        """A socket on an even port that receives at once; closed at the end. PhoneError when no port is free."""
        leg = MediaLeg(host, ports)
        self._selector.register(leg.socket, selectors.EVENT_READ, leg)
        try:
            yield leg
        finally:
            leg.fall_silent()
            self._selector.unregister(leg.socket)
            leg.socket.close()

    def start(self, leg: MediaLeg) -> None:
        """Its packets leave from now on, one each 20 ms."""
        with self._changed:
            self._started += 1
            heapq.heappush(self._grid, (time.monotonic(), self._started, leg))
            self._changed.notify()

    def _send(self) -> None:
        while True:
            with self._changed:
                while not self._closing and (wait_s := self._wait_s()) > 0:
                    self._changed.wait(None if wait_s == float("inf") else wait_s)
                if self._closing:
                    return
                due_s, number, leg = heapq.heappop(self._grid)
            late_s = time.monotonic() - due_s
            late_ticks = int(late_s / PTIME_S) if late_s > _MAX_LATE_S else 0
            if leg.send_tick(late_ticks):
                with self._changed:
                    heapq.heappush(self._grid, (due_s + (1 + late_ticks) * PTIME_S, number, leg))

    def _wait_s(self) -> float:
        return self._grid[0][0] - time.monotonic() if self._grid else float("inf")

    def _receive(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                key.data.receive_all()


def _arrival(ancillary: list[tuple[int, int, bytes]], since_s: float) -> float:
    """The kernel's stamp as monotonic seconds; where it gives none, now.

    Not before `since_s`, when the socket was last found empty: the wall clock may be set while a packet waits.
    """
    now = time.monotonic()
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _TIMESTAMPNS and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            age_s: float = time.time() - (seconds + nanoseconds / 1e9)
            return max(now - max(age_s, 0.0), since_s)
    return now


def _bind_even(host: str, ports: range | None) -> socket.socket:
    """A UDP socket on an even port (RFC 3550 section 11): of the range if there is one, else of the system's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    even = [port for port in ports if port % 2 == 0] if ports is not None else [0] * _PORT_TRIES
    for port in even:
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            sock.bind((host, port))
        except OSError as error:
            sock.close()
            if port == 0:
                raise PhoneError(f"can't open an RTP socket on {host}: {error.strerror}") from error
            continue
        if sock.getsockname()[1] % 2 == 0:
            sock.setblocking(False)
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
            return sock
        sock.close()
    where = f"of {ports.start}-{ports.stop - 1}" if ports is not None else "of the system"
    raise PhoneError(f"no free even UDP port {where} on {host} for RTP: widen the range or end other calls")
