"""RTP packets (RFC 3550 section 5.1) and arithmetic on their numbers."""

import struct
from dataclasses import replace
from typing import Any

import pytest

from media_bridge.errors import RtpError
from media_bridge.rtp import (
    RtpPacket,
    build,
    parse,
    sequence_add,
    sequence_distance,
    timestamp_add,
    timestamp_distance,
)


def datagram(first: int = 0x80, second: int = 0, body: bytes = b"voice") -> bytes:
    return struct.pack("!BBHII", first, second, 7, 160, 0xCAFE) + body


def test_a_plain_packet_is_read_field_by_field() -> None:
    data = bytes.fromhex("80 88 ffff 01020304 cafebabe") + b"\xd5" * 160
    assert parse(data) == RtpPacket(8, 0xFFFF, 0x01020304, 0xCAFEBABE, b"\xd5" * 160, marker=True)


def test_the_bytes_of_a_packet_are_those_of_the_rfc() -> None:
    packet = RtpPacket(0, 1, 2, 3, b"\xff\xfe", marker=True)
    assert build(packet) == bytes.fromhex("80 80 0001 00000002 00000003 fffe")


def test_csrc_extension_and_padding_are_no_voice() -> None:
    extension = struct.pack("!HH", 0xBEDE, 1) + b"EXTN"
    data = datagram(0x80 | 0x20 | 0x10 | 2, body=b"CSRCCSRC" + extension + b"voice" + b"\0\0\x03")
    assert parse(data).payload == b"voice"


def test_a_packet_of_nothing_but_padding_has_an_empty_payload() -> None:
    assert parse(datagram(0xA0, body=b"\0\0\0\x04")).payload == b""


def test_the_padding_of_the_payload_is_kept_where_the_bit_is_clear() -> None:
    assert parse(datagram(0x80, body=b"\0\0\x03")).payload == b"\0\0\x03"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "short"),
        (b"\x80", "short"),
        (datagram(body=b"")[:11], "short"),
        (datagram(0x40), "version"),
        (b"\x00" * 172, "version"),
        (b"\xff" * 172, "version"),
        (datagram(0x81, body=b"abc"), "csrc"),
        (datagram(0x8F, body=b"abcd" * 14), "csrc"),
        (datagram(0x90, body=b"abc"), "extension"),
        (datagram(0x90, body=struct.pack("!HH", 1, 2) + b"abcd"), "extension"),
        (datagram(0xA0, body=b"abc\0"), "padding"),
        (datagram(0xA0, body=b"abc\x05"), "padding"),
        (datagram(0xA0, body=b""), "padding"),
        # a sender report, a receiver report of 8 bytes, BYE, APP
        (bytes.fromhex("80c80006") + bytes(24), "rtcp"),
        (bytes.fromhex("80c90001cafebabe"), "rtcp"),
        (bytes.fromhex("81cb0001cafebabe"), "rtcp"),
        (datagram(second=0x80 | 76), "rtcp"),
    ],
)
def test_what_is_no_rtp_is_refused_with_its_reason(data: bytes, why: str) -> None:
    with pytest.raises(RtpError) as caught:
        parse(data)
    assert caught.value.why == why


@pytest.mark.parametrize("second", [71, 77, 0x80 | 71, 0x80 | 77])
def test_the_types_beside_rtcp_are_rtp(second: int) -> None:
    assert parse(datagram(second=second)).payload_type == second & 0x7F


@pytest.mark.parametrize("field", ["payload_type", "sequence", "timestamp", "ssrc"])
@pytest.mark.parametrize("value", [-1, 1 << 33])
def test_a_number_beyond_its_field_is_named(field: str, value: int) -> None:
    changes: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=str(value)):
        replace(RtpPacket(0, 0, 0, 0, b""), **changes)


def test_numbers_wrap() -> None:
    assert sequence_add(0xFFFF, 2) == 1
    assert timestamp_add(0xFFFFFFF0, 160) == 144
    assert sequence_distance(1, 0xFFFF) == 2
    assert sequence_distance(0xFFFF, 1) == -2
    assert timestamp_distance(144, 0xFFFFFFF0) == 160
    assert timestamp_distance(0xFFFFFFF0, 144) == -160
