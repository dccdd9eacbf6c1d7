"""The parser raises RtpError or nothing, and reads back whatever was built."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

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

packets = st.builds(
    RtpPacket,
    # 72 to 76 are RTCP's
    payload_type=st.integers(0, 127).filter(lambda number: not 72 <= number <= 76),
    sequence=st.integers(0, 0xFFFF),
    timestamp=st.integers(0, 0xFFFFFFFF),
    ssrc=st.integers(0, 0xFFFFFFFF),
    payload=st.binary(max_size=400),
    marker=st.booleans(),
)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_packet_or_an_rtp_error(data: bytes) -> None:
    with contextlib.suppress(RtpError):
        parse(data)


@given(packets, st.integers(0, 255), st.integers(0, 60))
def test_any_header_bits_and_any_cut_are_a_packet_or_an_rtp_error(
    packet: RtpPacket, first: int, cut: int
) -> None:
    data = bytearray(build(packet))
    data[0] = first
    with contextlib.suppress(RtpError):
        parse(bytes(data[: len(data) - cut] if cut else data))


@given(packets)
def test_what_was_built_is_read_back(packet: RtpPacket) -> None:
    assert parse(build(packet)) == packet


@given(
    packets,
    st.lists(st.binary(min_size=4, max_size=4), max_size=15),
    st.binary(max_size=40),
    st.integers(0, 255),
)
def test_the_payload_is_found_between_csrc_extension_and_padding(
    packet: RtpPacket, csrc: list[bytes], words: bytes, padding: int
) -> None:
    plain = build(packet)
    extension = words[: len(words) & ~3]
    header = bytes([plain[0] | 0x10 | (0x20 if padding else 0) | len(csrc)]) + plain[1:12]
    middle = b"".join(csrc) + b"\xbe\xde" + (len(extension) // 4).to_bytes(2, "big") + extension
    tail = bytes(padding - 1) + bytes([padding]) if padding else b""
    assert parse(header + middle + packet.payload + tail) == packet


@given(st.integers(0, 0xFFFF), st.integers(-0x8000, 0x7FFF))
def test_a_sequence_distance_undoes_a_step(start: int, step: int) -> None:
    assert sequence_distance(sequence_add(start, step), start) == step


@given(st.integers(0, 0xFFFFFFFF), st.integers(-(2**31), 2**31 - 1))
def test_a_timestamp_distance_undoes_a_step(start: int, step: int) -> None:
    assert timestamp_distance(timestamp_add(start, step), start) == step
