"""The bot's side of a call's media on real UDP: a steady stream, its voice, its timers and fences."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from media_bridge.events import (
    CallerHeard,
    MediaEvent,
    MediaFailed,
    MediaTimeout,
    PlayoutFinished,
    PlayoutStarted,
)
from media_bridge.g711 import CODECS
from media_bridge.pacer import MAX_CATCH_UP
from media_bridge.plane import MediaPlane
from media_bridge.rtp import RtpPacket, timestamp_distance
from media_bridge.settings import Codec
from media_bridge.transport import RtpAddress
from tests.support.media_call import (
    SETTINGS,
    ULAW,
    address_of,
    call_on,
    kinds,
    one_call,
    settle,
    silence,
    steps,
    tone,
)
from tests.support.rtp_peer import FRAME_BYTES, RtpPeer, until
from tests.support.taps import BrokenTap
from tests.support.virtual_time import VirtualTimeLoop

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

SILENT_PAYLOAD = ULAW.encode(bytes(FRAME_BYTES))


class TestSteadySending:
    def test_a_packet_leaves_every_20_ms_also_in_silence(self, virtual_time: RunVirtual) -> None:
        async def main() -> list[RtpPacket]:
            async with one_call() as call:
                await asyncio.sleep(2.0)
                return settle(call.peer, call.session.stats().packets_out)

        packets = virtual_time(main())
        assert 99 <= len(packets) <= 101
        assert set(steps(packets)) == {(1, 160)}
        assert {packet.payload for packet in packets} == {SILENT_PAYLOAD}
        assert [packet.marker for packet in packets] == [True] + [False] * (len(packets) - 1)

    def test_nothing_leaves_before_the_peer_is_known_and_nothing_of_the_greeting_is_lost(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> list[RtpPacket]:
            async with MediaPlane(SETTINGS) as plane, call_on(plane, knows_peer=False) as call:
                await call.bot_says(1, tone(0.1))
                await asyncio.sleep(1.0)
                assert call.session.stats().packets_out == 0
                assert call.events == []
                await call.session.connect(RtpAddress(*call.peer.address))
                await asyncio.sleep(0.2)
                assert call.session.heard().sentences[0].whole
                return settle(call.peer, call.session.stats().packets_out)

        assert virtual_time(main())[0].payload == ULAW.encode(tone(0.02))

    def test_a_frozen_process_skips_ahead_instead_of_bursting(self, virtual_time: RunVirtual) -> None:
        async def main() -> tuple[list[RtpPacket], int]:
            async with one_call() as call:
                await asyncio.sleep(1.005)
                before = call.session.stats().packets_out
                loop = asyncio.get_running_loop()
                assert isinstance(loop, VirtualTimeLoop)
                loop.freeze(8.0)
                await asyncio.sleep(0.001)
                assert call.session.stats().packets_out - before == 1
                assert call.session.stats().skipped == 399
                await asyncio.sleep(1.0)
                return settle(call.peer, call.session.stats().packets_out), before

        packets, before = virtual_time(main())
        assert steps(packets)[before - 1] == (1, 400 * 160)
        assert packets[before].marker
        assert [step for n, step in enumerate(steps(packets)) if n != before - 1] == [(1, 160)] * (
            len(packets) - 2
        )

    async def test_a_loop_that_stalls_now_and_then_makes_up_for_it_in_small_bursts(self) -> None:
        """In real time: the peer's thread takes the times."""
        async with one_call() as call:
            for _ in range(10):
                await asyncio.sleep(0.2)
                time.sleep(0.03)  # noqa: ASYNC251 - the stall is the test
            stats = call.session.stats()
            await until(lambda: len(call.peer.received) >= stats.packets_out)
        received = call.peer.received
        packets = call.peer.packets()
        assert {step for step, _samples in steps(packets)} == {1}
        # where the machine itself stalled longer, timestamps say so: no time is lost and none is added
        assert timestamp_distance(packets[-1].timestamp, packets[0].timestamp) // 160 >= stats.packets_out - 1
        assert stats.packets_out + stats.skipped >= 2.2 / 0.02
        for n, first in enumerate(received):
            burst = sum(1 for later in received[n:] if later.at - first.at < 0.015)
            assert burst <= MAX_CATCH_UP + 1

    @pytest.mark.parametrize("codec", ["alaw", "slin"])
    def test_other_codecs(self, virtual_time: RunVirtual, codec: Codec) -> None:
        settings = SETTINGS.model_copy(update={"codec": codec})

        async def main() -> list[RtpPacket]:
            async with one_call(settings) as call:
                await call.bot_says(1, tone(0.1))
                await asyncio.sleep(0.1)
                return settle(call.peer, call.session.stats().packets_out)

        packets = virtual_time(main())
        assert packets[1].payload == CODECS[codec].encode(tone(0.02))
        assert {packet.payload_type for packet in packets} == {CODECS[codec].payload_type}
        assert set(steps(packets)) == {(1, 160)}


class TestTheBotsVoice:
    def test_a_second_of_sound_arrives_bit_exact(self, virtual_time: RunVirtual) -> None:
        async def main() -> tuple[bytes, list[MediaEvent], float | None]:
            async with one_call() as call:
                await asyncio.sleep(0.5)
                assert await call.bot_says(1, tone(1.0))
                await asyncio.sleep(1.5)
                settle(call.peer, call.session.stats().packets_out)
                return call.peer.heard(), call.events, call.session.first_packet_at(1)

        heard, events, first_at = virtual_time(main())
        expected = ULAW.decode(ULAW.encode(tone(1.0)))
        assert heard.count(expected) == 1
        assert not any(heard.replace(expected, b""))
        assert kinds(events) == [PlayoutStarted, PlayoutFinished]
        started, finished = events
        assert isinstance(started, PlayoutStarted)
        assert isinstance(finished, PlayoutFinished)
        assert (started.turn, finished.turn) == (1, 1)
        assert first_at == started.at
        assert finished.at - started.at == pytest.approx(1.0)

    def test_after_a_flush_the_next_tick_is_silent_and_marked(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with one_call() as call:
                await call.bot_says(1, tone(1.5))
                await asyncio.sleep(0.5)
                before = call.session.stats().packets_out
                heard = call.session.flush()
                assert call.session.heard() == heard
                # one packet went out before the turn was opened
                assert heard.sentences[0].played_samples == (before - 1) * 160
                await asyncio.sleep(1.0)
                packets = settle(call.peer, call.session.stats().packets_out)
                assert SILENT_PAYLOAD not in {packet.payload for packet in packets[2:before]}
                assert {packet.payload for packet in packets[before:]} == {SILENT_PAYLOAD}
                assert packets[before].marker
                assert not any(packet.marker for packet in packets[before + 1 :])
                assert kinds(call.events) == [PlayoutStarted]
                # the flushed turn takes nothing any more, at once
                assert not await call.session.put(1, tone(0.1))

        virtual_time(main())

    @pytest.mark.parametrize("after_s", [0.0, 0.011, 0.1999, 0.2, 0.3333, 0.5071, 0.9, 1.19])
    @pytest.mark.parametrize("paused", [False, True])
    def test_a_flush_says_to_the_sample_what_the_wire_has_carried(
        self, virtual_time: RunVirtual, after_s: float, paused: bool
    ) -> None:
        # each frame is one loud mu-law value all along
        values = [0x80 + number for number in range(60)]
        pcm = b"".join(ULAW.decode(bytes([value]) * 160) for value in values)

        async def main() -> None:
            async with one_call() as call:
                await call.bot_says(1, pcm)
                if paused:
                    await asyncio.sleep(0.107)
                    call.session.pause()
                    await asyncio.sleep(0.2)
                    call.session.resume()
                await asyncio.sleep(after_s)
                played = call.session.flush().sentences[0].played_samples
                await asyncio.sleep(0.3)
                packets = settle(call.peer, call.session.stats().packets_out)
                # what fades in or out has another beginning
                carried = [packet.payload[-1] for packet in packets if packet.payload[-1] in values]
                assert carried == values[: len(carried)]
                assert played == 160 * len(carried)

        virtual_time(main())

    def test_a_pause_loses_nothing(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with one_call() as call:
                await call.bot_says(1, tone(1.0))
                await asyncio.sleep(0.5)
                call.session.pause()
                await asyncio.sleep(0.5)
                assert call.session.heard().sentences[0].played_samples < 8000
                call.session.resume()
                await asyncio.sleep(1.0)
                assert call.session.heard().sentences[0].whole
                assert kinds(call.events) == [PlayoutStarted, PlayoutFinished]

        virtual_time(main())

    def test_two_seconds_may_wait_then_the_producer_does(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with one_call() as call:
                loop = asyncio.get_running_loop()
                start = loop.time()
                producer = asyncio.create_task(call.bot_says(1, tone(5.0)))
                await asyncio.wait_for(producer, 10)
                assert producer.result() is True
                # five seconds of sound, two of them may be queued
                assert loop.time() - start == pytest.approx(3.0, abs=0.1)
                await asyncio.sleep(2.5)
                assert call.session.heard().sentences[0].played_samples == 40_000
                assert call.session.stats().underruns == 0

        virtual_time(main())

    @pytest.mark.parametrize("ending", ["flush", "new turn", "close"])
    def test_whoever_waits_to_put_is_told_at_once_that_the_turn_is_over(
        self, virtual_time: RunVirtual, ending: str
    ) -> None:
        async def main() -> None:
            loop = asyncio.get_running_loop()
            async with asyncio.TaskGroup() as tasks:
                async with one_call() as call:
                    producer = tasks.create_task(call.bot_says(1, tone(5.0)))
                    await asyncio.sleep(0.505)
                    assert not producer.done()
                    ended_at = loop.time()
                    if ending == "flush":
                        call.session.flush()
                    elif ending == "new turn":
                        call.session.start_turn(2)
                    await asyncio.sleep(0)
                    assert producer.done() or ending == "close"
                assert await producer is False
                assert loop.time() == ended_at

        virtual_time(main())

    def test_a_slow_producer_is_an_underrun_not_a_pause_of_the_stream(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with one_call() as call:
                call.session.start_turn(1)
                await call.session.put(1, tone(0.1))
                await asyncio.sleep(0.3)
                await call.session.put(1, tone(0.1))
                call.session.end_turn(1)
                await asyncio.sleep(0.2)
                stats = call.session.stats()
                assert 9 <= stats.underruns <= 11
                assert set(steps(settle(call.peer, stats.packets_out))) == {(1, 160)}

        virtual_time(main())


class TestMediaTimeout:
    def test_no_sound_from_the_start(self, virtual_time: RunVirtual) -> None:
        async def main() -> tuple[float, list[MediaEvent]]:
            async with one_call() as call:
                start = asyncio.get_running_loop().time()
                await asyncio.sleep(60)
                return start, call.events

        start, events = virtual_time(main())
        assert kinds(events) == [MediaTimeout]
        (event,) = events
        assert isinstance(event, MediaTimeout)
        assert event.kind == "first_packet"
        assert event.at == pytest.approx(start + 10, abs=0.03)

    def test_sound_that_stops(self, virtual_time: RunVirtual) -> None:
        async def main() -> tuple[float, list[MediaEvent]]:
            async with one_call() as call:
                await asyncio.sleep(9.0)
                await call.say(silence(1.0))
                stopped = asyncio.get_running_loop().time()
                await asyncio.sleep(60)
                return stopped, call.events

        stopped, events = virtual_time(main())
        assert kinds(events) == [MediaTimeout]
        assert isinstance(events[0], MediaTimeout)
        assert events[0].kind == "stopped"
        assert events[0].at == pytest.approx(stopped + 15, abs=0.05)

    @pytest.mark.parametrize(
        ("heard", "kind", "limit_s"), [(False, "first_packet", 10), (True, "stopped", 15)]
    )
    def test_while_the_bot_speaks_the_timer_rests_and_begins_anew_behind_it(
        self, virtual_time: RunVirtual, heard: bool, kind: str, limit_s: float
    ) -> None:
        """A phone may send nothing while its user listens."""

        async def main() -> tuple[float, list[MediaEvent]]:
            async with one_call() as call:
                if heard:
                    await call.say(silence(0.1))
                for turn in (1, 2):
                    await asyncio.sleep(8.0)
                    await call.bot_says(turn, tone(25.0))
                    await asyncio.sleep(2.1)
                fell_silent = asyncio.get_running_loop().time()
                await asyncio.sleep(60)
                return fell_silent, call.events

        fell_silent, events = virtual_time(main())
        assert kinds(events) == [PlayoutStarted, PlayoutFinished] * 2 + [MediaTimeout]
        event = events[-1]
        assert isinstance(event, MediaTimeout)
        assert event.kind == kind
        assert event.at == pytest.approx(fell_silent + limit_s, abs=0.2)

    def test_on_hold_the_timer_rests(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with one_call() as call:
                await call.say(silence(1.0))
                call.session.hold(True)
                await asyncio.sleep(300)
                call.session.hold(False)
                await asyncio.sleep(14.9)
                assert call.events == []
                await asyncio.sleep(0.2)
                assert kinds(call.events) == [MediaTimeout]

        virtual_time(main())


class TestFences:
    def test_a_bug_in_one_call_is_told_to_it_and_stops_neither_stream(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            events: list[MediaEvent] = []
            async with MediaPlane(SETTINGS) as plane, call_on(plane) as healthy:
                with RtpPeer() as peer:
                    async with plane.open("broken", events.append, BrokenTap()) as session:
                        await session.connect(RtpAddress(*peer.address))
                        await asyncio.sleep(1.0)
                        assert session.stats().packets_out >= 49
                assert healthy.session.stats().packets_out >= 49
                assert [event for event in events if isinstance(event, MediaFailed)] == events
                assert [event.error for event in events if isinstance(event, MediaFailed)] == [
                    "ZeroDivisionError"
                ]
                assert plane.pacer_stats().failed >= 49

        virtual_time(main())


class TestTheFirstPacket:
    def test_the_caller_is_met_once(self, virtual_time: RunVirtual) -> None:
        async def main() -> tuple[list[MediaEvent], list[MediaEvent]]:
            events: list[MediaEvent] = []
            with RtpPeer() as peer:
                async with MediaPlane(SETTINGS) as plane, plane.open("met", events.append) as session:
                    await session.connect(RtpAddress(*peer.address))
                    peer.talk_to(address_of(session))
                    await asyncio.sleep(0.1)
                    before = list(events)
                    for _ in range(5):
                        peer.send(peer.next_frame(silence(0.02)))
                        await asyncio.sleep(0.02)
            return before, events

        before, after = virtual_time(main())
        assert before == []
        assert [type(event) for event in after] == [CallerHeard]
