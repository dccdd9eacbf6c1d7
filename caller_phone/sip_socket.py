"""The UDP socket of SIP in the event loop; it also hears from the kernel which addresses nobody listens on."""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable

from caller_phone.errors import PhoneError, SipError
from caller_phone.media import Address
from caller_phone.sip_message import Request, Response, parse

_log = logging.getLogger(__name__)

_DATAGRAM_BYTES = 65_535
# a flood leaves the loop room for its other work
_DATAGRAMS_A_TURN = 64
# Linux: ask for the ICMP errors of an unconnected socket, with the address they are about (ip(7), ipv6(7))
_IP_RECVERR = 11
_IPV6_RECVERR = 25


class SipSocket:
    """Messages in through `on_message`, out through `send`; what is not SIP is counted and dropped."""

    def __init__(
        self,
        host: str,
        port: int,
        on_message: Callable[[Request | Response, Address], None],
        on_unreachable: Callable[[Address], None],
    ) -> None:
        self.address: Address = (host, port)
        self.family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.malformed = 0
        self._on_message = on_message
        self._on_unreachable = on_unreachable

    def open(self) -> None:
        """Bind and listen in the running loop. PhoneError when the port is taken or the address is not ours."""
        host, port = self.address
        self._socket = socket.socket(self.family, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise PhoneError(f"can't open the SIP socket on udp {host}:{port}: {error.strerror}") from error
        self._socket.setblocking(False)
        with contextlib.suppress(OSError):
            if self.family == socket.AF_INET6:
                self._socket.setsockopt(socket.IPPROTO_IPV6, _IPV6_RECVERR, 1)
            else:
                self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)
        self.address = self._socket.getsockname()[:2]
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._readable)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()

    def send(self, data: bytes, peer: Address) -> None:
        try:
            self._socket.sendto(data, peer)
        except BlockingIOError:
            pass  # a full buffer is a lost datagram: the transaction sends it again
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                # an earlier datagram was refused and took this one with it
                self._drain_errors()
            else:
                self._on_unreachable(peer)

    def _readable(self) -> None:
        self._drain_errors()
        for _ in range(_DATAGRAMS_A_TURN):
            try:
                data, peer = self._socket.recvfrom(_DATAGRAM_BYTES)
            except BlockingIOError:
                return
            except OSError:
                # the pending ICMP error itself; its address comes from the error queue
                self._drain_errors()
                continue
            try:
                message = parse(data)
            except SipError as error:
                self.malformed += 1
                _log.debug("from %s:%d: %s", *peer[:2], error)
                continue
            self._on_message(message, peer[:2])

    def _drain_errors(self) -> None:
        while True:
            try:
                _, _, _, peer = self._socket.recvmsg(0, 512, socket.MSG_ERRQUEUE)
            except OSError:
                return
            self._on_unreachable(peer[:2])
