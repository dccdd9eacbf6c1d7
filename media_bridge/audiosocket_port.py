"""The one TCP port Asterisk connects to, until a connection has said whose it is."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Self
from uuid import UUID

from media_bridge.audiosocket_messages import IDENTITY_BYTES, AudioSocketError, parse_identity
from media_bridge.errors import MediaError
from media_bridge.log_gate import LogGate

# a connection that has not said whose it is by then is closed
IDENTITY_S = 3.0
# and so is one too many of them
MAX_STRANGERS = 256
_BACKLOG = 256
# without file descriptors there is nothing to do but to wait for some
_NO_FDS_PAUSE_S = 0.1

_log = logging.getLogger(__name__)


class AudioSocketPort:
    """A context manager on the running loop; entering raises MediaError if the port cannot be had.

    `came(uuid, sock)` is asked once for each connection: True takes the non-blocking socket over, False has
    it closed.
    """

    def __init__(
        self,
        address: str,
        port: int,
        came: Callable[[UUID, socket.socket], bool],
        log_gate: LogGate,
        clock: Callable[[], float],
    ) -> None:
        self._address = (address, port)
        self._came = came
        self._log_gate = log_gate
        self._clock = clock
        self._strangers: dict[socket.socket, tuple[bytearray, asyncio.TimerHandle]] = {}
        self._pause: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        family = socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET
        self._sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._sock.setblocking(False)
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._sock.bind(self._address)
            self._sock.listen(_BACKLOG)
        except OSError as error:
            self._sock.close()
            mend = "set media.audiosocket_port to a free port" if error.errno == errno.EADDRINUSE else ""
            raise MediaError(
                f"Cannot open TCP port {self._address[1]} (media.audiosocket_port) on {self._address[0]}: "
                f"{error.strerror}" + (f"; {mend}" if mend else "")
            ) from error
        self._loop.add_reader(self._sock, self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._sock)
        self._sock.close()
        for sock in list(self._strangers):
            self._turn_away(sock)

    def _accept(self) -> None:
        for _ in range(_BACKLOG):
            try:
                sock, _address = self._sock.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._rest(error)
                    return
                # it was gone before it was accepted
                continue
            self._meet(sock)

    def _rest(self, error: OSError) -> None:
        self._warn(f"cannot accept AudioSocket connections: {error.strerror}")
        self._loop.remove_reader(self._sock)
        self._pause = self._loop.call_later(_NO_FDS_PAUSE_S, self._loop.add_reader, self._sock, self._accept)

    def _meet(self, sock: socket.socket) -> None:
        if len(self._strangers) >= MAX_STRANGERS:
            # Asterisk says it at once, so the one that has waited longest is not Asterisk's
            self._turn_away(next(iter(self._strangers)))
            self._warn("too many AudioSocket connections that do not say whose they are")
        sock.setblocking(False)
        timer = self._loop.call_later(IDENTITY_S, self._turn_away, sock)
        self._strangers[sock] = (bytearray(), timer)
        self._loop.add_reader(sock, self._read, sock)

    def _read(self, sock: socket.socket) -> None:
        known, _timer = self._strangers[sock]
        try:
            # what follows the UUID is the call's
            data = sock.recv(IDENTITY_BYTES - len(known))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        known += data
        if data and len(known) < IDENTITY_BYTES:
            return
        try:
            uuid = parse_identity(bytes(known)).uuid if data else None
        except AudioSocketError as error:
            self._warn(f"turned an AudioSocket connection away: {error}")
            uuid = None
        self._leave(sock)
        if uuid is None:
            sock.close()
        elif not self._came(uuid, sock):
            self._warn("turned an AudioSocket connection away: no call waits for it")
            sock.close()

    def _turn_away(self, sock: socket.socket) -> None:
        self._leave(sock)
        sock.close()

    def _leave(self, sock: socket.socket) -> None:
        _known, timer = self._strangers.pop(sock)
        timer.cancel()
        self._loop.remove_reader(sock)

    def _warn(self, text: str) -> None:
        if self._log_gate.open(self._clock()):
            _log.warning("%s", text)
