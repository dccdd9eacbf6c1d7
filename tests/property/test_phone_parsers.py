"""Any bytes at all: the parsers raise their one error or nothing."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from caller_phone.dialog import Dialog
from caller_phone.errors import RtpError, SipError
from caller_phone.rtp import RtpPacket, pack
from caller_phone.rtp import parse as parse_rtp
from caller_phone.sdp import Codec, Direction, Media, describe, understand
from caller_phone.sip_message import Request, make_response, parse, parse_name_addr, parse_uri, to_bytes

GOOD = (
    b"INVITE sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:c@d>;tag=1\r\nTo: <sip:a@b>\r\n"
    b"Call-ID: x\r\nCSeq: 1 INVITE\r\nContact: <sip:c@d>\r\nContent-Length: 0\r\n\r\n"
)


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """A good message with some bytes replaced, put in or left out: deeper in than pure noise gets."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 5))] = draw(
            st.one_of(st.binary(max_size=4), st.sampled_from([b"<", b'"', b";", b",", b"\r\n", b":"]))
        )
    return bytes(data)


@given(st.one_of(st.binary(max_size=400), damaged(GOOD)))
def test_any_datagram_is_a_message_or_a_sip_error(data: bytes) -> None:
    with contextlib.suppress(SipError):
        message = parse(data)
        # what was understood can be answered, and starts a dialog or says why not
        to_bytes(message)
        if isinstance(message, Request):
            parse(to_bytes(make_response(message, 200, "OK", "t")))
            Dialog.answering(message, "127.0.0.1:1", "me", "t").request("BYE", "z9hG4bK2")


@given(st.one_of(st.text(max_size=80), st.text(alphabet='<>";,=:@ sip\\', max_size=80)))
def test_any_address_is_understood_or_a_sip_error(text: str) -> None:
    for parser in (parse_uri, parse_name_addr):
        with contextlib.suppress(SipError):
            parser(text)


@given(st.one_of(st.binary(max_size=300), damaged(describe(Media("127.0.0.1", 4000, (Codec.PCMU,)), 1))))
def test_any_description_is_understood_or_a_sip_error(body: bytes) -> None:
    with contextlib.suppress(SipError):
        understand(body)


@given(
    st.ip_addresses(),
    st.integers(1, 65535),
    st.permutations(list(Codec)),
    st.one_of(st.none(), st.integers(96, 127)),
    st.sampled_from(list(Direction)),
)
def test_what_we_describe_is_understood(
    host: object, port: int, codecs: list[Codec], events: int | None, direction: Direction
) -> None:
    media = Media(str(host), port, tuple(codecs), events, direction)
    theirs = understand(describe(media, 1))
    expected = Direction.NONE if str(host) in {"0.0.0.0", "::"} else direction
    assert theirs == Media(str(host), port, tuple(codecs), events, expected)


@given(st.binary(max_size=80))
def test_any_datagram_is_a_packet_or_an_rtp_error(data: bytes) -> None:
    with contextlib.suppress(RtpError):
        parse_rtp(data)


@given(
    st.builds(
        RtpPacket,
        st.sampled_from([0, 8, 13, 96, 101, 127]),
        st.booleans(),
        st.integers(0, 0xFFFF),
        st.integers(0, 0xFFFFFFFF),
        st.integers(0, 0xFFFFFFFF),
        st.binary(max_size=200),
    )
)
def test_a_packet_survives_the_wire(packet: RtpPacket) -> None:
    assert parse_rtp(pack(packet)) == packet
