"""AudioSocket: Asterisk connects to one TCP port of ours, and a UUID tells the calls apart. We pace.

As with UDP the event loop does not watch a call's socket: `receive` empties it at each tick.
"""

import asyncio
import contextlib
import logging
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self
from uuid import UUID, uuid4

from media_bridge.audiosocket_messages import (
    Audio,
    AudioSocketError,
    AudioSocketParser,
    Digit,
    Failure,
    HangUp,
    Message,
    audio_message,
)
from media_bridge.audiosocket_port import AudioSocketPort
from media_bridge.codecs import WIRE
from media_bridge.errors import MediaError
from media_bridge.log_gate import LogGate
from media_bridge.playout import Playout, PlayoutFrame
from media_bridge.settings import JitterSettings, MediaSettings, Medium
from media_bridge.stats import TransportStats
from media_bridge.stream_in import StreamIn
from media_bridge.transport import ConnectsToUs, Offer, Peer, wrong_peer

# Asterisk connects while it makes its end, so it is there already; the rest is for a busy machine
CONNECT_S = 2.0
# some 20 frames: a stall of Asterisk shall cost sound, not add a delay for the rest of the call
SEND_BUFFER_BYTES = 16 * 1024
_READ_BYTES = 64 * 1024
# in one tick: more than a second of sound each
_MAX_READS = 4

_log = logging.getLogger(__name__)


class AudioSocketTransport:
    """One call's connection. What is sent is heard: nothing is ever on its way."""

    def __init__(
        self,
        call_id: str,
        offer: Offer,
        expected: asyncio.Future[socket.socket],
        jitter: JitterSettings,
        clock: Callable[[], float],
    ) -> None:
        wire = WIRE[offer.medium]
        self.rate = wire.rate
        self.offer = offer
        self.closed_because: str | None = None
        self.last_heard_at: float | None = None
        self._call_id = call_id
        self._expected = expected
        self._clock = clock
        self._sock: socket.socket | None = None
        self._parser = AudioSocketParser(wire.rate)
        self._in = StreamIn(wire, jitter)
        self._unsent = b""
        self._packets_out = 0
        self._send_errors = 0
        self._dropped: Counter[str] = Counter()

    @property
    def is_up(self) -> bool:
        return self._sock is not None

    async def connect(self, peer: Peer) -> None:
        """Raises MediaError if Asterisk has not connected within CONNECT_S."""
        if not isinstance(peer, ConnectsToUs):
            raise wrong_peer(peer, self.offer.medium)
        try:
            async with asyncio.timeout(CONNECT_S):
                self._sock = await asyncio.shield(self._expected)
        except TimeoutError as error:
            raise MediaError(
                f"Asterisk did not connect to {self.offer.host}:{self.offer.port} (media.audiosocket_port) "
                f"within {CONNECT_S:g} s: is that port open between the two machines?"
            ) from error

    def speak(self, playout: Playout, now: float, skipped: int) -> tuple[PlayoutFrame]:
        frame = playout.take(now)
        if self._send_rest():
            self._unsent = audio_message(frame.pcm, self.rate)
            self._packets_out += 1
            self._send_rest()
        else:
            self._send_errors += 1
        return (frame,)

    def unheard_samples(self, now: float) -> int:
        return 0

    def take_back(self, playout: Playout, now: float) -> None:
        pass

    def drop(self, playout: Playout, now: float) -> None:
        pass

    def receive(self) -> None:
        for _ in range(_MAX_READS):
            if self._sock is None:
                return
            try:
                data = self._sock.recv(_READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self._close(f"the AudioSocket connection broke: {error.strerror}")
                return
            if not data:
                self._close("Asterisk closed the AudioSocket connection")
                return
            self._take(data)

    def frame(self, now: float) -> bytes:
        return self._in.frame()

    def stats(self) -> TransportStats:
        stream = self._in.stats
        dropped = self._dropped + Counter(empty=stream.empty, overflow=stream.overflow)
        return TransportStats(
            packets_in=stream.received,
            packets_out=self._packets_out,
            concealed=stream.lost,
            due=stream.played + stream.missed,
            missed=stream.missed,
            missed_runs=stream.missed_runs,
            delay_ms=stream.delay_ms,
            dropped=dict(dropped),
            send_errors=self._send_errors,
        )

    def close(self) -> None:
        """Asterisk ends its end when the connection closes, if it has not done so."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    def _take(self, data: bytes) -> None:
        try:
            messages = self._parser.feed(data)
        except AudioSocketError as error:
            self._close(f"what Asterisk sent is no AudioSocket: {error}")
            return
        for message in messages:
            self._handle(message)

    def _handle(self, message: Message) -> None:
        match message:
            case Audio(pcm=pcm):
                self.last_heard_at = self._clock()
                self._in.put(pcm)
            case Digit():
                # ARI tells it too, with its length
                self._dropped["not_voice"] += 1
            case HangUp():
                self._close("Asterisk hung up the AudioSocket connection")
            case Failure():
                self._close("Asterisk reported an AudioSocket error")
            case _:
                self._dropped["unknown_type"] += 1

    def _send_rest(self) -> bool:
        """True when all that was begun has left. A message cut short would make the rest of the call noise."""
        if self._unsent and self._sock is not None:
            try:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
            except BlockingIOError:
                pass
            except OSError as error:
                self._close(f"the AudioSocket connection broke: {error.strerror}")
        return not self._unsent

    def _close(self, reason: str) -> None:
        self.closed_because = self.closed_because or reason
        self.close()


class AudioSockets:
    """The port of the process and the calls that wait for Asterisk on it. `address` is the resolved `bind_host`."""

    def __init__(
        self, settings: MediaSettings, address: str, log_gate: LogGate, clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._waiting: dict[UUID, asyncio.Future[socket.socket]] = {}
        self._port = AudioSocketPort(address, settings.audiosocket_port, self._came, log_gate, clock)

    async def __aenter__(self) -> Self:
        self._port.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._port.__exit__(kind, error, trace)

    @asynccontextmanager
    async def open(self, call_id: str, medium: Medium) -> AsyncIterator[AudioSocketTransport]:
        """A UUID for the call, which whoever connects has to know."""
        uuid = uuid4()
        expected: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()
        self._waiting[uuid] = expected
        host = self._settings.advertise_host or self._settings.bind_host
        offer = Offer(medium, host, self._settings.audiosocket_port, str(uuid))
        transport = AudioSocketTransport(call_id, offer, expected, self._settings.jitter, self._clock)
        try:
            yield transport
        finally:
            self._waiting.pop(uuid, None)
            transport.close()
            if expected.done():
                expected.result().close()

    def _came(self, uuid: UUID, sock: socket.socket) -> bool:
        """Whether a call waits for this connection; then it has it."""
        expected = self._waiting.pop(uuid, None)
        if expected is None:
            return False
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        expected.set_result(sock)
        return True
