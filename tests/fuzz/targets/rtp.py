"""What comes to a call's RTP port: packets, good and bad, between the ticks of the clock.

The parser, the source guard, the jitter buffer, the decoder and the concealment in a row, as `transport_rtp` has them.
"""

from media_bridge.codecs import WIRE
from media_bridge.conceal import Concealer
from media_bridge.errors import RtpError
from media_bridge.jitter import Frame, JitterBuffer, Lost, Wait
from media_bridge.rtp import RtpPacket, build, parse, sequence_add, timestamp_add
from media_bridge.settings import JitterSettings, Medium
from media_bridge.source import SourceGuard, Verdict
from tests.fuzz.choices import Choices

TOKENS = (
    b"\x80\x00",
    b"\x80\x08",
    b"\x80\x80",
    b"\x80\x0d",
    b"\x80\x65",
    b"\x80\xc8",
    b"\xb0\x00",
    b"\xbe\xde\x00\x01",
)
MAX_LEN = 512

_MEDIA = tuple(medium for medium in WIRE if medium.transport == "rtp")
_SETTINGS = JitterSettings()
# a stream that is calm again is heard when what the buffer looks back on is over
_CALM_PACKETS = 300
# bits of the first byte: sound is made of what was heard; the calm stream is tried. Both take long
_DECODED = 0x10
_CALM_IS_TRIED = 0xE0
# the calm stream goes on where the last one was
_GOES_ON = 0x04


class _Ear:
    """One call's hearing, and what must always hold of it."""

    def __init__(self, medium: Medium) -> None:
        self._wire = WIRE[medium]
        self._guard = SourceGuard(self._wire.payload_type)
        self._jitter = JitterBuffer(_SETTINGS, bytes_per_sample=self._wire.step_bytes)
        self._coder = self._wire.make()
        self._concealer = Concealer(self._wire.rate)
        self._judged = 0
        self.now = 0.0

    def receive(self, datagram: bytes) -> None:
        try:
            packet = parse(datagram)
        except RtpError:
            return
        assert _length(datagram, packet) == len(datagram)
        self.hear(packet)

    def hear(self, packet: RtpPacket) -> None:
        self._judged += 1
        verdict = self._guard.accept(packet, self.now)
        if verdict in (Verdict.ACCEPT, Verdict.NOT_VOICE):
            self._jitter.put(packet, self.now)
        elif verdict is Verdict.RESTART:
            self._jitter.restart()
            for held, held_at in self._guard.held:
                self._jitter.put(held, held_at)

    def tick(self, *, is_decoded: bool) -> Frame | None:
        self.now += 0.02
        taken = self._jitter.take(self.now)
        if isinstance(taken, Frame):
            assert len(taken.payload) == self._wire.frame_bytes
        if is_decoded:
            assert len(self._pcm(taken)) == 2 * self._wire.rate // 50
        return taken if isinstance(taken, Frame) else None

    def _pcm(self, taken: Frame | Lost | Wait) -> bytes:
        match taken:
            case Frame(payload=payload):
                return self._concealer.good(self._coder.decode(payload))
            case Lost():
                return self._concealer.lost()
            case Wait():
                return self._concealer.good(bytes(2 * self._wire.rate // 50))

    def voice(self, sequence: int, timestamp: int, ssrc: int) -> RtpPacket:
        return RtpPacket(self._wire.payload_type, sequence, timestamp, ssrc, bytes(self._wire.frame_bytes))

    def check(self) -> None:
        source, jitter = self._guard.stats, self._jitter.stats
        assert sum(source.verdicts.values()) == self._judged
        assert 0 <= source.received <= source.expected
        assert source.jitter_ms >= 0
        assert jitter.received <= self._judged
        assert _SETTINGS.min_ms <= jitter.target_ms <= _SETTINGS.max_ms


def one_input(data: bytes) -> None:
    choices = Choices(data)
    first = choices.byte()
    ear = _Ear(_MEDIA[first % len(_MEDIA)])
    is_decoded = bool(first & _DECODED)
    sequence, timestamp, ssrc = choices.word(), choices.long(), 1
    while choices:
        what = choices.byte()
        match what & 7:
            case 0:
                ear.receive(choices.take(choices.byte()))
            case 1:
                ear.receive(_mangled(choices, sequence, timestamp, ssrc))
            case 2:
                sequence = sequence_add(sequence, choices.word())
            case 3:
                timestamp = timestamp_add(timestamp, choices.long())
            case 4:
                ssrc = what >> 3
            case 5:
                ear.now += choices.word() / 1000
            case _:
                sequence, timestamp = sequence_add(sequence, 1), timestamp_add(timestamp, 160)
                ear.hear(ear.voice(sequence, timestamp, ssrc))
        if what & 0x80:
            ear.tick(is_decoded=is_decoded)
    ear.check()
    if first & _CALM_IS_TRIED == _CALM_IS_TRIED:
        _is_heard_again(ear, sequence, timestamp, ssrc if first & _GOES_ON else 0xCA11)


def _length(datagram: bytes, packet: RtpPacket) -> int:
    """What the parts of a packet add up to (RFC 3550 5.1)."""
    fixed = 12 + 4 * (datagram[0] & 0x0F)
    extension = 4 + 4 * int.from_bytes(datagram[fixed + 2 : fixed + 4]) if datagram[0] & 0x10 else 0
    padding = max(1, datagram[-1]) if datagram[0] & 0x20 else 0
    return fixed + extension + len(packet.payload) + padding


def _mangled(choices: Choices, sequence: int, timestamp: int, ssrc: int) -> bytes:
    """A packet whose header bits and payload the input chooses."""
    bits, payload_type, length = choices.byte(), choices.byte(), choices.word() % 1500
    payload = (choices.take(16) * (length // 16 + 1))[:length]
    datagram = bytearray(build(RtpPacket(payload_type & 0x7F, sequence, timestamp, ssrc, payload)))
    datagram[0] = bits
    datagram[1] = payload_type
    return bytes(datagram)


def _is_heard_again(ear: _Ear, sequence: int, timestamp: int, ssrc: int) -> None:
    for number in range(1, _CALM_PACKETS + 1):
        ear.hear(ear.voice(sequence_add(sequence, number), timestamp_add(timestamp, number * 160), ssrc))
        heard = ear.tick(is_decoded=False)
    assert heard is not None
