"""Is this packet of the stream we listen to, and in its place? (RFC 3550 appendix A.1, A.3, A.8)

Which address a packet came from is checked before it gets here: the peer is known from ARI.
"""

from collections import Counter
from dataclasses import dataclass
from enum import Enum

from media_bridge.rtp import NOT_VOICE, RtpPacket, sequence_add, sequence_distance, timestamp_distance

# RFC 3550 A.1
MIN_SEQUENTIAL = 2
MAX_DROPOUT = 3000
MAX_MISORDER = 100

_SEQUENCES = 1 << 16
# remembers the newest packet and the MAX_MISORDER before it, one bit each
_SEEN_MASK = (1 << (MAX_MISORDER + 1)) - 1


class Verdict(Enum):
    """What to do with a packet."""

    ACCEPT = "accept"
    # a stream begins, or goes on under other numbers: restart the jitter buffer and put `held`
    RESTART = "restart"
    # kept: the next packet tells whether it starts a stream
    PROBATION = "probation"
    DUPLICATE = "duplicate"
    # comfort noise or a telephone event
    NOT_VOICE = "not_voice"
    # a payload type that was not agreed
    UNKNOWN_TYPE = "unknown_type"


@dataclass(frozen=True, slots=True)
class SourceStats:
    """Counts since the call began; `jitter_ms` and `ssrc` are of the stream that runs now."""

    ssrc: int | None
    received: int
    expected: int
    lost: int
    restarts: int
    jitter_ms: float
    verdicts: dict[Verdict, int]


@dataclass(slots=True)
class _Candidate:
    """Packets in sequence that may be a new stream."""

    ssrc: int
    next_sequence: int
    held: list[tuple[RtpPacket, float]]


class SourceGuard:
    """One for each call: `accept` every parsed packet from the peer's address.

    `payload_type` is the one voice type agreed with Asterisk.
    """

    def __init__(self, payload_type: int, clock_rate: int = 8000) -> None:
        self._payload_type = payload_type
        self._clock_rate = clock_rate
        self._candidate: _Candidate | None = None
        self._held: tuple[tuple[RtpPacket, float], ...] = ()
        self._ssrc: int | None = None
        self._base_sequence = 0
        self._highest = 0  # extended by the wraps counted
        self._seen = 0
        self._received = 0
        self._closed_received = 0
        self._closed_expected = 0
        self._transit: float | None = None
        self._last_timestamp = 0
        self._last_arrival = 0.0
        self._jitter = 0.0
        self._restarts = 0
        self._verdicts: Counter[Verdict] = Counter()

    @property
    def held(self) -> tuple[tuple[RtpPacket, float], ...]:
        """After RESTART: the new stream's packets so far, the latest included, with their arrivals; not all of them
        need to be voice.
        """
        return self._held

    @property
    def stats(self) -> SourceStats:
        received = self._closed_received + self._received
        expected = self._closed_expected + self._expected()
        return SourceStats(
            ssrc=self._ssrc,
            received=received,
            expected=expected,
            lost=expected - received,
            restarts=self._restarts,
            jitter_ms=self._jitter * 1000,
            verdicts=dict(self._verdicts),
        )

    def accept(self, packet: RtpPacket, now: float) -> Verdict:
        """Judge one packet that arrived at `now`."""
        verdict = self._judge(packet, now)
        self._verdicts[verdict] += 1
        return verdict

    def _judge(self, packet: RtpPacket, now: float) -> Verdict:
        if packet.payload_type != self._payload_type and packet.payload_type not in NOT_VOICE:
            return Verdict.UNKNOWN_TYPE
        step = sequence_distance(packet.sequence, self._highest & 0xFFFF)
        if packet.ssrc != self._ssrc or not -MAX_MISORDER <= step < MAX_DROPOUT:
            return self._on_probation(packet, now)
        # the known stream is alive, so what looked like another one was a stray
        self._candidate = None
        if self._is_duplicate(step):
            return Verdict.DUPLICATE
        self._received += 1
        if packet.payload_type in NOT_VOICE:
            return Verdict.NOT_VOICE
        self._measure(packet, now)
        return Verdict.ACCEPT

    def _on_probation(self, packet: RtpPacket, now: float) -> Verdict:
        candidate = self._candidate
        if candidate is None or candidate.ssrc != packet.ssrc or candidate.next_sequence != packet.sequence:
            candidate = self._candidate = _Candidate(packet.ssrc, packet.sequence, [])
        candidate.next_sequence = sequence_add(packet.sequence, 1)
        candidate.held.append((packet, now))
        if len(candidate.held) < MIN_SEQUENTIAL:
            return Verdict.PROBATION
        self._start(candidate)
        return Verdict.RESTART

    def _start(self, candidate: _Candidate) -> None:
        self._closed_expected += self._expected()
        self._closed_received += self._received
        self._candidate = None
        self._ssrc = candidate.ssrc
        self._base_sequence = candidate.held[0][0].sequence
        self._highest = self._base_sequence + len(candidate.held) - 1
        self._seen = (1 << len(candidate.held)) - 1
        self._received = len(candidate.held)
        self._restarts += 1
        self._transit = None
        self._jitter = 0.0
        self._held = tuple(candidate.held)
        for packet, at in self._held:
            if packet.payload_type not in NOT_VOICE:
                self._measure(packet, at)

    def _expected(self) -> int:
        return 0 if self._ssrc is None else self._highest - self._base_sequence + 1

    def _is_duplicate(self, step: int) -> bool:
        if step > 0:
            self._highest += step
            self._seen = ((self._seen << step) | 1) & _SEEN_MASK
            return False
        bit = 1 << -step
        if self._seen & bit:
            return True
        self._seen |= bit
        # a packet from before the first one we heard: it was expected after all
        self._base_sequence = min(self._base_sequence, self._highest + step)
        return False

    def _measure(self, packet: RtpPacket, now: float) -> None:
        """Interarrival jitter (A.8), here in seconds and with a float's precision."""
        if self._transit is not None:
            sent = timestamp_distance(packet.timestamp, self._last_timestamp) / self._clock_rate
            change = abs((now - self._last_arrival) - sent)
            self._jitter += (change - self._jitter) / 16
        self._transit = now
        self._last_timestamp = packet.timestamp
        self._last_arrival = now
