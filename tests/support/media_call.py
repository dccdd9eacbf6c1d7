"""A call's media with a peer on the other side, for tests; mostly in virtual time, where the clock of the
pacer is the loop's.
"""

import asyncio
import time
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np

from media_bridge.events import (
    CallerHeard,
    MediaEvent,
)
from media_bridge.g711 import CODECS
from media_bridge.plane import MediaPlane
from media_bridge.rtp import RtpPacket, sequence_distance, timestamp_distance
from media_bridge.session import MediaSession
from media_bridge.settings import MediaSettings
from media_bridge.transport import RtpAddress
from tests.support.relay import Network
from tests.support.rtp_peer import FRAME_BYTES, RtpPeer
from tests.support.taps import CallerTap

SPEECH = Path(__file__).parent.parent / "data" / "speech"
SETTINGS = MediaSettings(port_start=29000, port_end=29198)
ULAW = CODECS["ulaw"]


def silence(seconds: float) -> bytes:
    return bytes(2 * int(8000 * seconds))


def tone(seconds: float, hertz: float = 440.0, level: float = 0.3) -> bytes:
    return tone_at(8000, seconds, hertz, level)


def tone_at(rate: int, seconds: float, hertz: float, level: float = 0.3) -> bytes:
    at = np.arange(int(rate * seconds)) / rate
    return (np.sin(2 * np.pi * hertz * at) * level * 32767).astype("<i2").tobytes()


def energy(pcm: bytes) -> float:
    """The sum of the squares of all samples."""
    return float(np.square(np.frombuffer(pcm, "<i2").astype(float)).sum())


def speech(name: str) -> bytes:
    with wave.open(str(SPEECH / name)) as clip:
        assert (clip.getframerate(), clip.getnchannels(), clip.getsampwidth()) == (8000, 1, 2)
        return bytes(clip.readframes(clip.getnframes()))


class Call:
    """One open session with its peer, and everything either side noticed."""

    def __init__(self, session: MediaSession, peer: RtpPeer, events: list[MediaEvent], tap: CallerTap):
        self.session = session
        self.peer = peer
        self.events = events
        self._tap = tap

    @property
    def caller_pcm(self) -> bytes:
        """What the bot made of the caller's packets."""
        return self._tap.pcm

    async def say(self, pcm: bytes, network: Network | None = None) -> None:
        """The caller speaks, at the loop's pace; a network may lose and delay the packets."""
        loop = asyncio.get_running_loop()
        start = last = loop.time()
        for index, offset in enumerate(range(0, len(pcm), FRAME_BYTES)):
            await asyncio.sleep(max(0.0, start + index * 0.02 - loop.time()))
            datagram = self.peer.next_frame(pcm[offset : offset + FRAME_BYTES])
            if network is None:
                self.peer.send(datagram)
                continue
            for at, data in network.carry(datagram, loop.time()):
                loop.call_at(at, self.peer.send, data)
                last = max(last, at)
        await asyncio.sleep(max(0.02, last - loop.time()))

    async def bot_says(self, turn: int, pcm: bytes, text: str = "Hello.") -> bool:
        self.session.start_turn(turn)
        self.session.begin_sentence(turn, text)
        done = all([await self.session.put(turn, pcm[at : at + 800]) for at in range(0, len(pcm), 800)])
        self.session.end_sentence(turn)
        self.session.end_turn(turn)
        return done


def address_of(session: MediaSession) -> tuple[str, int]:
    """Where Asterisk is told to send."""
    return session.offer.host, session.offer.port


@asynccontextmanager
async def one_call(settings: MediaSettings = SETTINGS) -> AsyncIterator[Call]:
    async with MediaPlane(settings) as plane, call_on(plane) as call:
        yield call


@asynccontextmanager
async def call_on(plane: MediaPlane, *, knows_peer: bool = True) -> AsyncIterator[Call]:
    events: list[MediaEvent] = []
    tap = CallerTap()
    with RtpPeer() as peer:

        def note(event: MediaEvent) -> None:
            # every call has this one, at an instant no scene is about
            if not isinstance(event, CallerHeard):
                events.append(event)

        async with plane.open("call-1", note, tap) as session:
            peer.talk_to(address_of(session))
            if knows_peer:
                await session.connect(RtpAddress(*peer.address))
            # off the grid, so that no packet is sent at the very instant of a tick
            await asyncio.sleep(0.007)
            yield Call(session, peer, events, tap)


def settle(peer: RtpPeer, count: int) -> list[RtpPacket]:
    """What the peer got, once its thread has read as many packets as were sent."""
    give_up_at = time.monotonic() + 5
    while len(peer.received) < count and time.monotonic() < give_up_at:
        time.sleep(0.005)
    packets = peer.packets()
    assert len(packets) == count
    return packets


def steps(packets: list[RtpPacket]) -> list[tuple[int, int]]:
    """From each packet to the next: (sequence, timestamp)."""
    return [
        (sequence_distance(b.sequence, a.sequence), timestamp_distance(b.timestamp, a.timestamp))
        for a, b in pairwise(packets)
    ]


def kinds(events: list[MediaEvent]) -> list[type]:
    return [type(event) for event in events]
