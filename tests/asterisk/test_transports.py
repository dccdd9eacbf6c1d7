"""Each transport on a real Asterisk, to the sample: what a phone gets of what the bot says, and what is stopped.

The bot's sound is made of frames that mu-law carries unchanged and that tell their number, so the phone's packets say
exactly which of them were heard.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from caller_phone.call import Call
from caller_phone.phone import Phone
from media_bridge.events import CallerHeard, MediaClosed, MediaEvent, PlayoutFinished, PlayoutStarted
from media_bridge.g711 import ulaw_to_pcm
from media_bridge.plane import MediaPlane
from media_bridge.session import MediaSession
from media_bridge.settings import Codec, MediaSettings, TransportName
from stasis_app.ari.events import StasisStart
from stasis_app.ari.link import AriLink
from stasis_app.legs import external_leg
from stasis_app.settings import AriSettings
from tests.support.bot import nothing_left
from tests.support.rig import two_ports
from voicebot.asterisk import AsteriskProcess

pytestmark = pytest.mark.asyncio(loop_scope="session")

SAME_BYTES = [("rtp", "ulaw"), ("websocket", "ulaw"), ("audiosocket", "slin")]
"""Over these the phone's mu-law is what was said, byte for byte."""
WIDE = [("rtp", "g722"), ("websocket", "slin16"), ("audiosocket", "slin16")]
FRAME = 160


def numbered(frames: int) -> bytes:
    """So many frames of pcm. Number n is one loud mu-law value all along, the same again after 60 frames."""
    return b"".join(ulaw_to_pcm(bytes([0x80 + n % 60])) * FRAME for n in range(frames))


def numbers(phone: Call) -> list[int]:
    """The numbers of the whole frames the phone got, in the order in which they came; faded ones are left out."""
    payloads = [packet.rtp.payload for packet in phone.recording().received]
    return [payload[-1] - 0x80 for payload in payloads if 0x80 <= payload[-1] < 0x80 + 60]


@dataclass
class Line:
    """A phone and the bot's end of its call."""

    session: MediaSession
    phone: Call
    events: list[MediaEvent] = field(default_factory=list)

    @property
    def late_s(self) -> float:
        """How far the machine kept the bot from its time at worst: as long may it keep us from seeing it."""
        return self.session.stats().max_late_ms / 1000

    async def say(self, turn: int, pcm: bytes, rate: int = 8000) -> None:
        self.session.start_turn(turn)
        self.session.begin_sentence(turn, "These are numbers.")
        for at in range(0, len(pcm), rate // 10):
            await self.session.put(turn, pcm[at : at + rate // 10])
        self.session.end_sentence(turn)
        self.session.end_turn(turn)

    async def until(self, kind: type[MediaEvent], within_s: float = 10) -> None:
        async with asyncio.timeout(within_s):
            while not any(isinstance(event, kind) for event in self.events):  # noqa: ASYNC110 - a list tells nothing
                await asyncio.sleep(0.005)


@asynccontextmanager
async def line(asterisk: AsteriskProcess, transport: TransportName, codec: Codec) -> AsyncIterator[Line]:
    """A call from the phone, bridged with a media session; nothing of it is left afterwards."""
    settings = MediaSettings(
        transport=transport, codec=codec, port_start=31_000, port_end=31_198, audiosocket_port=two_ports()
    )
    ari = AriSettings(url=asterisk.ari_url, username=asterisk.ari_user, password=asterisk.ari_password)
    callers: asyncio.Queue[StasisStart] = asyncio.Queue()
    events: list[MediaEvent] = []
    async with (
        MediaPlane(settings) as plane,
        AriLink(ari, "transports", callers.put_nowait, lambda _: None) as link,
        plane.open("c1", events.append) as session,
        Phone() as phones,
    ):
        ready = asyncio.Event()

        async def carry() -> None:
            caller = (await callers.get()).channel.id
            async with external_leg(link.ari, link.hub, caller, "c1", session.offer, session.connect):
                ready.set()
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(link.run()), asyncio.create_task(carry())]
        try:
            async with asyncio.timeout(5):
                while not link.connected:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.01)
            async with phones.call(f"sip:1000@127.0.0.1:{asterisk.sip_port}") as phone:
                await ready.wait()
                yield Line(session, phone, events)
        finally:
            # the leg first: it asks over the link
            for task in reversed(tasks):
                task.cancel()
                await asyncio.wait({task})
    await nothing_left(asterisk)


def consecutive(heard: list[int]) -> bool:
    return all(b == (a + 1) % 60 for a, b in pairwise(heard))


@pytest.mark.parametrize(("transport", "codec"), SAME_BYTES)
async def test_every_frame_is_heard_once_and_in_order(
    asterisk: AsteriskProcess, transport: TransportName, codec: Codec
) -> None:
    async with line(asterisk, transport, codec) as call:
        await call.say(1, numbered(150))
        await call.until(PlayoutFinished)
        await asyncio.sleep(0.1)
        heard = numbers(call.phone)
        assert len(heard) == 150
        assert consecutive(heard)
        assert call.session.heard().sentences[0].whole
        assert call.session.stats().underruns == 0


@pytest.mark.parametrize(("transport", "codec"), SAME_BYTES)
async def test_a_pause_is_silent_at_once_and_goes_on_at_the_exact_sample(
    asterisk: AsteriskProcess, transport: TransportName, codec: Codec
) -> None:
    async with line(asterisk, transport, codec) as call:
        await call.say(1, numbered(90))
        for _ in range(3):
            await asyncio.sleep(0.217)
            call.session.pause()
            await asyncio.sleep(0.06 + call.late_s)
            at_pause = len(numbers(call.phone))
            await asyncio.sleep(0.3)
            assert len(numbers(call.phone)) == at_pause, "nothing of it is heard 60 ms after the pause"
            assert call.session.heard().sentences[0].played_samples == at_pause * FRAME
            call.session.resume()
        await call.until(PlayoutFinished)
        await asyncio.sleep(0.1)
        heard = numbers(call.phone)
        assert len(heard) == 90
        assert consecutive(heard)


@pytest.mark.parametrize(("transport", "codec"), SAME_BYTES)
async def test_after_a_flush_nothing_is_heard_and_what_was_is_known(
    asterisk: AsteriskProcess, transport: TransportName, codec: Codec
) -> None:
    async with line(asterisk, transport, codec) as call:
        await call.say(1, numbered(90))
        await asyncio.sleep(0.613)
        heard = call.session.flush().sentences[0].played_samples // FRAME
        await asyncio.sleep(0.06 + call.late_s)
        got = numbers(call.phone)
        await asyncio.sleep(0.2)
        assert numbers(call.phone) == got
        # exact where what is sent is heard; a websocket's queue is played by Asterisk's clock (docs/decisions/0004)
        assert abs(heard - len(got)) <= (1 if transport == "websocket" else 0)
        # the next turn is heard without delay, and nothing of the old one in it
        await call.say(2, numbered(30))
        await asyncio.sleep(1.0)
        assert numbers(call.phone)[len(got) :] == list(range(30))


@pytest.mark.parametrize(("transport", "codec"), [*SAME_BYTES, *WIDE, ("rtp", "alaw"), ("rtp", "slin")])
async def test_the_stream_never_pauses_and_both_hear_each_other(
    asterisk: AsteriskProcess, transport: TransportName, codec: Codec
) -> None:
    async with line(asterisk, transport, codec) as call:
        assert call.session.rate == (16_000 if codec in ("g722", "slin16") else 8000)
        await call.until(CallerHeard)
        await call.say(1, numbered(25) * (call.session.rate // 8000), call.session.rate)
        await asyncio.sleep(0.3)
        call.session.pause()
        await asyncio.sleep(0.2)
        call.session.resume()
        await asyncio.sleep(1.0)
        received = call.phone.recording().received
        gaps = [b.at_s - a.at_s for a, b in pairwise(received[5:])]
        assert max(gaps) < 0.1 + call.late_s
        assert {b.rtp.sequence - a.rtp.sequence for a, b in pairwise(received)} <= {1, 1 - 65536}
        assert any(isinstance(event, PlayoutStarted) for event in call.events)
        stats = call.session.stats()
        assert stats.packets_in > 40
        assert not stats.dropped
        assert not any(isinstance(event, MediaClosed) for event in call.events)


@pytest.mark.parametrize("transport", ["websocket", "audiosocket"])
async def test_a_media_channel_that_is_taken_away_is_told(
    asterisk: AsteriskProcess, transport: TransportName
) -> None:
    async with line(asterisk, transport, "slin16") as call:
        await call.until(CallerHeard)
        found = await asterisk.cli("core show channels concise")
        media = next(row.split("!")[0] for row in found.splitlines() if not row.startswith("PJSIP/"))
        await asterisk.cli(f"channel request hangup {media}")
        await call.until(MediaClosed)
