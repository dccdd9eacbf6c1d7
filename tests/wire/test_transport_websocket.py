"""A call over a media websocket, Asterisk's end of it played by a small copy of chan_websocket."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from media_bridge.errors import MediaError
from media_bridge.events import (
    CallerHeard,
    MediaClosed,
    MediaEvent,
    PlayoutFinished,
    PlayoutStarted,
    SpeechEnded,
)
from media_bridge.g711 import pcm_to_ulaw
from media_bridge.plane import MediaPlane
from media_bridge.session import MediaSession
from media_bridge.settings import Medium
from media_bridge.transport import MediaUrl, Offer, RtpAddress
from media_bridge.transport_websocket import LEAD_FRAMES
from tests.support.chan_websocket import ChanWebsocket, serving
from tests.support.media_call import SETTINGS, speech
from tests.support.taps import CallerTap
from tests.support.virtual_time import VirtualTimeLoop

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
WEBSOCKET = SETTINGS.model_copy(update={"transport": "websocket"})
ULAW = WEBSOCKET.model_copy(update={"codec": "ulaw"})
RATE = 16_000
FRAME = 320


@dataclass
class Line:
    session: MediaSession
    asterisk: ChanWebsocket
    events: list[MediaEvent]
    tap: CallerTap

    async def say(self, turn: int, pcm: bytes, piece: int = 1600) -> None:
        self.session.start_turn(turn)
        self.session.begin_sentence(turn, "These are numbers.")
        for at in range(0, len(pcm), piece):
            await self.session.put(turn, pcm[at : at + piece])
        self.session.end_sentence(turn)
        self.session.end_turn(turn)

    @property
    def kinds(self) -> list[type]:
        return [type(event) for event in self.events if not isinstance(event, CallerHeard)]


@asynccontextmanager
async def line(channel: ChanWebsocket | None = None) -> AsyncIterator[Line]:
    events: list[MediaEvent] = []
    tap = CallerTap()
    async with (
        serving(channel or ChanWebsocket()) as asterisk,
        MediaPlane(WEBSOCKET) as plane,
        plane.open("call-1", events.append, tap) as session,
    ):
        assert session.offer == Offer(Medium("websocket", "slin16"))
        await session.connect(MediaUrl(asterisk.url))
        yield Line(session, asterisk, events, tap)


def numbered(frames: int, first: int = 0) -> bytes:
    """So many frames of pcm at 16 kHz; all samples of number n are 1000 + n."""
    return b"".join(np.full(FRAME, 1000 + n, "<i2").tobytes() for n in range(first, first + frames))


def numbers(frames: list[bytes]) -> list[int]:
    """The numbers of speech frames; of a faded one, by its last sample, which is silence if it faded away."""
    last = [int(np.frombuffer(frame, "<i2")[-1]) for frame in frames]
    return [value - 1000 for value in last if value]


class TestTheBotsVoice:
    def test_a_turn_is_heard_whole_in_order_and_without_a_gap(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(1)
                await call.say(1, numbered(100))
                await asyncio.sleep(3)
                assert numbers(call.asterisk.heard) == list(range(100))
                assert None not in call.asterisk.played[2:]
                assert call.kinds == [PlayoutStarted, PlayoutFinished]
                assert call.session.heard().sentences[0].whole
                assert call.session.heard().rate == RATE
                assert call.session.stats().underruns == 0

        virtual_time(main())

    def test_the_first_word_does_not_wait_behind_silence(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(1)
                before = len(call.asterisk.played)
                await call.say(1, numbered(50))
                await asyncio.sleep(2)
                first = next(n for n, frame in enumerate(call.asterisk.played) if frame and any(frame))
                assert first - before <= 2
                (started, _finished) = [event for event in call.events if not isinstance(event, CallerHeard)]
                assert isinstance(started, PlayoutStarted)
                assert call.session.first_packet_at(1) == started.at

        virtual_time(main())

    def test_asterisk_is_given_only_a_little_ahead(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                await call.say(1, numbered(100))
                for _ in range(100):
                    await asyncio.sleep(0.0173)
                    assert (
                        len([item for item in call.asterisk.queue if isinstance(item, bytes)])
                        <= LEAD_FRAMES + 1
                    )

        virtual_time(main())

    @pytest.mark.parametrize("after_s", [0.3, 0.307, 0.313, 0.3199])
    def test_a_pause_cuts_at_once_and_goes_on_at_the_exact_sample(
        self, virtual_time: RunVirtual, after_s: float
    ) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(1)
                await call.say(1, numbered(60))
                await asyncio.sleep(after_s)
                call.session.pause()
                await asyncio.sleep(0.03)
                at_pause = len(numbers(call.asterisk.heard))
                assert call.session.heard().sentences[0].played_samples == at_pause * FRAME
                assert at_pause <= (after_s + 0.06) / 0.02
                await asyncio.sleep(0.5)
                assert len(numbers(call.asterisk.heard)) == at_pause
                call.session.resume()
                await asyncio.sleep(2)
                assert numbers(call.asterisk.heard) == list(range(60))
                assert call.kinds == [PlayoutStarted, PlayoutFinished]
                # the cut costs no packet of the stream
                assert None not in call.asterisk.played[2:]

        virtual_time(main())

    def test_an_asterisk_that_does_not_count_is_judged_by_the_clock(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line(ChanWebsocket(mute={"GET_STATUS"})) as call:
                await asyncio.sleep(1)
                await call.say(1, numbered(60))
                await asyncio.sleep(0.5)
                call.session.pause()
                await asyncio.sleep(0.3)
                call.session.resume()
                await asyncio.sleep(2)
                heard = numbers(call.asterisk.heard)
                # one frame too many or too few, at most
                assert abs(len(heard) - 60) <= 1
                assert set(heard) >= set(range(60)) - {heard[0]} or len(set(range(60)) - set(heard)) <= 1

        virtual_time(main())

    def test_a_pause_at_the_very_end_still_finishes_the_turn(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            for after_s in (0.30, 0.34, 0.38, 0.40, 0.42):
                async with line() as call:
                    await asyncio.sleep(0.5)
                    await call.say(1, numbered(20))
                    await asyncio.sleep(after_s)
                    call.session.pause()
                    await asyncio.sleep(0.2)
                    call.session.resume()
                    await asyncio.sleep(1)
                    assert numbers(call.asterisk.heard) == list(range(20))
                    assert call.kinds == [PlayoutStarted, PlayoutFinished]

        virtual_time(main())

    @pytest.mark.parametrize("after_s", [0.1, 0.1999, 0.2131, 0.3333, 0.5071, 0.9, 1.0])
    @pytest.mark.parametrize("paused", [False, True])
    def test_a_flush_is_right_to_a_frame_and_exact_after_a_pause(
        self, virtual_time: RunVirtual, after_s: float, paused: bool
    ) -> None:
        """Why not always: docs/decisions/0004."""

        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(1)
                await call.say(1, numbered(60))
                await asyncio.sleep(after_s)
                if paused:
                    call.session.pause()
                    await asyncio.sleep(0.05)
                played = call.session.flush().sentences[0].played_samples // FRAME
                await asyncio.sleep(0.05)
                assert abs(played - len(numbers(call.asterisk.heard))) <= (0 if paused else 1)

        virtual_time(main())

    def test_after_a_flush_nothing_more_is_heard(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(1)
                await call.say(1, numbered(60))
                await asyncio.sleep(0.513)
                heard = call.session.flush()
                await asyncio.sleep(0.003)
                got = numbers(call.asterisk.heard)
                assert abs(heard.sentences[0].played_samples // FRAME - len(got)) <= 1
                await asyncio.sleep(1)
                assert numbers(call.asterisk.heard) == got
                assert call.kinds == [PlayoutStarted]
                assert not heard.finished
                # and what comes next is not held up by it
                await call.say(2, numbered(10, first=100))
                await asyncio.sleep(0.5)
                assert numbers(call.asterisk.heard)[len(got) :] == list(range(100, 110))

        virtual_time(main())

    def test_a_flush_right_after_a_pause_brings_nothing_back(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(1)
                await call.say(1, numbered(60))
                await asyncio.sleep(0.5)
                call.session.pause()
                call.session.flush()
                await call.say(2, numbered(10, first=100))
                await asyncio.sleep(1)
                heard = numbers(call.asterisk.heard)
                assert heard[-10:] == list(range(100, 110))
                assert heard[:-10] == list(range(len(heard) - 10))

        virtual_time(main())

    def test_slow_speech_runs_dry_and_goes_on_without_waiting(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                call.session.start_turn(1)
                await call.session.put(1, numbered(10))
                await asyncio.sleep(0.5)
                await call.session.put(1, numbered(10, first=10))
                call.session.end_turn(1)
                await asyncio.sleep(0.5)
                assert numbers(call.asterisk.heard) == list(range(20))
                assert 10 <= call.session.stats().underruns <= 18
                assert None not in call.asterisk.played[2:]

        virtual_time(main())

    def test_a_stall_of_the_process_is_not_heard_while_the_lead_lasts(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                loop = asyncio.get_running_loop()
                assert isinstance(loop, VirtualTimeLoop)
                await call.say(1, numbered(90))
                await asyncio.sleep(0.5)
                loop.freeze(0.06)
                await asyncio.sleep(2.5)
                assert numbers(call.asterisk.heard) == list(range(90))

        virtual_time(main())

    def test_a_full_asterisk_is_given_nothing_until_it_says_so(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(0.5)
                await call.asterisk.send('{"event":"MEDIA_XOFF","channel_id":"m"}')
                await asyncio.sleep(0.005)
                await call.say(1, numbered(20))
                await asyncio.sleep(1)
                assert numbers(call.asterisk.heard) == []
                await call.asterisk.send('{"event":"MEDIA_XON","channel_id":"m"}')
                await asyncio.sleep(1)
                assert numbers(call.asterisk.heard) == list(range(20))

        virtual_time(main())

    def test_mu_law_is_carried_too(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            channel = ChanWebsocket(codec="ulaw", frame_bytes=160)
            async with (
                serving(channel),
                MediaPlane(ULAW) as plane,
                plane.open("call-1", lambda _event: None) as session,
            ):
                await session.connect(MediaUrl(channel.url))
                assert session.rate == 8000
                pcm = np.full(160 * 20, 8031, "<i2").tobytes()
                session.start_turn(1)
                await session.put(1, pcm)
                session.end_turn(1)
                await asyncio.sleep(1)
                assert channel.heard.count(pcm_to_ulaw(pcm[:320])) == 20

        virtual_time(main())


class TestTheCallersVoice:
    def test_it_is_heard_wide_and_judged_at_8_khz(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                said = np.repeat(np.frombuffer(speech("price01.wav"), "<i2"), 2).astype("<i2").tobytes()
                await call.asterisk.say(bytes(2 * RATE) + said + bytes(2 * RATE * 2))
                ended = [event for event in call.events if isinstance(event, SpeechEnded)]
                assert len(ended) == 1
                utterance = ended[0].utterance
                assert utterance.rate == RATE
                # its last 140 ms at most are made of the quiet before them
                assert utterance.pcm[: -2 * RATE * 140 // 1000] in call.tap.pcm
                seconds = len(utterance.pcm) / 2 / RATE
                assert seconds == pytest.approx(utterance.ended - utterance.started + 0.6, abs=0.05)

        virtual_time(main())

    def test_keys_complaints_and_garbage_are_counted_and_harm_nothing(
        self, virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> dict[str, int]:
            async with line() as call:
                for text in (
                    '{"event":"DTMF_END","digit":"5","channel_id":"m"}',
                    '{"event":"ERROR","error_text":"not now","channel_id":"m"}',
                    '{"event":"STATUS","queue_length":3}',
                    '{"event":"NOVELTY"}',
                    "garbage",
                    '{"event":"STATUS"}',
                ):
                    await call.asterisk.send(text)
                await call.asterisk.send(b"")
                await call.asterisk.say(bytes(640 * 10))
                await call.say(1, numbered(10))
                await asyncio.sleep(0.5)
                assert numbers(call.asterisk.heard) == list(range(10))
                return dict(call.session.stats().dropped)

        assert virtual_time(main()) == {"not_voice": 1, "malformed": 2, "empty": 1}
        assert "not now" in caplog.text


class TestTheConnection:
    async def test_the_end_of_the_channel_is_told_once(self) -> None:
        async with line() as call:
            await asyncio.sleep(0.1)
            await call.asterisk.hang_up()
            await asyncio.sleep(0.1)
            (closed,) = [event for event in call.events if isinstance(event, MediaClosed)]
            assert closed.reason == "Asterisk closed the media websocket (code 1000)"
            # all that may still be asked is answered
            call.session.pause()
            call.session.resume()
            await call.say(1, numbered(5))
            call.session.flush()

    @pytest.mark.parametrize(
        ("start", "says"),
        [
            ({"event": "MEDIA_START", "format": "ulaw", "optimal_frame_size": 160}, "instead of .*slin16"),
            ({"event": "MEDIA_XON"}, "instead of"),
            ("MEDIA_START connection_id:c format:slin16", r"22\.8"),
            ("garbage", "not JSON"),
        ],
    )
    async def test_an_end_that_speaks_otherwise_is_refused(
        self, start: dict[str, Any] | str, says: str
    ) -> None:
        with pytest.raises(MediaError, match=says):
            async with line(ChanWebsocket(start=start)):
                pass

    async def test_what_cannot_be_reached_is_named_without_the_secret_id(self) -> None:
        async with (
            serving(ChanWebsocket()) as asterisk,
            MediaPlane(WEBSOCKET) as plane,
            plane.open("call-1", lambda _event: None) as session,
        ):
            for url in (asterisk.url + "-wrong", "ws://127.0.0.1:1/media/s3cret"):
                with pytest.raises(MediaError) as failed:
                    await session.connect(MediaUrl(url))
                assert "c0ffee" not in str(failed.value)
                assert "s3cret" not in str(failed.value)
            with pytest.raises(MediaError, match="RtpAddress for media over websocket"):
                await session.connect(RtpAddress("127.0.0.1", 4000))

    async def test_an_asterisk_that_never_begins_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("media_bridge.transport_websocket.CONNECT_S", 0.1)
        monkeypatch.setattr(ChanWebsocket, "_announce", _nothing)
        with pytest.raises(MediaError, match=r"did not begin its media websocket within 0\.1 s"):
            async with line():
                pass


async def _nothing(_: ChanWebsocket) -> None:
    pass
