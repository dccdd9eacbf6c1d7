"""Asterisk's end of a talk's media channel over each transport: says what the caller says, notes what they hear."""

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from typing import Any, Protocol, cast
from uuid import UUID

import numpy as np

from media_bridge.audiosocket_messages import Audio, AudioSocketParser, audio_message
from media_bridge.g711 import CODECS
from media_bridge.rtp import RtpPacket, build, parse
from media_bridge.settings import TransportName
from tests.support.chan_websocket import ChanWebsocket
from tests.support.fake_ari import FakeAri

ULAW = CODECS["ulaw"]
FRAME_BYTES = 320
FRAME_S = 0.02
_WIDE = 16_000
_LOUD = 200.0


@dataclass(frozen=True, slots=True)
class Spurt:
    """The bot sounded at `hz` from `start` to `end`, seconds of the talk's clock."""

    hz: int
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


class PhoneLine(Protocol):
    """A packet of the caller's each 20 ms, of silence when nothing is said; keeps all it gets."""

    ear: "Ear"
    dead: bool

    async def open(self) -> None:
        """Before the call."""

    async def run(self) -> None:
        """For ever, from the moment at which Asterisk was asked for the channel."""

    def close(self) -> None:
        """After the call."""


class Ear:
    """What the caller hears, and what they are about to say."""

    def __init__(self) -> None:
        self.spurts: list[Spurt] = []
        self.suppresses = False
        """A packet of silence is not sent."""
        self.longest_silence_s = 0.0
        """In which the bot said nothing, and the caller neither spoke nor pressed a key, of the call so far."""
        self._to_say = bytearray()
        self._silent_since: float | None = None

    def hear(self, pcm: bytes) -> None:
        """20 ms of any rate."""
        hz, at = _pitch(pcm), asyncio.get_running_loop().time()
        self._count_silence(at, broken=bool(hz or self._to_say))
        last = self.spurts[-1] if self.spurts else None
        if hz and last and last.hz == hz and at - last.end < FRAME_S / 2:
            self.spurts[-1] = Spurt(hz, last.start, at + FRAME_S)
        elif hz:
            self.spurts.append(Spurt(hz, at, at + FRAME_S))

    def caller_acts(self) -> None:
        """By other means than this line."""
        self._silent_since = None

    def _count_silence(self, at: float, *, broken: bool) -> None:
        if broken or self._silent_since is None:
            self._silent_since = at
        self.longest_silence_s = max(self.longest_silence_s, at - self._silent_since)

    def next_frame(self) -> bytes | None:
        """The caller's next 20 ms at 8 kHz; None: nothing is sent."""
        if self.suppresses and not self._to_say:
            return None
        frame = bytes(self._to_say[:FRAME_BYTES]).ljust(FRAME_BYTES, b"\0")
        del self._to_say[:FRAME_BYTES]
        return frame

    def fall_silent(self) -> None:
        """The caller says no more of it."""
        self._to_say.clear()

    async def say(self, pcm: bytes) -> None:
        """The caller says this; returns when the last of it has left."""
        self._to_say += pcm
        while self._to_say:  # noqa: ASYNC110 - in virtual time it costs nothing
            await asyncio.sleep(FRAME_S)


class RtpLine(asyncio.DatagramProtocol):
    def __init__(self, ari: FakeAri) -> None:
        self.ear = Ear()
        self.dead = False
        self.heard: list[tuple[float, int]] = []
        """When each packet came, and its sequence number."""
        self._ari = ari
        self._sent = self._ticks = 0

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._ari.peer_port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, _: Any) -> None:
        packet = parse(data)
        self.heard.append((asyncio.get_running_loop().time(), packet.sequence))
        self.ear.hear(ULAW.decode(packet.payload))

    async def run(self) -> None:
        """To the end of the newest media channel."""
        async for _ in _ticks():
            frame = self.ear.next_frame()
            self._ticks += 1
            if frame is None:
                continue
            timestamp = self._ticks * 160
            packet = RtpPacket(0, self._sent % 65536, timestamp % 2**32, 77, ULAW.encode(frame))
            # between two calls there is nowhere to send to
            if not self.dead and self._ari.media_asked:
                self._transport.sendto(build(packet), _address(self._ari))
            self._sent += 1

    def close(self) -> None:
        self._transport.close()


class WebsocketLine(ChanWebsocket):
    def __init__(self, ari: FakeAri) -> None:
        super().__init__()
        self.ear = Ear()
        self.dead = False
        self._ari = ari
        self._opened = asyncio.Event()

    async def open(self) -> None:
        self._ari.media_socket = self.serve

    async def run(self) -> None:
        await self._opened.wait()
        async for _ in _ticks():
            frame = self.ear.next_frame()
            if frame is not None and not self.dead:
                with contextlib.suppress(ConnectionError):  # the bot has hung up
                    await self.send(_wide(frame))

    def close(self) -> None:
        pass

    async def _announce(self) -> None:
        await super()._announce()
        self._ari.open_websocket()
        self._opened.set()

    async def _tick(self) -> None:
        await super()._tick()
        if self.played[-1] is not None:
            self.ear.hear(self.played[-1])


class AudioSocketLine:
    def __init__(self, ari: FakeAri) -> None:
        self.ear = Ear()
        self.dead = False
        self._ari = ari
        self._sock = socket.socket()

    async def open(self) -> None:
        self._sock.setblocking(False)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self._sock, _address(self._ari))
        await loop.sock_sendall(self._sock, b"\x01\x00\x10" + UUID(self._ari.media_asked["data"]).bytes)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            async for _ in _ticks():
                frame = self.ear.next_frame()
                if frame is not None and not self.dead:
                    with contextlib.suppress(ConnectionError):  # the bot has hung up
                        await loop.sock_sendall(self._sock, audio_message(_wide(frame), _WIDE))

    def close(self) -> None:
        self._sock.close()

    async def _listen(self) -> None:
        parser = AudioSocketParser(_WIDE)
        with contextlib.suppress(ConnectionError):
            while data := await asyncio.get_running_loop().sock_recv(self._sock, 1 << 16):
                for message in parser.feed(data):
                    if isinstance(message, Audio):
                        self.ear.hear(message.pcm)


LINES: dict[TransportName, type[RtpLine] | type[WebsocketLine] | type[AudioSocketLine]] = {
    "rtp": RtpLine,
    "websocket": WebsocketLine,
    "audiosocket": AudioSocketLine,
}


async def _ticks() -> Any:
    loop = asyncio.get_running_loop()
    due = loop.time()
    while True:
        yield due
        due += FRAME_S
        await asyncio.sleep(due - loop.time())


def _address(ari: FakeAri) -> tuple[str, int]:
    """Where Asterisk was told to send the sound."""
    host, _, port = ari.media_asked["external_host"].rpartition(":")
    return host, int(port)


def _wide(pcm: bytes) -> bytes:
    """8 kHz as 16 kHz."""
    narrow = np.frombuffer(pcm, "<i2")
    return np.repeat(narrow, 2).astype("<i2").tobytes()


def _pitch(pcm: bytes) -> int:
    """The fake voice's tone in these 20 ms, in steps of 50 Hz; 0: silence."""
    samples = np.frombuffer(pcm, "<i2").astype(float)
    if float(np.sqrt(np.mean(np.square(samples)))) < _LOUD:
        return 0
    return int(np.argmax(np.abs(np.fft.rfft(samples)))) * 50
