"""External media over RTP: a UDP port of ours for each call. We pace."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from media_bridge.codecs import WIRE
from media_bridge.conceal import Concealer
from media_bridge.jitter import Frame, JitterBuffer, Lost
from media_bridge.log_gate import LogGate
from media_bridge.playout import Playout, PlayoutFrame
from media_bridge.ports import PortPool
from media_bridge.rtp import RtpPacket
from media_bridge.settings import JitterSettings, MediaSettings, Medium
from media_bridge.source import SourceGuard, Verdict
from media_bridge.stats import PortStats, TransportStats
from media_bridge.transport import Offer, Peer, RtpAddress, wrong_peer
from media_bridge.udp import RtpSocket

# RTP's clock ticks 8000 times a second for every codec here
_CLOCK_STEP = 160
_OF_THE_STREAM = frozenset({Verdict.ACCEPT, Verdict.NOT_VOICE})
_SIGNS_OF_LIFE = _OF_THE_STREAM | {Verdict.RESTART}
_NOT_HEARD = {Verdict.NOT_VOICE: "not_voice", Verdict.UNKNOWN_TYPE: "unknown_type"}


class RtpTransport:
    """One call's packets both ways. What is sent is heard: nothing is ever on its way."""

    def __init__(self, sock: RtpSocket, offer: Offer, jitter: JitterSettings) -> None:
        wire = WIRE[offer.medium]
        self.rate = wire.rate
        self.offer = offer
        self.closed_because: str | None = None
        self.last_heard_at: float | None = None
        self._sock = sock
        self._coder = wire.make()
        self._silence = bytes(2 * self.rate // 50)
        self._silent_payload = wire.make().encode(self._silence)
        self._guard = SourceGuard(wire.payload_type)
        self._jitter = JitterBuffer(jitter, bytes_per_sample=wire.frame_bytes // _CLOCK_STEP)
        self._concealer = Concealer(self.rate)
        self._concealed = 0
        self._marker = True

    @property
    def is_up(self) -> bool:
        return self._sock.peer is not None

    async def connect(self, peer: Peer) -> None:
        """From now on nothing but what `peer` sends is heard. Raises MediaError if it is no address of
        bind_host's family.
        """
        if not isinstance(peer, RtpAddress):
            raise wrong_peer(peer, self.offer.medium)
        self._sock.set_peer(peer.host, peer.port)

    def speak(self, playout: Playout, now: float, skipped: int) -> tuple[PlayoutFrame]:
        frame = playout.take(now)
        payload = self._coder.encode(frame.pcm) if frame.kind == "speech" else self._silent_payload
        # a skipped tick's time has passed: the timestamp says so, the sequence has no hole (RFC 3550
        # section 5.1)
        marker = self._marker or skipped > 0
        self._sock.send(payload, _CLOCK_STEP, left_out=skipped * _CLOCK_STEP, marker=marker)
        self._marker = False
        return (frame,)

    def unheard_samples(self, now: float) -> int:
        return 0

    def take_back(self, playout: Playout, now: float) -> None:
        pass

    def drop(self, playout: Playout, now: float) -> None:
        self._marker = True

    def receive(self) -> None:
        for packet, arrived in self._sock.receive():
            self._put(packet, arrived)

    def frame(self, now: float) -> bytes:
        taken = self._jitter.take(now)
        if isinstance(taken, Frame):
            return self._concealer.good(self._coder.decode(taken.payload))
        if isinstance(taken, Lost):
            self._concealed += 1
            return self._concealer.lost()
        return self._concealer.good(self._silence)

    def stats(self) -> TransportStats:
        sock, source, jitter = self._sock, self._guard.stats, self._jitter.stats
        due, missed, missed_runs = self._jitter.loss()
        dropped = Counter(sock.dropped)
        for verdict, why in _NOT_HEARD.items():
            dropped[why] += source.verdicts.get(verdict, 0)
        dropped["empty"] += jitter.empty
        dropped["overflow"] += jitter.overflow
        return TransportStats(
            packets_in=sock.packets_in,
            packets_out=sock.packets_out,
            expected=source.expected,
            lost=source.lost,
            late=jitter.late,
            duplicates=source.verdicts.get(Verdict.DUPLICATE, 0) + jitter.duplicate,
            concealed=self._concealed,
            due=due,
            missed=missed,
            missed_runs=missed_runs,
            jitter_ms=source.jitter_ms,
            delay_ms=jitter.delay_ms,
            target_ms=jitter.target_ms,
            dropped={why: count for why, count in dropped.items() if count},
            send_errors=sock.send_errors,
            receive_errors=sock.receive_errors,
        )

    def _put(self, packet: RtpPacket, arrived: float) -> None:
        verdict = self._guard.accept(packet, arrived)
        if verdict in _SIGNS_OF_LIFE:
            self.last_heard_at = arrived
        if verdict is Verdict.RESTART:
            self._jitter.restart()
            for held, held_at in self._guard.held:
                self._jitter.put(held, held_at)
        elif verdict in _OF_THE_STREAM:
            self._jitter.put(packet, arrived)


class RtpTransports:
    """The ports of the process. `address` is the resolved `bind_host`."""

    def __init__(
        self, settings: MediaSettings, address: str, log_gate: LogGate, clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._log_gate = log_gate
        self._clock = clock
        self._ports = PortPool(settings, address)

    async def __aenter__(self) -> Self:
        self._ports.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ports.__exit__(kind, error, trace)

    @asynccontextmanager
    async def open(self, call_id: str, medium: Medium) -> AsyncIterator[RtpTransport]:
        """A port for the call, which rests when it is over. Raises NoPortError."""
        lease = self._ports.lease(self._clock())
        try:
            payload_type = WIRE[medium].payload_type
            sock = RtpSocket(call_id, lease.sock, payload_type, self._log_gate, self._clock)
            host = self._settings.advertise_host or self._settings.bind_host
            yield RtpTransport(sock, Offer(medium, host, lease.port), self._settings.jitter)
        finally:
            self._ports.give_back(lease, self._clock())

    def sweep(self, now: float) -> None:
        """See PortPool.sweep."""
        self._ports.sweep(now)

    def port_stats(self) -> PortStats:
        return self._ports.stats()
