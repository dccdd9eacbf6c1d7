"""RTP packets to bytes and back (RFC 3550 section 5.1), and arithmetic on numbers that wrap."""

import struct
from dataclasses import dataclass

from media_bridge.errors import RtpError

VERSION = 2
_HEADER = struct.Struct("!BBHII")
_EXTENSION = struct.Struct("!HH")

NOT_VOICE = frozenset({13, 19, 101})
"""Comfort noise (RFC 3389; 19 is its old number) and telephone events (RFC 4733): no sound to decode."""

# RTCP types 200 to 204 read as RTP types 72 to 76 with the marker set (RFC 5761 section 4)
_RTCP_TYPES = range(72, 77)


@dataclass(frozen=True, slots=True)
class RtpPacket:
    """One packet. `payload` is without padding; CSRC list and header extension are not kept.

    Raises ValueError for a number that doesn't fit its field.
    """

    payload_type: int
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes
    marker: bool = False

    def __post_init__(self) -> None:
        # one look for all, as this is done for every packet
        if (
            0 <= self.payload_type < 1 << 7
            and 0 <= self.sequence < 1 << 16
            and 0 <= self.timestamp < 1 << 32
            and 0 <= self.ssrc < 1 << 32
        ):
            return
        for name, value, bits in (
            ("payload type", self.payload_type, 7),
            ("sequence", self.sequence, 16),
            ("timestamp", self.timestamp, 32),
            ("SSRC", self.ssrc, 32),
        ):
            if value < 0 or value >> bits:
                raise ValueError(f"RTP {name} {value} does not fit into {bits} bits")


def parse(data: bytes) -> RtpPacket:
    """Read one datagram. Raises RtpError, and nothing else, whatever the bytes are."""
    if not data:
        raise RtpError("short")
    if data[0] >> 6 != VERSION:
        raise RtpError("version")
    if len(data) > 1 and data[1] & 0x7F in _RTCP_TYPES:
        raise RtpError("rtcp")
    if len(data) < _HEADER.size:
        raise RtpError("short")
    first, second, sequence, timestamp, ssrc = _HEADER.unpack_from(data)
    start = _HEADER.size + 4 * (first & 0x0F)
    if start > len(data):
        raise RtpError("csrc")
    if first & 0x10:
        start = _after_extension(data, start)
    end = len(data)
    if first & 0x20:
        end = _before_padding(data, start)
    return RtpPacket(second & 0x7F, sequence, timestamp, ssrc, bytes(data[start:end]), bool(second & 0x80))


def _after_extension(data: bytes, start: int) -> int:
    if start + _EXTENSION.size > len(data):
        raise RtpError("extension")
    _profile, words = _EXTENSION.unpack_from(data, start)
    after: int = start + _EXTENSION.size + 4 * words
    if after > len(data):
        raise RtpError("extension")
    return after


def _before_padding(data: bytes, start: int) -> int:
    # the last byte counts the padding, itself included, so 0 is as wrong as too many
    padding = data[-1]
    if not 0 < padding <= len(data) - start:
        raise RtpError("padding")
    return len(data) - padding


def build(packet: RtpPacket) -> bytes:
    """The datagram for a packet: no padding, no extension, no CSRC."""
    return build_datagram(
        packet.payload_type, packet.sequence, packet.timestamp, packet.ssrc, packet.payload, packet.marker
    )


def build_datagram(
    payload_type: int, sequence: int, timestamp: int, ssrc: int, payload: bytes, marker: bool
) -> bytes:
    """The same from numbers that fit their fields."""
    second = payload_type | (0x80 if marker else 0)
    return _HEADER.pack(VERSION << 6, second, sequence, timestamp, ssrc) + payload


def sequence_add(sequence: int, step: int) -> int:
    """The sequence number `step` packets on, wrapped at 16 bits."""
    return (sequence + step) & 0xFFFF


def timestamp_add(timestamp: int, samples: int) -> int:
    """The timestamp `samples` on, wrapped at 32 bits."""
    return (timestamp + samples) & 0xFFFFFFFF


def sequence_distance(later: int, earlier: int) -> int:
    """How many packets `later` is after `earlier`: -32768 to 32767, the shorter way round."""
    return ((later - earlier + 0x8000) & 0xFFFF) - 0x8000


def timestamp_distance(later: int, earlier: int) -> int:
    """How many samples `later` is after `earlier`: -2**31 to 2**31 - 1, the shorter way round."""
    return ((later - earlier + 0x80000000) & 0xFFFFFFFF) - 0x80000000
