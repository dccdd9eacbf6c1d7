"""What a sender other than a plain one makes of the same sound: for `Impairment.rewrite`. Each keeps its state."""

import random
import struct
from dataclasses import replace

import numpy as np

from media_bridge.g711 import CODECS
from media_bridge.rtp import RtpPacket, build, parse, sequence_add, timestamp_add

ULAW = CODECS["ulaw"]
# quieter than this, in mu-law decoded, is a room without anybody in it
_QUIET = 200


def is_quiet(packet: RtpPacket) -> bool:
    pcm = np.frombuffer(ULAW.decode(packet.payload), "<i2").astype(int)
    return bool(np.abs(pcm).max(initial=0) < _QUIET)


class Dressed:
    """Every packet has CSRCs, a header extension and padding (RFC 3550 sections 5.1 and 5.3.1)."""

    def __call__(self, datagram: bytes) -> list[bytes]:
        header, payload = bytearray(datagram[:12]), datagram[12:]
        header[0] |= 0x20 | 0x10 | 2
        csrc = struct.pack("!II", 7, 8)
        extension = struct.pack("!HH", 0xBEDE, 1) + bytes(4)
        return [bytes(header) + csrc + extension + payload + bytes(3) + b"\x04"]


class AmongOthers:
    """After every fifth packet of sound another kind: a type, and a payload of so many bytes.

    Those of the sender's own stream have numbers of their own in its sequence; RTCP and foreign types have not.
    """

    OWN = ((13, 1), (101, 4), (0, 0))
    FOREIGN = ((72, 24), (76, 8), (111, 160))

    def __init__(self) -> None:
        self._count = 0
        self._shift = 0

    def __call__(self, datagram: bytes) -> list[bytes]:
        packet = parse(datagram)
        packet = replace(packet, sequence=sequence_add(packet.sequence, self._shift))
        sent = [build(packet)]
        self._count += 1
        if self._count % 5:
            return sent
        kinds = [*self.OWN, *self.FOREIGN]
        kind = kinds[self._count // 5 % len(kinds)]
        own = kind in self.OWN
        self._shift += own
        numbers = sequence_add(packet.sequence, 1) if own else 9
        after = timestamp_add(packet.timestamp, 160)
        other = RtpPacket(kind[0], numbers, after, packet.ssrc, bytes(kind[1]))
        # RTCP types 200 and up read as 72 and up with the marker (RFC 5761 section 4)
        return [*sent, build(replace(other, marker=kind[0] in range(72, 77)))]


class Repacketised:
    """The same sound in packets of another length."""

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._waiting = b""
        self._at = 0
        self._sequence: int | None = None

    def __call__(self, datagram: bytes) -> list[bytes]:
        packet = parse(datagram)
        if self._sequence is None:
            self._sequence = packet.sequence
        if not self._waiting:
            self._at = packet.timestamp
        self._waiting += packet.payload
        sent = []
        while len(self._waiting) >= self._samples:
            payload, self._waiting = self._waiting[: self._samples], self._waiting[self._samples :]
            sent.append(build(replace(packet, sequence=self._sequence, timestamp=self._at, payload=payload)))
            self._sequence = sequence_add(self._sequence, 1)
            self._at = timestamp_add(self._at, self._samples)
        return sent


class SilenceSuppressed:
    """Nothing is sent while the sender is quiet: the timestamps jump, the sequence does not (RFC 3551 section 4.1)."""

    def __init__(self) -> None:
        self.left_out = 0

    def __call__(self, datagram: bytes) -> list[bytes]:
        packet = parse(datagram)
        if is_quiet(packet):
            self.left_out += 1
            return []
        return [build(replace(packet, sequence=sequence_add(packet.sequence, -self.left_out)))]


class ComfortNoise:
    """While the sender is quiet comfort noise comes instead: at once, and again each `every` frames (RFC 3389)."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._quiet = 0
        self._left_out = 0

    def __call__(self, datagram: bytes) -> list[bytes]:
        packet = parse(datagram)
        self._quiet = self._quiet + 1 if is_quiet(packet) else 0
        if self._quiet and (self._quiet - 1) % self._every:
            self._left_out += 1
            return []
        packet = replace(packet, sequence=sequence_add(packet.sequence, -self._left_out))
        return [build(replace(packet, payload_type=13, payload=b"\x40") if self._quiet else packet)]


class KeysInSilence:
    """The caller holds a key while they say nothing: one timestamp for all of it, its end three times (RFC 4733)."""

    def __init__(self) -> None:
        self._began: int | None = None
        self._frames = 0
        self._more = 0

    def __call__(self, datagram: bytes) -> list[bytes]:
        packet = parse(datagram)
        if is_quiet(packet):
            self._began = packet.timestamp if self._began is None else self._began
            self._frames += 1
            return [self._event(packet, is_end=False)]
        if self._began is None:
            return [self._numbered(packet)]
        ends = []
        for _ in range(3):
            ends.append(self._event(packet, is_end=True))
            self._more += 1
        self._began, self._frames = None, 0
        return [*ends, self._numbered(packet)]

    def _event(self, packet: RtpPacket, *, is_end: bool) -> bytes:
        payload = struct.pack("!BBH", 5, 0x8A if is_end else 0x0A, min(160 * self._frames, 0xFFFF))
        assert self._began is not None
        return self._numbered(replace(packet, payload_type=101, timestamp=self._began, payload=payload))

    def _numbered(self, packet: RtpPacket) -> bytes:
        return build(replace(packet, sequence=sequence_add(packet.sequence, self._more)))


class NumberedFrom:
    """The stream begins with these numbers."""

    def __init__(self, sequence: int, timestamp: int) -> None:
        self._wanted = sequence, timestamp
        self._shift: tuple[int, int] | None = None

    def __call__(self, datagram: bytes) -> list[bytes]:
        packet = parse(datagram)
        if self._shift is None:
            self._shift = self._wanted[0] - packet.sequence, self._wanted[1] - packet.timestamp
        return [
            build(
                replace(
                    packet,
                    sequence=sequence_add(packet.sequence, self._shift[0]),
                    timestamp=timestamp_add(packet.timestamp, self._shift[1]),
                )
            )
        ]


class AmongGarbage:
    """So many datagrams of random bytes before each packet, from the sender's own address."""

    def __init__(self, each: int, seed: int = 1) -> None:
        self._each = each
        self._random = random.Random(seed)

    def __call__(self, datagram: bytes) -> list[bytes]:
        garbage = [self._random.randbytes(self._random.randint(1, 1500)) for _ in range(self._each)]
        return [*garbage, datagram]


class EchoPath:
    """The caller's phone gives back what it plays, so much quieter and later.

    `heard` sees the packets towards the phone, `spoken` adds their echo to those from it.
    """

    def __init__(self, delay_ms: float, gain_db: float) -> None:
        self._gain = 10 ** (gain_db / 20)
        self._waiting = np.zeros(int(delay_ms * 8))

    def heard(self, datagram: bytes) -> list[bytes]:
        pcm = ULAW.decode(parse(datagram).payload)
        self._waiting = np.append(self._waiting, np.frombuffer(pcm, "<i2") * self._gain)
        return [datagram]

    def spoken(self, datagram: bytes) -> list[bytes]:
        packet = parse(datagram)
        own = np.frombuffer(ULAW.decode(packet.payload), "<i2").astype(float)
        echo, self._waiting = self._waiting[: len(own)], self._waiting[len(own) :]
        own[: len(echo)] += echo
        pcm = np.clip(np.rint(own), -32768, 32767).astype("<i2").tobytes()
        return [build(replace(packet, payload=ULAW.encode(pcm)))]
