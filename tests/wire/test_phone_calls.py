"""Two phones talk to each other over real UDP."""

import asyncio
import contextlib
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

from caller_phone.errors import CallEnded, CallFailed, PhoneError, SpeechFileError
from caller_phone.media import MediaLeg
from caller_phone.phone import Call, Codec, Phone, Timers, local_host_for
from caller_phone.rtp import RtpPacket, pack
from caller_phone.ruler import packet_figures, response_ms, talkspurts

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


async def test_a_request_of_another_kind_is_answered_and_the_call_goes_on(
    phones: tuple[Phone, Phone],
) -> None:
    async with talking(*phones) as (caller, callee):
        assert await caller.request("REFER", (("Refer-To", "<sip:100@127.0.0.1>"),)) == 405
        assert await callee.request("INFO", (("Content-Type", "text/plain"),), b"words") == 405
        assert caller.is_up
        assert callee.is_up
        await caller.hang_up()
        with pytest.raises(CallEnded):
            await caller.request("INFO")


async def test_a_call_on_hold_is_silent_until_it_goes_on(phones: tuple[Phone, Phone]) -> None:
    async with talking(*phones) as (caller, callee):
        await caller.sleep(0.1)
        await caller.hold()
        # what was on its way
        await caller.sleep(0.1)
        before = len(callee.recording().received), len(caller.recording().received)
        await caller.sleep(0.3)
        assert len(callee.recording().received) == before[0]
        assert len(caller.recording().received) == before[1], "nobody listens to who is put on hold"
        await caller.unhold()
        said = await caller.say(tone(200))
        heard_s = await callee.wait_for_bot_speech(2, since_s=said.first_voiced_s)
        assert heard_s >= said.first_voiced_s
        answer = await callee.say(tone(200))
        assert await caller.wait_for_bot_speech(2, since_s=answer.first_voiced_s) >= answer.first_voiced_s
        assert packet_figures(callee.recording().received).sources == 1


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


async def test_the_last_phone_puts_the_interpreter_back_as_it_was() -> None:
    usual_s = sys.getswitchinterval()
    first, second = Phone(), Phone()
    await first.__aenter__()
    await second.__aenter__()
    await first.__aexit__(None, None, None)
    assert sys.getswitchinterval() < usual_s
    await second.__aexit__(None, None, None)
    assert sys.getswitchinterval() == usual_s


async def test_bad_wishes_are_refused_with_the_mend(phones: tuple[Phone, Phone], tmp_path: Path) -> None:
    with pytest.raises(PhoneError, match="wildcard"):
        Phone("0.0.0.0")
    with pytest.raises(PhoneError, match="can't open the SIP socket"):
        async with Phone(sip_port=phones[0].address[1]):
            pass
    with pytest.raises(CallFailed, match=r"can't find the host nowhere\.invalid"):
        async with phones[0].call("sip:1@nowhere.invalid"):
            pass
    with pytest.raises(CallFailed, match="can't find the host"):
        async with phones[0].call("sip:1@a..b"):
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


@pytest.mark.parametrize("step_s", [3.0, -3.0])
def test_a_wall_clock_that_is_set_while_a_packet_waits_moves_it_by_no_more_than_it_waited(
    monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    leg = MediaLeg("127.0.0.1", None)
    with leg.socket, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        read_before_s = time.monotonic()
        leg.receive_all()
        peer.sendto(pack(RtpPacket(0, False, 1, 160, 7, bytes(160))), leg.address)
        wall = time.time
        monkeypatch.setattr("caller_phone.media.time.time", lambda: wall() + step_s)
        leg.receive_all()
    (received,) = leg.recording().received
    assert read_before_s <= received.at_s <= time.monotonic()
