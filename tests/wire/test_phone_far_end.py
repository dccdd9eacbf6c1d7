"""The phone against far ends that are made by hand: refused, mute, moving, holding, asking for a password."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest

from caller_phone.errors import CallFailed
from caller_phone.phone import Credentials, Phone, Timers
from caller_phone.sip_message import Request, make_response, parse, to_bytes

FAST = Timers(t1=0.02, t2=0.16, t4=0.2)


async def test_nobody_listening_is_told_at_once_with_the_address() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    async with Phone() as phone:
        with pytest.raises(CallFailed, match=f"nothing listens on udp 127.0.0.1:{port}") as failure:
            async with phone.call(f"sip:100@127.0.0.1:{port}"):
                pass
    assert failure.value.status is None


async def test_a_mute_peer_is_called_again_and_then_given_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        mute.setblocking(False)
        port = mute.getsockname()[1]
        async with Phone(timers=Timers(t1=0.01)) as phone:
            with pytest.raises(
                CallFailed, match=f"no answer to INVITE from udp 127.0.0.1:{port} within 0.64 s"
            ):
                async with phone.call(f"sip:100@127.0.0.1:{port}"):
                    pass
        datagrams = []
        with contextlib.suppress(BlockingIOError):
            while True:
                datagrams.append(mute.recv(4096))
    # the instants are the machine's and tested in virtual time
    assert len(datagrams) > 2
    assert len(set(datagrams)) == 1


class Peer:
    """A far end on a thread of its own that answers requests by a list of (status, reason, fields)."""

    def __init__(self, answers: list[tuple[int, str, tuple[tuple[str, str], ...]]]) -> None:
        self.answers = answers
        self.requests: list[Request] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Peer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        while data := self._socket.recvfrom(4096):
            if not data[0]:
                return
            request = parse(data[0])
            assert isinstance(request, Request)
            self.requests.append(request)
            if request.method != "ACK":
                status, reason, fields = self.answers.pop(0)
                response = make_response(request, status, reason, "peer", fields)
                self._socket.sendto(to_bytes(response), data[1])


async def test_a_password_is_given_when_asked_for() -> None:
    challenge = ("WWW-Authenticate", 'Digest realm="asterisk", nonce="abc", qop="auth", algorithm=MD5')
    with Peer([(401, "Unauthorized", (challenge,)), (404, "Not Found", ())]) as peer:
        async with Phone(timers=FAST) as phone:
            with pytest.raises(CallFailed, match=r"404 Not Found.*dialplan"):
                who = Credentials("alice", "secret")
                async with phone.call(f"sip:1@127.0.0.1:{peer.port}", credentials=who):
                    pass
    assert [request.method for request in peer.requests] == ["INVITE", "ACK", "INVITE", "ACK"]
    assert peer.requests[1].ids.to_tag == "peer"
    second = peer.requests[2]
    assert second.ids.cseq == peer.requests[0].ids.cseq + 1
    assert 'username="alice"' in second.headers.need("Authorization")
    assert "secret" not in repr(who)


async def test_the_cause_of_a_refusal_is_read() -> None:
    with Peer([(503, "Service Unavailable", (("Reason", "Q.850;cause=34"),))]) as peer:
        async with Phone(timers=FAST) as phone:
            with pytest.raises(CallFailed, match="cause 34") as failure:
                async with phone.call(f"sip:1@127.0.0.1:{peer.port}"):
                    pass
    assert (failure.value.status, failure.value.cause) == (503, 34)


async def test_an_answer_without_sound_is_ended_again() -> None:
    contact = ("Contact", "<sip:bot@localhost>")
    with Peer([(200, "OK", (contact,)), (200, "OK", ())]) as peer:
        async with Phone(timers=FAST) as phone:
            with pytest.raises(CallFailed, match="not in a way we can talk"):
                async with phone.call(f"sip:1@127.0.0.1:{peer.port}"):
                    pass
    assert [request.method for request in peer.requests] == ["INVITE", "ACK", "BYE"]
    assert peer.requests[1].ids.cseq == peer.requests[0].ids.cseq


def in_dialog(call: Request, method: str, cseq: int, body: str = "") -> bytes:
    """A request of the far end inside the dialog of the INVITE it got."""
    host_port = call.headers.need("Contact").partition("@")[2].rstrip(">")
    lines = [
        f"{method} sip:caller@{host_port} SIP/2.0",
        f"Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bK{method}{cseq}",
        f"From: {call.headers.need('To')};tag=peer",
        f"To: {call.headers.need('From')}",
        f"Call-ID: {call.ids.call_id}",
        f"CSeq: {cseq} {method}",
        "Reason: Q.850;cause=16",
        f"Content-Length: {len(body)}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


async def test_a_far_end_that_moves_holds_and_hangs_up() -> None:
    """Answer, re-INVITE to another port, hold, OPTIONS, BYE, each by hand."""
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        sip, first, second = (
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(3)
        )
        for sock in (sip, first, second):
            sock.bind(("127.0.0.1", 0))
            sock.setblocking(False)
        port = sip.getsockname()[1]

        def sdp(sock: socket.socket, direction: str = "sendrecv") -> str:
            media = sock.getsockname()[1]
            return (
                f"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                f"m=audio {media} RTP/AVP 0\r\na={direction}\r\n"
            )

        async def far_end() -> Request:
            data, peer = await loop.sock_recvfrom(sip, 4096)
            invite = parse(data)
            assert isinstance(invite, Request)
            fields = (("Contact", f"<sip:bot@127.0.0.1:{port}>"),)
            response = make_response(invite, 200, "OK", "peer", fields, sdp(first).encode())
            await loop.sock_sendto(sip, to_bytes(response), peer)
            return invite

        async def exchange(method: str, cseq: int, body: str = "") -> bytes:
            await loop.sock_sendto(sip, in_dialog(invite, method, cseq, body), phone.address)
            return (await loop.sock_recvfrom(sip, 4096))[0]

        async with Phone() as phone:
            answering = asyncio.create_task(far_end())
            async with phone.call(f"sip:1@127.0.0.1:{port}") as call:
                invite = await answering
                ack = parse((await loop.sock_recvfrom(sip, 4096))[0])
                assert isinstance(ack, Request)
                assert ack.method == "ACK"
                assert len(await loop.sock_recv(first, 4096)) == 172

                moved = await exchange("INVITE", 1, sdp(second))
                assert moved.startswith(b"SIP/2.0 200")
                assert b"a=sendrecv" in moved
                await loop.sock_sendto(sip, in_dialog(invite, "ACK", 1), phone.address)
                assert len(await loop.sock_recv(second, 4096)) == 172

                held = await exchange("INVITE", 2, sdp(second, "sendonly"))
                assert b"a=recvonly" in held
                await loop.sock_sendto(sip, in_dialog(invite, "ACK", 2), phone.address)

                assert (await exchange("OPTIONS", 3)).startswith(b"SIP/2.0 405")
                assert (await exchange("BYE", 4)).startswith(b"SIP/2.0 200")
                assert not call.is_up
                assert call.ended_by_far_end
                assert call.cause == 16
                sent_after_hold = call.recording().sent[-1].at_s
            assert sent_after_hold < time.monotonic()


async def test_an_unknown_dialog_is_refused_and_a_ping_is_answered() -> None:
    loop = asyncio.get_running_loop()
    with Peer([]) as _, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        async with Phone() as phone:

            async def ask(method: str, to: str) -> bytes:
                lines = [
                    f"{method} sip:phone@{phone.address[0]} SIP/2.0",
                    f"Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bK{method}",
                    "From: <sip:a@b>;tag=1",
                    f"To: {to}",
                    "Call-ID: x",
                    f"CSeq: 1 {method}",
                ]
                await loop.sock_sendto(sock, ("\r\n".join(lines) + "\r\n\r\n").encode(), phone.address)
                return (await loop.sock_recvfrom(sock, 4096))[0]

            await loop.sock_sendto(sock, b"\x00garbage", phone.address)
            assert (await ask("BYE", "<sip:c@d>;tag=nobody")).startswith(b"SIP/2.0 481")
            assert (await ask("CANCEL", "<sip:c@d>")).startswith(b"SIP/2.0 481")
            assert (await ask("OPTIONS", "<sip:c@d>")).startswith(b"SIP/2.0 200")


async def test_a_caller_that_never_acknowledges_is_hung_up() -> None:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        mute.setblocking(False)
        port = mute.getsockname()[1]
        body = f"v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio {port} RTP/AVP 0\r\n"
        lines = [
            "INVITE sip:phone@127.0.0.1 SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK1",
            "From: <sip:a@b>;tag=1",
            "To: <sip:phone@127.0.0.1>",
            "Call-ID: x",
            "CSeq: 1 INVITE",
            f"Contact: <sip:a@127.0.0.1:{port}>",
        ]
        async with Phone(timers=Timers(t1=0.005)) as phone:
            await loop.sock_sendto(mute, ("\r\n".join(lines) + "\r\n\r\n" + body).encode(), phone.address)
            with pytest.raises(CallFailed, match="never acknowledged"):
                async with phone.answer(timeout_s=5):
                    pass
        datagrams = []
        with contextlib.suppress(BlockingIOError):
            while True:
                datagrams.append(mute.recv(4096))
    starts = [data[:11] for data in datagrams]
    assert starts.count(b"SIP/2.0 200") > 2
    assert any(data.startswith(b"BYE sip:a@") for data in datagrams)
