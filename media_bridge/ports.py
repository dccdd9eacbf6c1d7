"""The UDP ports of the process: even numbers from a range, each with its bound socket.

A port given back rests for a while with its socket still bound, so that late packets of the old call reach
nobody and no other program gets the port; only then it may serve the next call.
"""

import errno
import socket
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from media_bridge.errors import MediaError
from media_bridge.settings import MediaSettings
from media_bridge.stats import PortStats

# about 300 packets of 20 ms, far more than any stall should pile up; the kernel doubles it for its own
# bookkeeping
RECEIVE_BUFFER_BYTES = 256 * 1024
_DATAGRAM_BYTES = 2048


class NoPortError(MediaError):
    """No RTP port is left, or none can be opened."""


@dataclass(frozen=True, slots=True, eq=False)
class PortLease:
    """One call's port and its bound, non-blocking socket. Give it back to the pool; never close it."""

    port: int
    sock: socket.socket


class PortPool:
    """Leases of the ports `port_start..port_end`. A context manager: on exit every socket is closed.

    `address` is the resolved `bind_host`, an IP address.
    """

    def __init__(self, settings: MediaSettings, address: str) -> None:
        self._settings = settings
        self._address = address
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        first_even = settings.port_start + settings.port_start % 2
        self._free = deque(range(first_even, settings.port_end + 1, 2))
        self._leased: set[PortLease] = set()
        self._resting: deque[tuple[float, PortLease]] = deque()
        self._late_datagrams = 0
        self._taken_elsewhere = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lease in [*self._leased, *(lease for _until, lease in self._resting)]:
            lease.sock.close()
        self._leased.clear()
        self._resting.clear()

    def lease(self, now: float) -> PortLease:
        """The port that was unused for longest, bound. Raises NoPortError."""
        self.sweep(now)
        for _ in range(len(self._free)):
            port = self._free.popleft()
            try:
                sock = self._bind(port)
            except OSError as error:
                self._free.append(port)
                if error.errno != errno.EADDRINUSE:
                    raise NoPortError(
                        f"Cannot open UDP port {port} on media.bind_host {self._settings.bind_host}: "
                        f"{error.strerror}"
                    ) from error
                self._taken_elsewhere += 1
                continue
            lease = PortLease(port, sock)
            self._leased.add(lease)
            return lease
        raise NoPortError(
            f"No RTP port is left between media.port_start {self._settings.port_start} and media.port_end "
            f"{self._settings.port_end}: {len(self._leased)} serve calls, {len(self._resting)} rest after a "
            f"call and {len(self._free)} are taken by other programs. "
            "Widen the range or lower calls.max_calls"
        )

    def give_back(self, lease: PortLease, now: float) -> None:
        """The call is over: the port rests for `port_quarantine_s`."""
        self._leased.remove(lease)
        self._resting.append((now + self._settings.port_quarantine_s, lease))

    def sweep(self, now: float) -> None:
        """Throw away what came for calls that are over, and free the ports that have rested. Call it each
        second.
        """
        for _until, lease in self._resting:
            self._drain(lease.sock)
        while self._resting and self._resting[0][0] <= now:
            _until, lease = self._resting.popleft()
            lease.sock.close()
            self._free.append(lease.port)

    def stats(self) -> PortStats:
        return PortStats(
            free=len(self._free),
            leased=len(self._leased),
            resting=len(self._resting),
            late_datagrams=self._late_datagrams,
            taken_elsewhere=self._taken_elsewhere,
        )

    def _bind(self, port: int) -> socket.socket:
        sock = socket.socket(self._family, socket.SOCK_DGRAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            sock.bind((self._address, port))
        except OSError:
            sock.close()
            raise
        return sock

    def _drain(self, sock: socket.socket) -> None:
        # bounded: a flood may fill the socket as fast as it is read
        for _ in range(1000):
            try:
                sock.recv(_DATAGRAM_BYTES)
            except BlockingIOError:
                return
            except OSError:
                # an ICMP error of the old call's last packets: reading it clears it
                continue
            self._late_datagrams += 1
