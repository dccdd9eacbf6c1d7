"""SIP messages, addresses, session descriptions, digests and dialogs."""

import contextlib

import pytest

from caller_phone.dialog import Dialog, ack_of_failure, cancel_of
from caller_phone.errors import CallFailed, SipError
from caller_phone.sdp import Codec, Direction, Media, describe, understand
from caller_phone.sip_auth import Credentials, authorise
from caller_phone.sip_message import (
    Headers,
    Request,
    Response,
    SipUri,
    make_request,
    make_response,
    parse,
    parse_name_addr,
    parse_uri,
    q850_cause,
    split_list,
    to_bytes,
)

# RFC 3261 section 24.2 with compact forms, a folded line and a body that is longer than it says
INVITE = b"""INVITE sip:bob@192.0.2.4 SIP/2.0
v: SIP/2.0/UDP server10.biloxi.example.com;branch=z9hG4bK4b43c2ff8.1
 ;received=192.0.2.3
Via: SIP/2.0/UDP pc33.atlanta.example.com;branch=z9hG4bKnashds8
Max-Forwards: 69
Record-Route: <sip:p1.example.com;lr>, <sip:p2.example.com;lr>
To: Bob <sip:bob@biloxi.example.com>
f: "Alice, or \\"A\\" <her>" <sip:alice@atlanta.example.com>;tag=1928301774
i: a84b4c76e66710
CSeq: 314159 INVITE
Contact: <sip:alice@pc33.atlanta.example.com:5070>
Content-Length: 3

v=0junk""".replace(b"\n", b"\r\n")


def request() -> Request:
    message = parse(INVITE)
    assert isinstance(message, Request)
    return message


def dialog() -> Dialog:
    return Dialog("127.0.0.1:5099", "me", "id1", "<sip:me@127.0.0.1>", "<sip:bot@pbx>", "t1", "sip:bot@pbx")


class TestParse:
    def test_compact_forms_folding_and_a_long_body(self) -> None:
        message = request()
        assert message.ids.branch == "z9hG4bK4b43c2ff8.1"
        assert message.ids.sent_by == "server10.biloxi.example.com"
        assert (message.ids.call_id, message.ids.cseq, message.ids.method) == (
            "a84b4c76e66710",
            314159,
            "INVITE",
        )
        assert (message.ids.from_tag, message.ids.to_tag) == ("1928301774", None)
        assert len(message.headers.all("Via")) == 2
        assert message.body == b"v=0"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"SIP/2.0\r\nv", b"SIP/3.0\r\nv"),
            (b"CSeq: 314159 INVITE", b"CSeq: 314159 BYE"),
            (b"CSeq: 314159 INVITE", b"CSeq: 99999999999 INVITE"),
            (b"CSeq: 314159 INVITE\r\n", b""),
            (b"i: a84b4c76e66710\r\n", b""),
            (b";branch=z9hG4bK4b43c2ff8.1", b""),
            (b"Content-Length: 3", b"Content-Length: 30"),
            (b"Content-Length: 3", b"Content-Length: -3"),
            (b"Max-Forwards: 69", b"Max-Forwards 69"),
            (b"Max-Forwards: 69", b"Max-Forwards: \xff"),
            (b"Max-Forwards: 69", b"Max-Forwards: 6\n9"),
            (b"\r\n\r\n", b"\r\n"),
        ],
    )
    def test_what_is_wrong_is_a_sip_error(self, old: bytes, new: bytes) -> None:
        assert old in INVITE
        with pytest.raises(SipError):
            parse(INVITE.replace(old, new))

    def test_a_status_line_may_have_an_empty_reason(self) -> None:
        text = to_bytes(make_response(request(), 180, ""))
        message = parse(text)
        assert isinstance(message, Response)
        assert (message.status, message.reason) == (180, "")

    @pytest.mark.timeout(20)
    @pytest.mark.parametrize(
        "value", [b"Bob <sip:bob@biloxi.example.com>", b"314159 INVITE", b"SIP/2.0/UDP pc33", b"3\r"]
    )
    @pytest.mark.parametrize(
        "filler", [b" ", b'"', b"\\", b"<", b",", b";", b"=", b'"\\', b'<"', b"\r\n ", b";a=", b',"']
    )
    def test_hostile_headers_cost_linear_time(self, value: bytes, filler: bytes) -> None:
        assert value in INVITE
        hostile = filler * (60_000 // len(filler))
        for text in (value + hostile, hostile + value, hostile, b'"' + hostile + b">"):
            with contextlib.suppress(SipError):
                message = parse(INVITE.replace(value, text))
                split_list(message.headers.all("To"))


class TestWrite:
    def test_a_request_survives_the_wire(self) -> None:
        built = dialog().request("INVITE", "z9hG4bK1", (("X-Test", "ä"),), b"body")
        parsed = parse(to_bytes(built))
        assert isinstance(parsed, Request)
        assert (parsed.method, parsed.uri, parsed.body, parsed.ids) == (
            "INVITE",
            "sip:bot@pbx",
            b"body",
            built.ids,
        )
        assert parsed.headers.first("x-test") == "ä"

    def test_a_response_copies_what_it_must_and_tags_the_first_only(self) -> None:
        response = make_response(request(), 200, "OK", "mine")
        assert response.headers.all("Via") == request().headers.all("Via")
        assert response.headers.all("Record-Route") == request().headers.all("Record-Route")
        assert response.ids.to_tag == "mine"
        inside = make_request("BYE", "sip:a@b", [*response.headers.fields[:-1], ("CSeq", "1 BYE")])
        assert make_response(inside, 200, "OK", "other").ids.to_tag == "mine"

    def test_a_line_break_cannot_be_smuggled_in(self) -> None:
        with pytest.raises(SipError, match="line break"):
            to_bytes(dialog().request("INVITE", "z9hG4bK1", (("X-Name", "a\r\nEvil: 1"),)))

    def test_a_message_larger_than_a_datagram_is_refused(self) -> None:
        with pytest.raises(SipError, match="datagram"):
            to_bytes(dialog().request("INVITE", "z9hG4bK1", body=bytes(65_500)))


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "uri"),
        [
            ("sip:1000@127.0.0.1:5060", SipUri("1000", "127.0.0.1", 5060)),
            ("sip:pbx.example.com;transport=udp", SipUri(None, "pbx.example.com", None)),
            ("sip:a:b@[::1]:5070;lr", SipUri("a:b", "::1", 5070)),
        ],
    )
    def test_uris(self, text: str, uri: SipUri) -> None:
        assert parse_uri(text) == uri

    @pytest.mark.parametrize(
        "text", ["", "1000@host", "sips:a@b", "tel:123", "sip:", "sip:a@b:0", "sip:a@b:70000"]
    )
    def test_no_uris(self, text: str) -> None:
        with pytest.raises(SipError):
            parse_uri(text)

    def test_names_with_anything_in_quotes(self) -> None:
        uri, params = parse_name_addr('"a <b>;c=\\"d\\"" <sip:x@y;lr> ; Tag=1;flag')
        assert (uri, params) == ("sip:x@y;lr", {"tag": "1", "flag": ""})
        assert parse_name_addr("sip:x@y;tag=2") == ("sip:x@y", {"tag": "2"})

    def test_lists_split_outside_quotes_and_brackets(self) -> None:
        assert split_list(['"a,b" <sip:x@y,z>, <sip:q>', "<sip:r>"]) == [
            '"a,b" <sip:x@y,z>',
            "<sip:q>",
            "<sip:r>",
        ]

    def test_the_cause_is_the_one_of_q850(self) -> None:
        assert q850_cause(Headers((("Reason", 'SIP;cause=200, Q.850 ; cause=17;text="User, busy"'),))) == 17
        assert q850_cause(Headers((("Reason", "Q.850;cause=x"),))) is None


class TestDialog:
    def test_a_2xx_sets_target_tag_and_reversed_route(self) -> None:
        talk = dialog()
        invite = talk.request("INVITE", "z9hG4bK1")
        fields = (("Contact", "<sip:bot@10.0.0.9:5062>"), ("Record-Route", "<sip:p2;lr>, <sip:p1;lr>"))
        talk.accepted(make_response(invite, 200, "OK", "far", fields))
        ack, bye = talk.ack(invite.ids.cseq, "z9hG4bK2"), talk.request("BYE", "z9hG4bK3")
        assert ack.uri == bye.uri == "sip:bot@10.0.0.9:5062"
        assert ack.headers.all("Route") == ("<sip:p1;lr>", "<sip:p2;lr>")
        assert talk.next_hop() == "sip:p1;lr"
        assert (ack.ids.cseq, ack.ids.method, bye.ids.cseq) == (1, "ACK", 2)
        assert bye.ids.to_tag == "far"

    def test_cancel_and_ack_of_a_failure_belong_to_the_invite(self) -> None:
        invite = dialog().request("INVITE", "z9hG4bK1")
        cancel = cancel_of(invite)
        ack = ack_of_failure(invite, make_response(invite, 486, "Busy Here", "far"))
        for message in (cancel, ack):
            assert (message.ids.branch, message.ids.cseq, message.uri) == ("z9hG4bK1", 1, invite.uri)
        assert (cancel.ids.to_tag, ack.ids.to_tag) == (None, "far")

    def test_the_answering_side_looks_the_other_way(self) -> None:
        talk = Dialog.answering(request(), "127.0.0.1:5099", "bob", "mine")
        bye = talk.request("BYE", "z9hG4bK1")
        assert (bye.ids.from_tag, bye.ids.to_tag, bye.ids.call_id) == ("mine", "1928301774", "a84b4c76e66710")
        assert bye.uri == "sip:alice@pc33.atlanta.example.com:5070"
        assert bye.headers.all("Route") == ("<sip:p1.example.com;lr>", "<sip:p2.example.com;lr>")


class TestSessionDescription:
    def test_ours_is_understood(self) -> None:
        ours = Media("127.0.0.1", 4000, (Codec.PCMA, Codec.PCMU), 101, Direction.SEND)
        assert understand(describe(ours, 7)) == ours

    def test_the_audio_stream_is_found_among_others(self) -> None:
        body = (
            b"v=0\no=- 1 1 IN IP4 10.0.0.1\ns=-\nc=IN IP4 10.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\na=inactive\n"
            b"m=audio 4000 RTP/AVP 9 8 96\nc=IN IP4 10.0.0.2/127\na=rtpmap:96 telephone-event/8000\na=sendonly\n"
            b"m=audio 5000 RTP/AVP 0\na=inactive\n"
        )
        assert understand(body) == Media("10.0.0.2", 4000, (Codec.PCMA,), 96, Direction.SEND)

    def test_hold_by_address_zero(self) -> None:
        body = describe(Media("0.0.0.0", 4000, (Codec.PCMU,), None), 1)
        assert understand(body).direction is Direction.NONE

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\xff",
            b"v=0\nm=audio 4000 RTP/AVP 0",
            b"c=IN IP4 10.0.0.1\nm=audio 0 RTP/AVP 0",
            b"c=IN IP4 10.0.0.1\nm=audio 4000 RTP/SAVP 0",
            b"c=IN IP4 10.0.0.1\nm=audio 4000 RTP/AVP 9",
            b"c=IN IP4 pbx.example.com\nm=audio 4000 RTP/AVP 0",
            b"c=IN\nm=audio 4000 RTP/AVP 0",
        ],
    )
    def test_what_we_cannot_use_is_a_sip_error(self, body: bytes) -> None:
        with pytest.raises(SipError):
            understand(body)


class TestDigest:
    def challenge(self, value: str, status: int = 401) -> Response:
        name = "WWW-Authenticate" if status == 401 else "Proxy-Authenticate"
        return make_response(request(), status, "Who?", "t", ((name, value),))

    # RFC 7616 section 3.9.1 (the arithmetic does not care that it is HTTP)
    @pytest.mark.parametrize(
        ("algorithm", "proof"),
        [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ],
    )
    def test_the_example_of_the_rfc(self, algorithm: str, proof: str) -> None:
        value = (
            f'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={algorithm}, '
            'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", '
            'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
        )
        who = Credentials("Mufasa", "Circle of Life")
        cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        name, answer = authorise(self.challenge(value), "GET", "/dir/index.html", who, cnonce)
        assert name == "Authorization"
        assert f'response="{proof}"' in answer
        assert 'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"' in answer

    def test_a_proxy_is_answered_in_its_own_header_and_without_qop(self) -> None:
        # RFC 2069's formula, by hand: MD5(MD5(u:r:p):n:MD5(INVITE:sip:b))
        name, answer = authorise(
            self.challenge('Digest realm="r", nonce="n"', 407), "INVITE", "sip:b", Credentials("u", "p"), "c"
        )
        assert name == "Proxy-Authorization"
        assert "qop" not in answer
        assert 'response="208a46f24adeedbf04821e4f6208c551"' in answer

    def test_an_unknown_scheme_is_a_sip_error(self) -> None:
        with pytest.raises(SipError, match="401 without a Digest challenge"):
            authorise(self.challenge("Bearer x"), "INVITE", "sip:b", Credentials("u", "p"), "c")


def test_a_refusal_says_what_to_check() -> None:
    assert "ari show apps" in str(CallFailed(603, "Decline"))
    assert str(CallFailed(599, "Odd", 34)) == "599 Odd (Q.850 cause 34)"
