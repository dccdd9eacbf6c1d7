"""Calls over AudioSocket: one port, told apart by their UUIDs, and strangers at it."""

import asyncio
import resource
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from media_bridge.audiosocket_messages import Audio, AudioSocketParser, audio_message
from media_bridge.codecs import WIRE
from media_bridge.errors import MediaError
from media_bridge.events import (
    CallerHeard,
    MediaClosed,
    MediaEvent,
    PlayoutFinished,
    PlayoutStarted,
    SpeechEnded,
)
from media_bridge.plane import MediaPlane
from media_bridge.session import MediaSession
from media_bridge.settings import MediaOverride, Medium
from media_bridge.transport import ConnectsToUs, Offer, RtpAddress
from tests.support.media_call import SETTINGS, speech
from tests.support.rig import free_ports
from tests.support.virtual_time import VirtualTimeLoop

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
FRAME = 320
RATE = 16_000


def settings() -> Any:
    port = free_ports(1, socket.SOCK_STREAM)[0]
    return SETTINGS.model_copy(update={"transport": "audiosocket", "audiosocket_port": port})


class Asterisk:
    """Asterisk's end of one call. It reads all the time, unless it is told to stop."""

    def __init__(self, offer: Offer, uuid: str | None = None) -> None:
        self.sock = socket.create_connection((offer.host, offer.port))
        self.sock.setblocking(False)
        self.frames: list[bytes] = []
        self.is_closed = False
        self._parser = AudioSocketParser(WIRE[offer.medium].rate)
        self._loop = asyncio.get_running_loop()
        self.sock.send(b"\x01\x00\x10" + UUID(uuid or offer.token).bytes)
        self.read()

    def read(self) -> None:
        self._loop.add_reader(self.sock, self._read)

    def stop_reading(self) -> None:
        self._loop.remove_reader(self.sock)

    def close(self) -> None:
        if self.sock.fileno() >= 0:
            self.stop_reading()
            self.sock.close()

    async def say(self, pcm: bytes, rate: int = RATE) -> None:
        size = rate // 50 * 2
        for at in range(0, len(pcm), size):
            self.sock.send(audio_message(pcm[at : at + size], rate))
            await asyncio.sleep(0.02)

    def _read(self) -> None:
        try:
            data = self.sock.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        if not data:
            self.is_closed = True
            self.stop_reading()
        self.frames += [m.pcm for m in self._parser.feed(data) if isinstance(m, Audio)]


@dataclass
class Line:
    session: MediaSession
    asterisk: Asterisk
    events: list[MediaEvent] = field(default_factory=list)

    async def say(self, turn: int, pcm: bytes) -> None:
        self.session.start_turn(turn)
        self.session.begin_sentence(turn, "These are numbers.")
        for at in range(0, len(pcm), 1600):
            await self.session.put(turn, pcm[at : at + 1600])
        self.session.end_sentence(turn)
        self.session.end_turn(turn)

    @property
    def kinds(self) -> list[type]:
        return [type(event) for event in self.events if not isinstance(event, CallerHeard)]


@asynccontextmanager
async def line_on(plane: MediaPlane) -> AsyncIterator[Line]:
    events: list[MediaEvent] = []
    async with plane.open("call", events.append) as session:
        asterisk = Asterisk(session.offer)
        try:
            await session.connect(ConnectsToUs())
            yield Line(session, asterisk, events)
        finally:
            asterisk.close()


@asynccontextmanager
async def line() -> AsyncIterator[Line]:
    async with MediaPlane(settings()) as plane, line_on(plane) as call:
        yield call


def numbered(frames: int) -> bytes:
    return b"".join(np.full(FRAME, 1000 + n, "<i2").tobytes() for n in range(frames))


def numbers(frames: list[bytes]) -> list[int]:
    last = [int(np.frombuffer(frame, "<i2")[-1]) for frame in frames]
    return [value - 1000 for value in last if value]


class TestSound:
    def test_a_frame_leaves_every_20_ms_and_a_turn_arrives_whole(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                assert call.session.offer.medium == Medium("audiosocket", "slin16")
                await asyncio.sleep(1)
                assert 49 <= len(call.asterisk.frames) <= 51
                await call.say(1, numbered(100))
                await asyncio.sleep(0.1)
                await asyncio.sleep(2.5)
                assert {len(frame) for frame in call.asterisk.frames} == {2 * FRAME}
                assert numbers(call.asterisk.frames) == list(range(100))
                assert call.kinds == [PlayoutStarted, PlayoutFinished]

        virtual_time(main())

    def test_a_pause_goes_on_at_the_exact_sample_and_a_flush_is_known_to_it(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with line() as call:
                await call.say(1, numbered(80))
                await asyncio.sleep(0.5)
                call.session.pause()
                await asyncio.sleep(0.3)
                call.session.resume()
                await asyncio.sleep(0.5)
                heard = call.session.flush().sentences[0].played_samples // FRAME
                await asyncio.sleep(0.3)
                assert numbers(call.asterisk.frames) == list(range(heard))

        virtual_time(main())

    @pytest.mark.parametrize("after_s", [0.0, 0.011, 0.1999, 0.2, 0.3333, 0.5071, 0.9, 1.19])
    def test_a_flush_says_to_the_sample_what_the_wire_has_carried(
        self, virtual_time: RunVirtual, after_s: float
    ) -> None:
        async def main() -> None:
            async with line() as call:
                await call.say(1, numbered(80))
                await asyncio.sleep(after_s)
                played = call.session.flush().sentences[0].played_samples
                await asyncio.sleep(0.3)
                assert played == FRAME * len(numbers(call.asterisk.frames))

        virtual_time(main())

    def test_the_caller_is_heard_wide_and_judged_at_8_khz(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                said = np.repeat(np.frombuffer(speech("price01.wav"), "<i2"), 2).astype("<i2").tobytes()
                await call.asterisk.say(bytes(2 * RATE) + said + bytes(4 * RATE))
                (ended,) = [event for event in call.events if isinstance(event, SpeechEnded)]
                assert ended.utterance.rate == RATE
                seconds = len(ended.utterance.pcm) / 2 / RATE
                spoken = ended.utterance.ended - ended.utterance.started
                assert seconds == pytest.approx(spoken + 0.6, abs=0.05)
                assert call.session.stats().concealed == 0

        virtual_time(main())

    def test_8_khz_where_that_is_wanted(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            narrow = settings().model_copy(update={"codec": "slin"})
            async with MediaPlane(narrow) as plane, plane.open("call", lambda _event: None) as session:
                asterisk = Asterisk(session.offer)
                await session.connect(ConnectsToUs())
                assert session.rate == 8000
                await asterisk.say(bytes(16_000), 8000)
                await asyncio.sleep(0.1)
                assert {len(frame) for frame in asterisk.frames} == {320}
                assert session.stats().packets_in == 50
                asterisk.close()

        virtual_time(main())

    def test_a_frozen_process_sends_no_burst(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(0.505)
                loop = asyncio.get_running_loop()
                assert isinstance(loop, VirtualTimeLoop)
                before = len(call.asterisk.frames)
                loop.freeze(8.0)
                await asyncio.sleep(0.001)
                assert len(call.asterisk.frames) - before == 1
                assert call.session.stats().skipped == 399

        virtual_time(main())

    def test_an_asterisk_that_does_not_read_costs_sound_and_no_message_is_cut(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with line() as call:
                call.asterisk.stop_reading()
                await asyncio.sleep(60)
                assert call.session.stats().send_errors > 100
                # the parser fails on a message cut short
                call.asterisk.read()
                await asyncio.sleep(0.001)
                first = len(call.asterisk.frames)
                for _ in range(50):
                    await asyncio.sleep(0.02)
                    time.sleep(0.01)  # noqa: ASYNC251 - the kernel's own timers do not run in virtual time
                assert len(call.asterisk.frames) >= first + 25
                assert not any(isinstance(event, MediaClosed) for event in call.events)

        virtual_time(main())


class TestTheEnd:
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"\x00\x00\x00", "Asterisk hung up the AudioSocket connection"),
            (b"\xff\x00\x01\x02", "Asterisk reported an AudioSocket error"),
            (b"\x10\x00\x02ab", "what Asterisk sent is no AudioSocket: sound of kind 0x10 instead of 0x12"),
            (b"", "Asterisk closed the AudioSocket connection"),
        ],
    )
    def test_it_is_told_once_with_its_reason(
        self, virtual_time: RunVirtual, data: bytes, reason: str
    ) -> None:
        async def main() -> None:
            async with line() as call:
                await asyncio.sleep(0.1)
                if data:
                    call.asterisk.sock.send(data)
                else:
                    call.asterisk.sock.shutdown(socket.SHUT_WR)
                await asyncio.sleep(0.5)
                assert [e.reason for e in call.events if isinstance(e, MediaClosed)] == [reason]
                # and what may still be asked is answered
                await call.say(1, numbered(3))
                call.session.pause()
                call.session.flush()

        virtual_time(main())

    def test_a_connection_that_breaks(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                # closing with this set sends a reset
                call.asterisk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                call.asterisk.close()
                await asyncio.sleep(0.1)
                (closed,) = [event for event in call.events if isinstance(event, MediaClosed)]
                assert closed.reason.startswith("the AudioSocket connection broke")

        virtual_time(main())

    def test_keys_and_unknown_messages_are_counted(self, virtual_time: RunVirtual) -> None:
        async def main() -> dict[str, int]:
            async with line() as call:
                call.asterisk.sock.send(b"\x03\x00\x015" + b"\x77\x00\x02ab" + b"\x12\x00\x00")
                await call.asterisk.say(bytes(640 * 5))
                return dict(call.session.stats().dropped)

        assert virtual_time(main()) == {"not_voice": 1, "unknown_type": 1, "empty": 1}

    def test_a_call_that_is_over_closes_its_connection(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with MediaPlane(settings()) as plane:
                async with plane.open("call", lambda _event: None) as session:
                    asterisk = Asterisk(session.offer)
                    await session.connect(ConnectsToUs())
                await asyncio.sleep(0.01)
                assert asterisk.is_closed
                asterisk.close()

        virtual_time(main())


class TestThePort:
    def test_calls_are_told_apart(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with MediaPlane(settings()) as plane, line_on(plane) as one, line_on(plane) as two:
                await one.say(1, numbered(10))
                await asyncio.sleep(0.5)
                assert numbers(one.asterisk.frames) == list(range(10))
                assert numbers(two.asterisk.frames) == []

        virtual_time(main())

    def test_calls_over_rtp_run_beside_them(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            over_rtp = MediaOverride(transport="rtp")
            async with (
                MediaPlane(settings(), overrides=[None, over_rtp]) as plane,
                line_on(plane) as one,
                plane.open("rtp", lambda _event: None, override=over_rtp) as two,
            ):
                assert (one.session.rate, two.rate) == (RATE, 8000)
                assert two.offer.medium == Medium("rtp", "ulaw")

        virtual_time(main())

    @pytest.mark.parametrize(
        "data",
        [
            b"\x01\x00\x10" + uuid4().bytes,
            b"\x01\x00\x10" + bytes(15),
            b"\x01\x00\x11" + bytes(17),
            b"GET / HTTP/1.1\r\n\r\n",
            b"",
            b"\x01",
        ],
    )
    def test_strangers_are_turned_away_and_disturb_nobody(
        self, virtual_time: RunVirtual, data: bytes
    ) -> None:
        async def main() -> None:
            async with MediaPlane(settings()) as plane, line_on(plane) as call:
                with stranger(call.session.offer, data) as sock:
                    await asyncio.sleep(3.1)
                    assert is_closed(sock)
                await call.say(1, numbered(10))
                await asyncio.sleep(0.5)
                assert numbers(call.asterisk.frames) == list(range(10))

        virtual_time(main())

    def test_a_uuid_serves_once(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with line() as call:
                second = Asterisk(call.session.offer)
                await asyncio.sleep(0.1)
                assert second.is_closed
                second.close()
                assert not any(isinstance(event, MediaClosed) for event in call.events)

        virtual_time(main())

    def test_a_uuid_that_comes_byte_by_byte_is_one(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with (
                MediaPlane(settings()) as plane,
                plane.open("call", lambda _event: None) as session,
            ):
                identity = b"\x01\x00\x10" + UUID(session.offer.token).bytes
                with socket.create_connection((session.offer.host, session.offer.port)) as sock:
                    joining = asyncio.create_task(session.connect(ConnectsToUs()))
                    for byte in identity + audio_message(bytes(640), RATE):
                        sock.send(bytes([byte]))
                        await asyncio.sleep(0.001)
                    await joining
                    await asyncio.sleep(0.1)
                    assert session.stats().packets_in == 1

        virtual_time(main())

    def test_a_thousand_strangers_leave_nothing(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with MediaPlane(settings()) as plane, line_on(plane) as call:
                open_before = open_fds()
                socks = []
                for _ in range(400):
                    socks.append(socket.create_connection((call.session.offer.host, call.session.offer.port)))
                    await asyncio.sleep(0.0001)
                # no more than 256 are kept waiting
                await asyncio.sleep(1)
                assert open_fds() - open_before <= 400 + 256
                await asyncio.sleep(3)
                for sock in socks:
                    sock.close()
                assert open_fds() == open_before

        virtual_time(main())

    def test_held_connections_of_strangers_keep_no_call_out(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            settled = settings()
            async with MediaPlane(settled) as plane:
                socks = []
                for at in range(400):
                    socks.append(socket.create_connection(("127.0.0.1", settled.audiosocket_port)))
                    if at % 100 == 0:
                        await asyncio.sleep(0.001)
                async with line_on(plane) as call:
                    await call.say(1, numbered(10))
                    await asyncio.sleep(0.5)
                    assert numbers(call.asterisk.frames) == list(range(10))
                for sock in socks:
                    sock.close()

        virtual_time(main())

    def test_nor_do_those_that_come_with_it(
        self, virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("media_bridge.audiosocket_port.MAX_STRANGERS", 4)

        async def main() -> None:
            async with MediaPlane(settings()) as plane, plane.open("call", lambda _event: None) as session:
                # all are accepted before anything of the first is read
                asterisk = Asterisk(session.offer)
                with ExitStack() as stack:
                    for _ in range(20):
                        stack.enter_context(stranger(session.offer, b""))
                    await session.connect(ConnectsToUs())
                asterisk.close()

        virtual_time(main())

    async def test_without_file_descriptors_it_waits_for_some(self, caplog: pytest.LogCaptureFixture) -> None:
        async with MediaPlane(settings()) as plane, plane.open("call", lambda _event: None) as session:
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            asterisk = Asterisk(session.offer)
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_fds() - 1, limits[1]))
            try:
                await asyncio.sleep(0.05)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            await session.connect(ConnectsToUs())
            asterisk.close()
        assert "cannot accept AudioSocket connections: Too many open files" in caplog.text

    async def test_a_port_that_is_taken_is_named_with_the_mend(self) -> None:
        taken = settings()
        async with MediaPlane(taken):
            with pytest.raises(
                MediaError, match=rf"TCP port {taken.audiosocket_port} \(media\.audiosocket_port\)"
            ):
                async with MediaPlane(taken):
                    pass

    async def test_an_asterisk_that_does_not_come_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("media_bridge.transport_audiosocket.CONNECT_S", 0.05)
        async with MediaPlane(settings()) as plane, plane.open("call", lambda _event: None) as session:
            with pytest.raises(
                MediaError, match=r"did not connect to 127\.0\.0\.1:\d+ \(media\.audiosocket_port\)"
            ):
                await session.connect(ConnectsToUs())
            with pytest.raises(MediaError, match="RtpAddress for media over audiosocket"):
                await session.connect(RtpAddress("127.0.0.1", 4000))


def open_fds() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def stranger(offer: Offer, data: bytes) -> Iterator[socket.socket]:
    with socket.create_connection((offer.host, offer.port)) as sock:
        sock.setblocking(False)
        if data:
            sock.send(data)
        yield sock


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(10) == b""
    except ConnectionResetError:
        return True
    except BlockingIOError:
        return False
