"""The tap of the load test between a SIPp and an Asterisk that the test plays: nothing is changed but addresses."""

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.load_kit.ruler import Outcome, judge
from benchmarks.load_kit.system import child
from caller_phone.rtp import RtpPacket, pack
from caller_phone.sdp import Codec, Media, describe, understand
from caller_phone.sip_message import Request, Response, parse
from tests.support.rig import free_ports

HOST = "127.0.0.1"
PATIENCE_S = 20.0


class End:
    """One side: its SIP socket and its sound's."""

    def __init__(self) -> None:
        self.sip, self.sound = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for sock in (self.sip, self.sound):
            sock.bind((HOST, 0))
            sock.settimeout(PATIENCE_S)

    def sdp(self) -> bytes:
        return describe(Media(HOST, self.sound.getsockname()[1], (Codec.PCMU,)), 1)

    def message(self) -> Request | Response:
        return parse(self.sip.recv(4096))

    def hears(self) -> tuple[bytes, int]:
        data, (_, port) = self.sound.recvfrom(4096)
        return data, port


@contextmanager
def two_ends() -> Iterator[tuple[End, End]]:
    ends = End(), End()
    try:
        yield ends
    finally:
        for end in ends:
            end.sip.close()
            end.sound.close()


def message(start: str, cseq: str, body: bytes = b"") -> bytes:
    head = (
        f"{start}\r\nVia: SIP/2.0/UDP {HOST}:1;branch=z9hG4bK-1\r\nFrom: <sip:a@{HOST}>;tag=1\r\n"
        f"To: <sip:b@{HOST}>;tag=2\r\nCall-ID: call-1\r\nCSeq: {cseq}\r\n"
        f"Contact: <sip:a@{HOST}>\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def rtp(number: int, ssrc: int) -> bytes:
    return pack(RtpPacket(0, False, number, 160 * number, ssrc, bytes([number]) * 160))


async def test_it_passes_everything_on_and_writes_it_down(tmp_path: Path) -> None:
    with two_ends() as (caller, asterisk):
        tap = (HOST, free_ports(1)[0])
        first = free_ports(1)[0] & ~1
        command = [sys.executable, "-m", "benchmarks.load_kit.tap"]
        at = f"{HOST}:{asterisk.sip.getsockname()[1]}"
        async with child([*command, at, str(tap[1]), str(first), str(first + 40), str(tmp_path)]):
            await asyncio.to_thread(a_call, caller, asterisk, tap)
    it = judge(the_capture(tmp_path))
    assert it.outcome is Outcome.FINISHED
    assert (it.packets.packets, it.packets.missing, len(it.caller_gaps_ms)) == (3, 0, 4)


def the_capture(folder: Path) -> bytes:
    (path,) = folder.iterdir()
    return path.read_bytes()


def a_call(caller: End, asterisk: End, tap: tuple[str, int]) -> None:
    caller.sip.sendto(message("INVITE sip:b@127.0.0.1 SIP/2.0", "1 INVITE", caller.sdp()), tap)
    invite = asterisk.message()
    assert isinstance(invite, Request)
    to_tap = (HOST, understand(invite.body).port)
    assert to_tap[1] != caller.sound.getsockname()[1]
    asterisk.sip.sendto(message("SIP/2.0 200 OK", "1 INVITE", asterisk.sdp()), tap)
    answer = caller.message()
    assert isinstance(answer, Response)
    assert understand(answer.body).port == to_tap[1]
    for number in range(5):
        caller.sound.sendto(rtp(number, 1), to_tap)
        assert asterisk.hears() == (rtp(number, 1), to_tap[1])
    for number in range(3):
        asterisk.sound.sendto(rtp(number, 2), to_tap)
        assert caller.hears() == (rtp(number, 2), to_tap[1])
    # what a stranger sends is neither passed on nor written down
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(rtp(9, 3), to_tap)
    caller.sip.sendto(message("BYE sip:b@127.0.0.1 SIP/2.0", "2 BYE"), tap)
    bye = asterisk.message()
    assert isinstance(bye, Request)
    assert bye.method == "BYE"
    asterisk.sip.sendto(message("SIP/2.0 200 OK", "2 BYE"), tap)
    assert isinstance(caller.message(), Response)
