"""The caller's side of a call's media on real UDP: what is heard, through bad networks and among
strangers.
"""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import numpy as np
import pytest

from media_bridge.events import (
    MediaEvent,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
)
from media_bridge.pacer import SLOTS
from media_bridge.plane import MediaPlane
from media_bridge.ports import NoPortError
from media_bridge.quality_watch import CallQuality
from media_bridge.transport import RtpAddress
from tests.support.media_call import (
    SETTINGS,
    ULAW,
    Call,
    address_of,
    call_on,
    energy,
    kinds,
    one_call,
    silence,
    speech,
    steps,
    tone,
)
from tests.support.relay import Impairment, Network, Relays
from tests.support.rtp_peer import FRAME_BYTES, RtpPeer, until
from tests.support.taps import CallerTap
from tests.support.virtual_time import VirtualTimeLoop

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


class TestTheCallersVoice:
    def test_a_sentence_is_heard_as_one_utterance(self, virtual_time: RunVirtual) -> None:
        clip = speech("price01.wav")

        async def main() -> list[MediaEvent]:
            async with one_call() as call:
                await call.say(silence(1.0) + clip + silence(1.5))
                return call.events

        events = virtual_time(main())
        assert kinds(events) == [SpeechStarted, SpeechPaused, SpeechEnded]
        paused, ended = events[1], events[2]
        assert isinstance(paused, SpeechPaused)
        assert isinstance(ended, SpeechEnded)
        assert 0.5 < ended.at - paused.at < 0.7
        # the clip with the pre-roll and the tail, and nothing of its first or last word missing
        assert energy(ended.utterance.pcm) >= 0.98 * energy(clip)
        assert len(ended.utterance.pcm) <= len(clip) + 16_000

    def test_calls_of_one_tick_are_heard_apart(self, virtual_time: RunVirtual) -> None:
        """They share the voice detector; one of them fails over what it hears."""
        clip = speech("price01.wav")
        said = silence(1.0) + clip + silence(1.5)

        def fail(event: MediaEvent) -> None:
            if isinstance(event, SpeechStarted):
                raise ZeroDivisionError

        async def main() -> list[MediaEvent]:
            async with MediaPlane(SETTINGS) as plane, call_on(plane) as call, AsyncExitStack() as stack:
                # so many that the next one ticks with the first
                for number in range(SLOTS - 1):
                    await stack.enter_async_context(plane.open(f"silent-{number}", lambda _event: None))
                peer = stack.enter_context(RtpPeer())
                broken = await stack.enter_async_context(plane.open("broken", fail))
                await broken.connect(RtpAddress(*peer.address))
                peer.talk_to(address_of(broken))
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(Call(broken, peer, [], CallerTap()).say(said))
                    tasks.create_task(call.say(said))
                assert plane.pacer_stats().failed == 1
                return call.events

        events = virtual_time(main())
        assert kinds(events) == [SpeechStarted, SpeechPaused, SpeechEnded]
        assert isinstance(events[2], SpeechEnded)
        assert energy(events[2].utterance.pcm) >= 0.9 * energy(clip)

    @pytest.mark.parametrize("loss", [0.01, 0.05, 0.10])
    @pytest.mark.parametrize("name", ["price01.wav", "pay01.wav", "finished09.wav"])
    def test_packets_lost_here_and_there_are_concealed_and_change_no_decision(
        self, virtual_time: RunVirtual, name: str, loss: float
    ) -> None:
        clip = speech(name)

        async def main(network: Network) -> tuple[list[MediaEvent], int, int]:
            async with one_call() as call:
                await call.say(silence(1.0) + clip + silence(1.5), network)
                stats = call.session.stats()
                return call.events, stats.lost, stats.concealed

        clean, _, none_concealed = virtual_time(main(Network(Impairment(), 1)))
        assert none_concealed == 0
        for seed in range(1, 5):
            lossy, lost, concealed = virtual_time(main(Network(Impairment(loss=loss), seed)))
            # the last of them may not have had its turn yet
            assert concealed + 2 >= lost > 0
            assert [kind for kind in kinds(lossy) if kind is not SpeechResumed][-1] is SpeechEnded
            assert lossy[0].at == pytest.approx(clean[0].at, abs=0.06)
            assert lossy[-1].at == pytest.approx(clean[-1].at, abs=0.06)

    @pytest.mark.parametrize(("loss", "kept"), [(0.01, 0.95), (0.05, 0.90), (0.10, 0.80), (0.20, 0.65)])
    def test_loss_costs_little_energy_and_no_delay(
        self, virtual_time: RunVirtual, loss: float, kept: float
    ) -> None:
        async def main() -> bytes:
            async with one_call() as call:
                await call.say(silence(0.5) + tone(10.0) + silence(0.5), Network(Impairment(loss=loss), 3))
                return call.caller_pcm

        heard = virtual_time(main())
        assert energy(heard) >= kept * energy(tone(10.0))
        # the tone ends 10.5 s after the start; 60 ms for the smallest delay, 60 ms for concealment that fades
        assert np.flatnonzero(np.abs(np.frombuffer(heard, "<i2")) > 3000)[-1] / 8000 <= 10.5 + 0.12

    @pytest.mark.parametrize(
        "impairment",
        [
            Impairment(duplicate=1.0),
            Impairment(duplicate=0.05),
            Impairment(reorder_every=10, reorder_by=1),
        ],
        ids=["doubled", "some doubled", "neighbours swapped"],
    )
    def test_what_can_be_repaired_is(self, virtual_time: RunVirtual, impairment: Impairment) -> None:
        async def main() -> tuple[bytes, int, int]:
            async with one_call() as call:
                await call.say(silence(0.5) + tone(3.0) + silence(0.5), Network(impairment, 1))
                stats = call.session.stats()
                return call.caller_pcm, stats.concealed, stats.late

        heard, concealed, late = virtual_time(main())
        assert (concealed, late) == (0, 0)
        assert heard.count(ULAW.decode(ULAW.encode(tone(3.0)))) == 1

    @pytest.mark.parametrize(
        "impairment",
        [
            Impairment(jump_at=100, new_ssrc=99, sequence_jump=20_000, timestamp_jump=123_456_789),
            Impairment(jump_at=100, sequence_jump=20_000),
            Impairment(jump_at=100, timestamp_jump=800_000),
        ],
        ids=["another source", "sequence jump", "timestamp jump"],
    )
    def test_a_source_that_starts_anew_is_heard_again_at_once(
        self, virtual_time: RunVirtual, impairment: Impairment
    ) -> None:
        async def main() -> bytes:
            async with one_call() as call:
                await call.say(silence(0.5) + tone(3.0) + silence(0.5), Network(impairment, 1))
                assert call.session.stats().concealed <= 3
                return call.caller_pcm

        assert energy(virtual_time(main())) == pytest.approx(energy(tone(3.0)), rel=0.05)

    async def test_a_bad_network_in_real_time(self) -> None:
        """The same through the relay's sockets and threads, both directions."""
        bad = Impairment(loss=0.05, duplicate=0.05, jitter_ms=5)
        async with MediaPlane(SETTINGS) as plane:
            with Relays() as relays, RtpPeer() as peer:
                relay = relays.open(bad, bad)
                heard = CallerTap()
                async with plane.open("c", lambda _event: None, heard) as session:
                    relay.join(left=peer.address, right=address_of(session))
                    peer.talk_to(relay.left)
                    await session.connect(RtpAddress(*relay.right))
                    done = peer.play(tone(2.0))
                    await until(done.is_set)
                    await asyncio.sleep(0.2)
                    stats = session.stats()
        assert stats.packets_in > 80
        assert stats.duplicates > 0
        assert stats.lost > 0
        assert energy(heard.pcm) > 0.7 * energy(tone(2.0))
        assert len(peer.received) > 80

    def test_on_hold_the_caller_is_not_listened_to(self, virtual_time: RunVirtual) -> None:
        clip = speech("price01.wav")

        async def main() -> None:
            async with one_call() as call:
                call.session.hold(True)
                await call.say(silence(1.0) + clip + silence(1.5))
                assert call.events == []
                sent = call.session.stats().packets_out
                assert sent >= len(clip) // FRAME_BYTES
                call.session.hold(False)
                await call.say(silence(1.0) + clip + silence(1.5))
                assert kinds(call.events) == [SpeechStarted, SpeechPaused, SpeechEnded]

        virtual_time(main())

    def test_what_came_while_the_process_stood_still_is_heard(self, virtual_time: RunVirtual) -> None:
        async def main() -> bytes:
            async with one_call() as call:
                loop = asyncio.get_running_loop()
                assert isinstance(loop, VirtualTimeLoop)
                await call.say(silence(1.0))
                frames = tone(0.2)
                for at in range(0, len(frames), FRAME_BYTES):
                    call.peer.send(call.peer.next_frame(frames[at : at + FRAME_BYTES]))
                loop.freeze(0.2)
                await call.say(silence(0.5))
                return call.caller_pcm

        assert energy(virtual_time(main())) >= 0.9 * energy(tone(0.2))


class TestStrangers:
    def test_a_spoofed_stream_is_not_heard(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with one_call() as call:
                with RtpPeer() as stranger:
                    stranger.talk_to(address_of(call.session))
                    # it has guessed every number
                    stranger.sequence, stranger.timestamp, stranger.ssrc = (
                        call.peer.sequence,
                        call.peer.timestamp,
                        call.peer.ssrc,
                    )
                    attacker = Call(call.session, stranger, [], CallerTap())
                    async with asyncio.TaskGroup() as tasks:
                        tasks.create_task(call.say(silence(2.0)))
                        tasks.create_task(attacker.say(tone(2.0)))
                    stats = call.session.stats()
                    assert stats.packets_in == 100
                    assert not any(call.caller_pcm)

        virtual_time(main())

    async def test_a_flood_of_garbage_disturbs_no_call(self, caplog: pytest.LogCaptureFixture) -> None:
        """In real time: as much as one thread can send, to a call that is heard and to one that is not
        yet.
        """
        over = threading.Event()
        sent = [0]

        async with MediaPlane(SETTINGS) as plane, call_on(plane) as call, call_on(plane) as young:
            targets = [address_of(call.session), address_of(young.session)]

            def flood() -> None:
                with RtpPeer() as stranger:
                    while not over.wait(0.001):
                        for target in targets:
                            stranger.talk_to(target)
                            for size in (0, 1, 12, 172, 600, 1400):
                                stranger.send(bytes([sent[0] % 256]) * size)
                                sent[0] += 1

            start = time.monotonic()
            await call.say(silence(0.2))
            thread = threading.Thread(target=flood)
            thread.start()
            try:
                await call.say(tone(2.0))
            finally:
                over.set()
                thread.join()
            elapsed = time.monotonic() - start
            stats = call.session.stats()
            assert sent[0] > 1000
            assert stats.packets_in >= 108
            assert stats.lost == 0
            assert young.session.stats().packets_in == 0
            # from then on the kernel turns them away
            assert young.session.stats().dropped["wrong_source"] > 30
            assert len(caplog.records) <= elapsed + 1
            await until(lambda: len(call.peer.received) >= stats.packets_out)
            assert {step for step, _samples in steps(call.peer.packets())} == {1}

    def test_late_packets_of_a_call_that_is_over_reach_nobody(self, virtual_time: RunVirtual) -> None:
        settings = SETTINGS.model_copy(update={"port_end": SETTINGS.port_start, "port_quarantine_s": 3.0})

        async def main() -> None:
            async with MediaPlane(settings) as plane:
                async with call_on(plane) as old:
                    await old.say(tone(0.5))
                    port = address_of(old.session)[1]
                    with RtpPeer() as late:
                        late.talk_to(address_of(old.session))
                # the old peer is closed; whoever still sends there is as good
                with RtpPeer() as late:
                    late.talk_to(("127.0.0.1", port))
                    ghost = Call(old.session, late, [], CallerTap())
                    with pytest.raises(NoPortError, match="1 rest"):
                        async with plane.open("call-2", lambda _event: None):
                            pass
                    await ghost.say(tone(4.2))
                    async with call_on(plane) as new:
                        assert address_of(new.session)[1] == port
                        async with asyncio.TaskGroup() as tasks:
                            tasks.create_task(ghost.say(tone(1.0)))
                            tasks.create_task(new.say(silence(1.0)))
                        assert new.session.stats().packets_in == 50
                        assert not any(new.caller_pcm)
                await asyncio.sleep(5.0)
                assert (plane.port_stats().leased, plane.port_stats().resting) == (0, 0)

        virtual_time(main())


def test_a_call_is_rated_by_its_whole_time_and_by_its_worst(virtual_time: RunVirtual) -> None:
    async def main() -> CallQuality | None:
        async with one_call() as call:
            # ten bad seconds in the middle: five packets in a row are lost in each
            count = itertools.count()
            lost = {number for number in range(500, 1000) if number % 50 < 5}
            bad = Impairment(rewrite=lambda datagram: [] if next(count) in lost else [datagram], jitter_ms=8)
            await call.say(tone(30.0), Network(bad, seed=2))
            return call.session.quality()

    rated = virtual_time(main())
    assert rated is not None
    assert rated.whole.loss == pytest.approx(50 / 1500, abs=0.005)
    assert rated.worst.loss == pytest.approx(0.1, abs=0.02)
    assert rated.worst.burst_ratio > 3
    assert rated.whole.mos - rated.worst.mos > 0.4
    assert 3 < rated.jitter_ms <= rated.most_jitter_ms
