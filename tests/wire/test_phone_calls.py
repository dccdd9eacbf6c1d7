"""Two phones talk to each other over real UDP; for faults the peer is a plain socket that says what it is told."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

from caller_phone.errors import CallEnded, CallFailed, PhoneError, SpeechFileError
from caller_phone.phone import Call, Codec, Credentials, Phone, Timers, local_host_for
from caller_phone.ruler import packet_figures, response_ms, talkspurts
from caller_phone.sip_message import Request, make_response, parse, to_bytes

FAST = Timers(t1=0.02, t2=0.16, t4=0.2)


def tone(ms: int, hz: float = 500.0) -> bytes:
    """pcm of a tone with 100 ms of silence on both sides."""
    wave = 8000 * np.sin(2 * np.pi * hz * np.arange(8 * ms) / 8000)
    return np.pad(wave, 800).astype("<i2").tobytes()


@pytest.fixture
async def phones() -> AsyncIterator[tuple[Phone, Phone]]:
    async with Phone(timers=FAST) as caller, Phone(timers=FAST) as callee:
        yield caller, callee


def uri(phone: Phone) -> str:
    host, port = phone.address
    return f"sip:100@{host}:{port}"


@contextlib.asynccontextmanager
async def talking(
    caller: Phone, callee: Phone, codec: Codec = Codec.PCMU
) -> AsyncIterator[tuple[Call, Call]]:
    """Both ends of one call that is up."""

    async def answer(ready: "asyncio.Future[Call]", done: asyncio.Event) -> None:
        async with callee.answer(timeout_s=5) as call:
            ready.set_result(call)
            await done.wait()

    ready: asyncio.Future[Call] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(answer(ready, done))
        async with caller.call(uri(callee), codecs=[codec]) as ours:
            yield ours, await ready
        done.set()


@pytest.mark.parametrize("codec", [Codec.PCMU, Codec.PCMA])
async def test_speech_arrives_as_it_was_said(phones: tuple[Phone, Phone], codec: Codec) -> None:
    async with talking(*phones, codec) as (caller, callee):
        said = await caller.say(tone(400))
        await caller.sleep(0.1)
        sent, heard = talkspurts(caller.recording().caller()), talkspurts(callee.recording().bot())
    assert len(sent) == len(heard) == 1
    assert sent[0].start_s == pytest.approx(said.first_voiced_s, abs=0.001)
    assert sent[0].end_s == pytest.approx(said.last_voiced_s, abs=0.001)
    assert said.last_voiced_s - said.first_voiced_s == pytest.approx(0.4, abs=0.08)
    assert heard[0].start_s >= sent[0].start_s
    figures = packet_figures(callee.recording().received)
    assert figures.missing == figures.duplicates == figures.overtaken == 0
    assert set(figures.timestamp_steps) == {160}
    assert figures.sources == 1


async def test_a_turn_is_measured_from_voice_to_voice(phones: tuple[Phone, Phone]) -> None:
    async with talking(*phones) as (caller, bot):
        said = await caller.say(tone(300))
        await bot.wait_for_bot_speech(2, since_s=said.first_voiced_s)
        await bot.wait_for_bot_quiet(250, timeout_s=3)
        answer = await bot.say(tone(300, 700))
        await caller.wait_for_bot_speech(2, since_s=said.last_voiced_s)
        last_s = await caller.wait_for_bot_quiet(300, timeout_s=3)
        measured = response_ms(talkspurts(caller.recording().bot()), said.last_voiced_s)
    assert measured == pytest.approx(1000 * (answer.first_voiced_s - said.last_voiced_s), abs=40)
    assert last_s == pytest.approx(answer.last_voiced_s, abs=0.04)


async def test_keys_arrive_as_telephone_events(phones: tuple[Phone, Phone]) -> None:
    async with talking(*phones) as (caller, callee):
        await caller.press("1#")
        events = [one.rtp for one in callee.recording().received if one.rtp.payload_type == 101]
        figures = packet_figures(callee.recording().received)
    assert [event.payload[0] for event in events] == [1] * 11 + [11] * 11
    assert len({event.timestamp for event in events}) == 2
    assert [event.payload[1] >> 7 for event in events] == ([0] * 8 + [1] * 3) * 2
    assert figures.missing == 0
    # a key of 11 ticks: the sound that follows is on the clock again
    assert set(figures.timestamp_steps) == {160}


async def test_a_hang_up_of_ours_is_answered_and_ends_theirs(phones: tuple[Phone, Phone]) -> None:
    async with talking(*phones) as (caller, callee):
        await caller.hang_up()
        await callee.wait_for_end(2)
        assert caller.bye_status == 200
        assert callee.ended_by_far_end
        assert not caller.ended_by_far_end
        with pytest.raises(CallEnded):
            await caller.say(tone(100))


async def test_their_hang_up_interrupts_what_we_say(phones: tuple[Phone, Phone]) -> None:
    async with talking(*phones) as (caller, callee):

        async def leave() -> None:
            await caller.wait_for_bot_quiet(200, 1)
            await callee.hang_up()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(leave())
            with pytest.raises(CallEnded):
                await caller.say(tone(5000))
        assert caller.ended_by_far_end
        assert caller.bye_status is None
        with pytest.raises(CallEnded):
            await caller.wait_for_bot_quiet(60_000, timeout_s=1)


async def test_a_phone_where_nobody_answers_is_busy(phones: tuple[Phone, Phone]) -> None:
    caller, callee = phones
    with pytest.raises(CallFailed, match="486 Busy Here") as failure:
        async with caller.call(uri(callee)):
            pass
    assert failure.value.status == 486


async def test_a_call_that_rings_too_long_is_cancelled(phones: tuple[Phone, Phone]) -> None:
    caller, callee = phones

    async def ring() -> None:
        with pytest.raises(CallFailed) as failure:
            async with callee.answer(ring_s=10):
                pass
        assert failure.value.status == 487

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ring())
        await asyncio.sleep(0)
        with pytest.raises(CallFailed, match="nobody answered"):
            async with caller.call(uri(callee), answer_timeout_s=0.2):
                pass


async def test_a_cancelled_caller_cancels_its_call(phones: tuple[Phone, Phone]) -> None:
    caller, callee = phones
    ringing = asyncio.Event()

    async def place() -> None:
        async with caller.call(uri(callee)):
            pass

    async def ring() -> None:
        ringing.set()
        with pytest.raises(CallFailed, match="gave up"):
            async with callee.answer(ring_s=10):
                pass

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ring())
        await ringing.wait()
        placing = tasks.create_task(place())
        await asyncio.sleep(0.1)
        placing.cancel()


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
    # timer A doubles from T1: 0, 1, 3, 7, 15, 31 and 63 times T1
    assert len(datagrams) == 7
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


async def test_nothing_stays_open(phones: tuple[Phone, Phone]) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    caller, callee = phones
    # the loop's own thread for name look-ups comes with the first call and stays
    async with talking(caller, callee):
        pass
    tasks, files, threads = len(asyncio.all_tasks()), open_files(), threading.active_count()
    for _ in range(3):
        async with talking(caller, callee) as (ours, _theirs):
            await ours.sleep(0.03)
    assert (len(asyncio.all_tasks()), open_files(), threading.active_count()) == (tasks, files, threads)


async def test_bad_wishes_are_refused_with_the_mend(phones: tuple[Phone, Phone], tmp_path: Path) -> None:
    with pytest.raises(PhoneError, match="wildcard"):
        Phone("0.0.0.0")
    with pytest.raises(PhoneError, match="can't open the SIP socket"):
        async with Phone(sip_port=phones[0].address[1]):
            pass
    with pytest.raises(CallFailed, match=r"can't find the host nowhere\.invalid"):
        async with phones[0].call("sip:1@nowhere.invalid"):
            pass
    assert local_host_for("sip:1@127.0.0.1:5060") == "127.0.0.1"
    text = tmp_path / "speech.wav"
    text.write_text("no sound")
    async with talking(*phones) as (caller, _):
        with pytest.raises(ValueError, match="no such key"):
            await caller.press("x")
        with pytest.raises(SpeechFileError, match=r"speech\.wav"):
            await caller.say(text)
        with pytest.raises(SpeechFileError, match="nothing audible"):
            await caller.say(bytes(3200))
        with pytest.raises(TimeoutError, match="said nothing"):
            await caller.wait_for_bot_speech(0.05)


@pytest.fixture
def narrow() -> Iterator[range]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    yield range(port & ~1, (port & ~1) + 2)


async def test_ports_of_a_range_and_their_end(narrow: range) -> None:
    async with (
        Phone(timers=FAST) as callee,
        Phone(timers=FAST, rtp_ports=narrow) as caller,
        talking(caller, callee) as (_, theirs),
    ):
        await theirs.sleep(0.05)
        with pytest.raises(PhoneError, match="widen the range"):
            async with caller.call(uri(callee)):
                pass
