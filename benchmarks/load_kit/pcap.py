"""Captures of UDP over IPv4 in the pcap format, stamped in nanoseconds. Pure.

The format is that of draft-ietf-opsawg-pcap with the magic number of nanosecond stamps and raw IP as link type, which
Wireshark and tcpdump read.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_MAGIC_NS = 0xA1B23C4D
_MAGIC_US = 0xA1B2C3D4
_RAW_IP = 101
_SNAP = 65_535
_FILE = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
# IPv4 without options (RFC 791 section 3.1), then UDP (RFC 768); no checksums
_IP_UDP = struct.Struct("!BBHHHBBH4s4sHHHH")
_UDP_BYTES = 8
_IP_BYTES = 20
_UDP = 17

HEADER = _FILE.pack(_MAGIC_NS, 2, 4, 0, 0, _SNAP, _RAW_IP)

Address = tuple[str, int]


class PcapError(ValueError):
    """Not a capture that can be read here."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """`at_s`: seconds of the wall clock."""

    at_s: float
    source: Address
    target: Address
    data: bytes


def record(stamp_ns: int, source: Address, target: Address, data: bytes) -> bytes:
    """One datagram as it follows `HEADER` or another record."""
    size = _IP_BYTES + _UDP_BYTES + len(data)
    seconds, rest = divmod(stamp_ns, 1_000_000_000)
    head = _IP_UDP.pack(
        0x45, 0, size, 0, 0, 64, _UDP, 0, _packed(source[0]), _packed(target[0]),
        source[1], target[1], _UDP_BYTES + len(data), 0,
    )  # fmt: skip
    return _RECORD.pack(seconds, rest, size, size) + head + data


@cache
def _packed(host: str) -> bytes:
    return bytes(map(int, host.split(".")))


def datagrams(capture: bytes) -> Iterator[Datagram]:
    """The UDP datagrams of a little-endian capture of raw IPv4, others left out. Raises PcapError.

    A last record that is cut off, as in a capture that was killed, is left out.
    """
    if len(capture) < _FILE.size:
        raise PcapError("too short for a capture")
    magic, *_, link = _FILE.unpack_from(capture)
    if magic not in (_MAGIC_NS, _MAGIC_US) or link != _RAW_IP:
        raise PcapError("not a capture of raw IP with the lowest byte first")
    unit = 1e-9 if magic == _MAGIC_NS else 1e-6
    at = _FILE.size
    while at + _RECORD.size <= len(capture):
        seconds, rest, size, _ = _RECORD.unpack_from(capture, at)
        at += _RECORD.size
        if at + size > len(capture):
            return
        if (found := _udp(capture[at : at + size])) is not None:
            yield Datagram(seconds + rest * unit, *found)
        at += size


def _udp(packet: bytes) -> tuple[Address, Address, bytes] | None:
    if len(packet) < _IP_BYTES + _UDP_BYTES or packet[0] >> 4 != 4 or packet[9] != _UDP:
        return None
    start = 4 * (packet[0] & 0x0F)
    if start < _IP_BYTES or len(packet) < start + _UDP_BYTES:
        return None
    source, target = (int.from_bytes(packet[at : at + 2]) for at in (start, start + 2))
    hosts = [".".join(map(str, packet[at : at + 4])) for at in (12, 16)]
    return (hosts[0], source), (hosts[1], target), packet[start + _UDP_BYTES :]
