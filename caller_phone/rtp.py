"""RTP packets and telephone events (RFC 3550 section 5.1, RFC 4733 section 2.3). Pure."""

import struct
from dataclasses import dataclass

from caller_phone.errors import RtpError

SAMPLE_RATE = 8000
PACKET_SAMPLES = 160
PTIME_S = 0.02

_HEADER = struct.Struct("!BBHII")
_EVENT = struct.Struct("!BBH")
DIGITS = "0123456789*#ABCD"


@dataclass(frozen=True, slots=True)
class RtpPacket:
    payload_type: int
    marker: bool
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes


def pack(packet: RtpPacket) -> bytes:
    """Numbers beyond their field wrap around."""
    kind = packet.payload_type | (0x80 if packet.marker else 0)
    header = _HEADER.pack(
        0x80, kind, packet.sequence & 0xFFFF, packet.timestamp & 0xFFFFFFFF, packet.ssrc & 0xFFFFFFFF
    )
    return header + packet.payload


def parse(data: bytes) -> RtpPacket:
    """Contributing sources, extension and padding are taken off. Raises RtpError only."""
    if len(data) < _HEADER.size:
        raise RtpError(f"{len(data)} bytes are no RTP packet")
    first, kind, sequence, timestamp, ssrc = _HEADER.unpack_from(data)
    if first >> 6 != 2:
        raise RtpError("not RTP version 2")
    # RTCP packet types as they look to an RTP reader (RFC 5761 section 4)
    if 192 <= kind <= 223:
        raise RtpError("RTCP on the RTP port")
    start = _HEADER.size + 4 * (first & 0x0F)
    if first & 0x10:
        if len(data) < start + 4:
            raise RtpError("the header extension is cut off")
        start += 4 + 4 * int.from_bytes(data[start + 2 : start + 4])
    end = len(data)
    if first & 0x20:
        padding = data[-1]
        if padding == 0:
            raise RtpError("a padding of 0 bytes")
        end -= padding
    if start > end:
        raise RtpError("the packet is shorter than its header says")
    return RtpPacket(kind & 0x7F, bool(kind & 0x80), sequence, timestamp, ssrc, data[start:end])


def telephone_event(digit: str, *, end: bool, duration: int) -> bytes:
    """The payload of one event packet; `duration` in samples. The level is -10 dBm0."""
    return _EVENT.pack(DIGITS.index(digit), (0x80 if end else 0) | 10, duration)
