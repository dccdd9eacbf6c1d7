"""Somebody on the network who has guessed every number of a call and speaks into it."""

import socket
import threading
import time
from dataclasses import replace
from types import TracebackType
from typing import Literal, Self

from media_bridge.errors import RtpError
from media_bridge.g711 import CODECS
from media_bridge.rtp import RtpPacket, build, parse, sequence_add, timestamp_add
from tests.support.detour import Leg
from tests.support.media_call import tone
from tests.support.relay import Address, Relay

HZ = 1900
_PAYLOAD = CODECS["ulaw"].encode(tone(0.02, HZ))


class Attacker:
    """A context manager: while it is open, 50 packets a second go to either end of the leg.

    They come from another port of the right host or, with `place` "host", from the right port of another host, and
    have the numbers that the right stream would have had next when the attack began.
    """

    def __init__(self, leg: Leg, place: Literal["port", "host"]) -> None:
        # (the end that is spoken to, the side of the relay whose stream is imitated, the address it has)
        ends = [(leg.bot, 0, leg.relay.right), (leg.asterisk, 1, leg.relay.left)]
        self._leg = leg
        self._attacks = [
            (_bound(("127.0.0.1", 0) if place == "port" else ("127.0.0.2", imitated[1])), end, side)
            for end, side, imitated in ends
        ]
        self.sent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="attacker", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        for sock, _, _ in self._attacks:
            sock.close()

    def _run(self) -> None:
        start = time.monotonic()
        numbers: dict[int, RtpPacket] = {}
        rounds = 0
        while not self._over.wait(max(0.0, start + rounds * 0.02 - time.monotonic())):
            rounds += 1
            for sock, end, side in self._attacks:
                if side not in numbers or not numbers[side].ssrc:
                    numbers[side] = following(self._leg.relay, side)
                sock.sendto(build(numbers[side]), end)
                numbers[side] = _next(numbers[side])
                self.sent += 1


def following(relay: Relay, side: int) -> RtpPacket:
    """A packet of the attacker's tone that follows in the stream from that side; SSRC 0 if there is none yet."""
    try:
        return _next(parse(relay.latest[side]))
    except RtpError:
        # nothing was sent yet: begin before the right one does
        return _next(RtpPacket(0, 0, 0, 0, b""))


def _next(packet: RtpPacket) -> RtpPacket:
    return replace(
        packet,
        payload_type=0,
        sequence=sequence_add(packet.sequence, 1),
        timestamp=timestamp_add(packet.timestamp, 160),
        payload=_PAYLOAD,
    )


def _bound(place: Address) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(place)
    return sock
