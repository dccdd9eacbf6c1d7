"""What the caller sends, tick by tick, and the packets it is made of."""

import warnings

import numpy as np
import pytest

from caller_phone.errors import RtpError, SpeechFileError
from caller_phone.g711 import decode, encode
from caller_phone.outgoing import OutgoingStream, Said
from caller_phone.rtp import RtpPacket, pack, parse
from caller_phone.sdp import Codec

with warnings.catch_warnings():
    # the standard library's own converter as the second opinion; it leaves with Python 3.13
    warnings.simplefilter("ignore", DeprecationWarning)
    audioop = pytest.importorskip("audioop")


def ticks(stream: OutgoingStream, count: int, start_s: float = 0.0) -> list[RtpPacket]:
    packets = [stream.next_packet(start_s + 0.02 * tick) for tick in range(count)]
    return [packet for packet in packets if packet is not None]


def stream(events: int | None = 101) -> OutgoingStream:
    return OutgoingStream(Codec.PCMU, events, ssrc=7, sequence=65_534, timestamp=2**32 - 320)


class TestStream:
    def test_suppressed_silence_is_no_packet_and_the_next_talkspurt_is_marked(self) -> None:
        it = stream()
        before = ticks(it, 2)
        it.suppresses = True
        assert ticks(it, 10) == []
        it.say(np.full(320, 8000, np.int16), lambda _: None)
        first, second = ticks(it, 5)
        assert ((first.sequence - before[-1].sequence) % 2**16, first.marker) == (1, True)
        assert (first.timestamp - before[-1].timestamp) % 2**32 == 11 * 160
        assert ((second.sequence - first.sequence) % 2**16, second.marker) == (1, False)

    def test_numbers_wrap_and_only_the_first_packet_is_marked(self) -> None:
        packets = ticks(stream(), 4)
        assert [packet.sequence for packet in packets] == [65_534, 65_535, 0, 1]
        assert [packet.timestamp for packet in packets] == [2**32 - 320, 2**32 - 160, 0, 160]
        assert [packet.marker for packet in packets] == [True, False, False, False]
        assert {len(packet.payload) for packet in packets} == {160}

    def test_silence_is_a_quiet_room(self) -> None:
        sound = np.concatenate([decode(packet.payload, Codec.PCMU) for packet in ticks(stream(), 50)])
        level = 10 * np.log10(np.mean(sound.astype(float) ** 2) / 32768**2)
        assert level == pytest.approx(-66, abs=1.5)

    def test_voice_instants_are_those_of_the_samples(self) -> None:
        sound = np.zeros(1600, np.int16)
        sound[400:1000] = 8000
        said: list[Said] = []
        talk = stream()
        ticks(talk, 3)
        talk.say(sound, said.append)
        packets = ticks(talk, 11, start_s=5.0)
        # sample 400 is the 80th of the third packet
        assert [said[0].first_voiced_s, said[0].last_voiced_s] == pytest.approx(
            [5.04 + 80 / 8000, 5.12 + 39 / 8000]
        )
        heard = np.concatenate([decode(packet.payload, Codec.PCMU) for packet in packets])
        assert np.flatnonzero(np.abs(heard) > 4000).tolist() == list(range(400, 1000))

    def test_one_recording_follows_another_without_a_gap(self) -> None:
        said: list[Said] = []
        talk = stream()
        talk.say(np.full(320, 5000, np.int16), said.append)
        talk.say(np.full(161, 5000, np.int16), said.append)
        ticks(talk, 5)
        assert [one.first_voiced_s for one in said] == [0.0, pytest.approx(0.04)]
        assert said[1].last_voiced_s == pytest.approx(0.06)

    def test_a_key_is_one_event_with_three_ends_and_a_gap_after_it(self) -> None:
        pressed: list[str] = []
        talk = stream()
        talk.press("#", lambda: pressed.append("#"))
        talk.press("5", lambda: pressed.append("5"))
        packets = ticks(talk, 14)
        assert pressed == []
        events = packets[:11]
        assert {packet.payload_type for packet in events} == {101}
        assert {packet.timestamp for packet in events} == {2**32 - 320}
        assert [packet.marker for packet in events] == [True] + [False] * 10
        assert [packet.sequence for packet in packets[:3]] == [65_534, 65_535, 0]
        assert [packet.payload.hex() for packet in events[:2]] == ["0b0a00a0", "0b0a0140"]
        assert [packet.payload.hex() for packet in events[8:]] == ["0b8a0500"] * 3
        assert {packet.payload_type for packet in packets[11:]} == {0}
        # 11 ticks of the key: the clock went on
        assert packets[11].timestamp == 160 * 9
        second = ticks(talk, 1)[0]
        assert pressed == ["#"]
        assert (second.payload[0], second.timestamp) == (5, 160 * 12)

    def test_sleeping_moves_the_timestamp_and_marks(self) -> None:
        talk = stream()
        ticks(talk, 2)
        talk.skip(5)
        (packet,) = ticks(talk, 1)
        assert (packet.sequence, packet.timestamp, packet.marker) == (0, 800, True)

    def test_what_cannot_be_sent_is_refused(self) -> None:
        with pytest.raises(SpeechFileError):
            stream().say(np.zeros(800, np.int16), lambda _: None)
        with pytest.raises(ValueError, match="no such key"):
            stream().press("E", lambda: None)
        with pytest.raises(ValueError, match="no telephone events"):
            stream(events=None).press("1", lambda: None)


class TestPackets:
    def test_padding_sources_and_extension_are_taken_off(self) -> None:
        data = bytes.fromhex(
            "b180 0001 00000002 00000003 0000000a beef0001 01020304 ffff 000002".replace(" ", "")
        )
        assert parse(data) == RtpPacket(0, True, 1, 2, 3, b"\xff\xff\x00")

    @pytest.mark.parametrize(
        "text", ["", "80000001", "40000001" + "0" * 16, "80c80001" + "0" * 16, "a0000001" + "0" * 16]
    )
    def test_what_is_no_rtp(self, text: str) -> None:
        with pytest.raises(RtpError):
            parse(bytes.fromhex(text))

    def test_a_packet_survives_the_wire(self) -> None:
        packet = RtpPacket(101, True, 65_535, 2**32 - 1, 2**32 - 1, b"x")
        assert parse(pack(packet)) == packet


class TestG711:
    @pytest.mark.parametrize("codec", list(Codec))
    def test_every_byte_sounds_as_in_the_standard_library(self, codec: Codec) -> None:
        every = bytes(range(256))
        other = audioop.ulaw2lin(every, 2) if codec is Codec.PCMU else audioop.alaw2lin(every, 2)
        assert decode(every, codec).tolist() == np.frombuffer(other, "<i2").tolist()

    @pytest.mark.parametrize("codec", list(Codec))
    def test_every_sample_becomes_the_nearest_sound(self, codec: Codec) -> None:
        samples = np.arange(-32768, 32768).astype(np.int16)
        error = np.abs(decode(encode(samples, codec), codec).astype(int) - samples)
        levels = np.sort(decode(bytes(range(256)), codec).astype(int))
        nearest = np.abs(levels[:, None] - samples[None, ::17].astype(int)).min(axis=0)
        assert error[::17].tolist() == nearest.tolist()
