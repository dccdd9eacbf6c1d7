"""The ruler against made-up calls whose truth is known."""

import wave
from pathlib import Path

import numpy as np
import pytest

from caller_phone.errors import SpeechFileError
from caller_phone.g711 import Samples, encode
from caller_phone.recording import Recording, StampedPacket
from caller_phone.rtp import RtpPacket
from caller_phone.ruler import (
    answer_duration_ms,
    cut_ms,
    early_ms,
    inner_pauses_ms,
    packet_figures,
    pause_ms,
    response_ms,
    talkspurts,
)
from caller_phone.sdp import Codec
from caller_phone.speech_file import load
from caller_phone.talkspurt import LiveEar, Talkspurt, audible_dbfs, levels_dbfs, voiced_bounds

RATE = 8000


def speech(seconds: float, rms: float = 3000.0, seed: int = 1) -> Samples:
    """Sound with the loudness of speech and its syllables: noise that swells 4 times a second."""
    noise = np.random.default_rng(seed).normal(0, rms, round(seconds * RATE))
    swell = 0.6 + 0.4 * np.cos(2 * np.pi * 4 * np.arange(len(noise)) / RATE)
    return np.clip(noise * swell, -32000, 32000).astype(np.int16)


def line(seconds: float, parts: dict[float, Samples], noise_rms: float = 0.0) -> Samples:
    """A line of comfort noise with sounds at these seconds."""
    sound = np.random.default_rng(2).normal(0, noise_rms, round(seconds * RATE))
    for at_s, samples in parts.items():
        start = round(at_s * RATE)
        sound[start : start + len(samples)] += samples
    return np.clip(sound, -32000, 32000).astype(np.int16)


def packets(sound: Samples, arrivals: list[float] | None = None, first_s: float = 0.0) -> list[StampedPacket]:
    count = len(sound) // 160
    at = arrivals or [first_s + 0.02 * index for index in range(count)]
    return [
        StampedPacket(
            at[index],
            RtpPacket(
                0,
                index == 0,
                index & 0xFFFF,
                160 * index,
                9,
                encode(sound[160 * index : 160 * index + 160], Codec.PCMU),
            ),
        )
        for index in range(count)
    ]


def heard(stream: list[StampedPacket]) -> list[Talkspurt]:
    return talkspurts(Recording((), tuple(stream)).bot())


def bounds(spurts: list[Talkspurt]) -> list[float]:
    return [at_s for spurt in spurts for at_s in (spurt.start_s, spurt.end_s)]


class TestTalkspurts:
    # -60, -52 and -46 dBFS
    @pytest.mark.parametrize("noise_rms", [0.0, 33.0, 82.0, 164.0])
    def test_bounds_under_comfort_noise(self, noise_rms: float) -> None:
        spurts = heard(packets(line(6, {1.003: speech(1.5), 4.0: speech(0.5)}, noise_rms)))
        assert bounds(spurts) == pytest.approx([1.003, 2.503, 4.0, 4.5], abs=0.01)

    def test_a_bot_that_never_pauses_is_one_talkspurt(self) -> None:
        spurts = heard(packets(speech(5)))
        assert len(spurts) == 1
        assert spurts[0].end_s - spurts[0].start_s == pytest.approx(5, abs=0.02)

    def test_a_fade_ends_where_it_can_no_longer_be_heard(self) -> None:
        # 60 dB down over a second from -20 dBFS: -48 dBFS is passed after 28/60 of it
        fade = (3277 * 10 ** (-3 * np.arange(RATE) / RATE) * np.sqrt(2)) * np.sin(np.arange(RATE) * 0.8)
        spurts = heard(packets(line(3, {1.0: fade.astype(np.int16)})))
        assert spurts[0].end_s == pytest.approx(1 + 28 / 60, abs=0.02)

    def test_a_click_is_no_speech(self) -> None:
        assert heard(packets(line(2, {1.0: speech(0.012)}))) == []

    def test_pauses_below_the_join_time_are_inside(self) -> None:
        sound = line(4, {1.0: speech(0.5), 1.75: speech(0.5), 2.6: speech(0.5)})
        assert [round(spurt.start_s, 1) for spurt in heard(packets(sound))] == [1.0, 2.6]

    def test_a_recording_whose_only_sound_is_a_click_has_bounds(self) -> None:
        assert voiced_bounds(line(1, {0.5: np.full(20, 9000, np.int16)})) == (4000, 4019)
        assert voiced_bounds(line(1, {}, 16.0)) is None


class TestArrivals:
    sound = line(4, {1.0: speech(2.0)})

    def test_lateness_of_the_network_moves_the_speech(self) -> None:
        arrivals = [0.02 * index + (0.5 if index >= 50 else 0.0) for index in range(200)]
        spurt = heard(packets(self.sound, arrivals))[0]
        assert bounds([spurt]) == pytest.approx([1.5, 3.5], abs=0.01)

    def test_jitter_moves_the_bounds_by_itself_only(self) -> None:
        jitter = np.random.default_rng(3).uniform(0, 0.03, 200)
        arrivals = sorted(0.02 * index + jitter[index] for index in range(200))
        spurt = heard(packets(self.sound, arrivals))[0]
        assert bounds([spurt]) == pytest.approx([1.015, 3.015], abs=0.02)

    def test_a_burst_is_heard_at_its_natural_length(self) -> None:
        # the whole answer comes within a millisecond
        arrivals = [0.02 * index if index < 50 else 1.0 + 1e-5 * index for index in range(200)]
        spurt = heard(packets(self.sound, arrivals))[0]
        assert spurt.start_s == pytest.approx(1.0, abs=0.01)
        assert spurt.end_s == pytest.approx(3.0, abs=0.06)

    def test_a_stall_and_its_catching_up(self) -> None:
        # nothing for 200 ms inside the speech, then the missed packets at once and the rest in time
        arrivals = [2.2 if 100 <= index < 110 else 0.02 * index for index in range(200)]
        spurts = heard(packets(self.sound, arrivals))
        # what comes after the pause has to wait for what the pause pushed back
        assert len(spurts) == 1
        assert spurts[0].end_s == pytest.approx(3.2, abs=0.04)

    def test_a_clock_that_runs_fast_is_followed(self) -> None:
        long = line(60, {59.0: speech(0.5)})
        arrivals = [0.02 * index * (1 - 0.002) for index in range(3000)]
        assert heard(packets(long, arrivals))[0].start_s == pytest.approx(59.0 * 0.998, abs=0.02)

    def test_swapped_and_doubled_packets_change_nothing(self) -> None:
        stream = packets(self.sound)
        clean = heard(stream)
        for index in (60, 90, 149):
            stream[index], stream[index + 1] = stream[index + 1], stream[index]
        stream = [one for packet in stream for one in (packet, packet)]
        spurts = heard(stream)
        assert len(spurts) == 1
        assert spurts[0].start_s == pytest.approx(clean[0].start_s, abs=0.001)
        assert spurts[0].end_s == pytest.approx(clean[0].end_s, abs=0.021)

    def test_new_source_and_jumped_timestamps_are_heard_as_they_come(self) -> None:
        before, after = packets(line(1, {})), packets(line(3, {1.0: speech(1.0)}), first_s=1.0)
        for ssrc, offset in ((77, 0), (9, 5_000_000)):
            moved = [
                StampedPacket(
                    one.at_s,
                    RtpPacket(
                        0, False, one.rtp.sequence + 50, one.rtp.timestamp + offset, ssrc, one.rtp.payload
                    ),
                )
                for one in after
            ]
            assert heard(before + moved)[0].start_s == pytest.approx(2.0, abs=0.01)

    def test_keys_and_comfort_noise_packets_are_no_sound(self) -> None:
        stream = [
            StampedPacket(0.1, RtpPacket(13, False, 1, 0, 1, b"\x40")),
            StampedPacket(0.2, RtpPacket(101, True, 2, 0, 1, b"1234")),
        ]
        assert Recording((), tuple(stream)).bot() == []


class TestTurns:
    bot = (Talkspurt(1.0, 3.0, 1500), Talkspurt(3.8, 6.0, 2000), Talkspurt(9.0, 10.0, 900))

    def test_response_is_the_first_sound_that_begins_after_the_caller(self) -> None:
        assert response_ms(self.bot, 8.25) == pytest.approx(750)
        assert response_ms(self.bot, 5.0) == pytest.approx(4000)
        assert response_ms(self.bot, 9.5) is None

    def test_early_is_an_answer_that_begins_into_the_utterance(self) -> None:
        assert early_ms(self.bot, 8.5, 9.4) == pytest.approx(400)
        assert early_ms(self.bot, 9.2, 9.4) is None

    def test_the_cut_is_the_end_before_the_quiet(self) -> None:
        assert cut_ms(self.bot, 5.8) == pytest.approx(200)
        assert cut_ms(self.bot, 2.9) == pytest.approx(100)

    def test_an_interruption_in_a_sentence_pause(self) -> None:
        # the next sentence begins before 300 ms are over: the bot talked on
        assert cut_ms(self.bot, 3.6) == pytest.approx(2400)
        assert cut_ms(self.bot, 6.4) == 0.0
        assert cut_ms(self.bot, 8.0) is None

    @pytest.mark.parametrize(
        ("sound", "until_s", "silent_ms"),
        [
            ((2.8, 3.2), 8.0, 800),  # silent from 3.0 s on, and again from 3.8 s
            ((4.5, 5.0), 8.0, 0.0),  # it talked on
            ((5.8, 6.2), 8.0, None),  # the answer behind the caller's next words is another one
            ((2.8, 3.2), 3.5, None),
        ],
    )
    def test_a_sound_over_the_bot_makes_it_pause_talk_on_or_fall_silent(
        self, sound: tuple[float, float], until_s: float, silent_ms: float | None
    ) -> None:
        assert pause_ms(self.bot, *sound, until_s) == (silent_ms and pytest.approx(silent_ms))

    def test_the_pauses_inside_what_was_said(self) -> None:
        said = (
            Talkspurt(0.0, 0.5, 500),
            Talkspurt(2.0, 3.0, 900),
            Talkspurt(3.9, 4.5, 600),
            Talkspurt(4.9, 6.0, 900),
        )
        assert inner_pauses_ms(said, 2.0, 6.0) == pytest.approx((900, 400))
        assert inner_pauses_ms(said, 2.0, 3.0) == ()

    def test_the_answer_lasts_over_its_pauses_to_the_next_turn(self) -> None:
        assert answer_duration_ms(self.bot, 0.5, 8.0) == pytest.approx(5000)
        assert answer_duration_ms(self.bot, 6.5, 8.0) is None


class TestPacketFigures:
    def test_losses_doubles_overtakers_and_steps(self) -> None:
        stream = packets(line(2, {}))
        kept = [one for index, one in enumerate(stream) if index not in {10, 11, 40}]
        kept[20], kept[21] = kept[21], kept[20]
        kept.insert(50, kept[49])
        figures = packet_figures(kept)
        assert (figures.packets, figures.missing, figures.duplicates, figures.overtaken) == (98, 3, 1, 1)
        assert figures.timestamp_steps == {160: 94}
        assert figures.sources == 1

    def test_gaps(self) -> None:
        stream = packets(line(4, {}), [0.02 * index + (0.1 if index == 199 else 0) for index in range(200)])
        figures = packet_figures(stream)
        assert figures.gap_p50_ms == pytest.approx(20)
        assert figures.gap_max_ms == pytest.approx(120)
        assert figures.seconds == pytest.approx(4.08)

    def test_a_stream_that_ends_before_the_call_lacks_what_was_due(self) -> None:
        stream = packets(line(4, {}))
        last_s = stream[-1].at_s
        to_the_end = packet_figures(stream, last_s + 0.03)
        assert to_the_end.missing == 0
        assert to_the_end.gap_max_ms == pytest.approx(30)
        early = packet_figures(stream, last_s + 2.0)
        assert early.missing == pytest.approx(99, abs=1)
        assert early.gap_max_ms == pytest.approx(2000)
        assert packet_figures(stream, last_s - 1.0) == packet_figures(stream)
        assert packet_figures([], 5.0).missing == 0

    def test_a_wrap_is_no_loss_and_a_new_source_counts_for_itself(self) -> None:
        wrapped = [
            StampedPacket(
                index / 50,
                RtpPacket(0, False, (65_530 + index) & 0xFFFF, (2**32 - 480 + 160 * index) % 2**32, 1, b"x"),
            )
            for index in range(12)
        ]
        other = [
            StampedPacket(1 + index / 50, RtpPacket(0, False, 7000 + index, 0, 2, b"x")) for index in range(2)
        ]
        figures = packet_figures(wrapped + other)
        assert (figures.missing, figures.sources, figures.timestamp_steps) == (0, 2, {0: 1, 160: 11})

    def test_nothing_came(self) -> None:
        figures = packet_figures([])
        assert (figures.packets, figures.gap_p99_ms, figures.missing) == (0, None, 0)


class TestLiveEar:
    @pytest.mark.parametrize("noise_rms", [0.0, 82.0, 164.0])
    def test_it_hears_what_the_recording_will_say(self, noise_rms: float) -> None:
        recording = Recording(
            (), tuple(packets(line(8, {1.0: speech(1.5), 3.2: speech(1.0)}, noise_rms), first_s=100))
        )
        ear = LiveEar()
        for sound in recording.bot():
            ear.hear(sound.at_s, sound.samples)
        assert ear.last_audible_s() == pytest.approx(104.2, abs=0.01)
        # the very first packets have no past to tell noise from speech
        assert ear.audible_after(100.5, 0.0) == pytest.approx(101.0, abs=0.01)
        assert ear.audible_after(101.7, 0.0) == 101.7
        # what began before does not count as an answer
        assert ear.audible_after(101.7, 101.5) == pytest.approx(103.2, abs=0.01)
        assert ear.audible_after(105.0, 0.0) is None


class TestFiles:
    def test_both_sides_are_on_one_axis(self, tmp_path: Path) -> None:
        caller = packets(line(2, {0.5: speech(0.2)}), first_s=10.0)
        bot = packets(line(2, {1.0: speech(0.2, seed=5)}), first_s=10.013)
        path = tmp_path / "call.wav"
        Recording(tuple(caller), tuple(bot)).write_wav(path)
        with wave.open(str(path)) as file:
            assert (file.getnchannels(), file.getframerate(), file.getsampwidth()) == (2, 8000, 2)
            stereo = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
        left, right = (voiced_bounds(stereo[:, side]) for side in (0, 1))
        assert left is not None
        assert right is not None
        assert left[0] == pytest.approx(0.5 * RATE, abs=80)
        assert right[0] == pytest.approx(1.013 * RATE, abs=80)

    def test_a_call_without_sound_is_an_empty_file(self, tmp_path: Path) -> None:
        Recording((), ()).write_wav(tmp_path / "none.wav")
        assert (tmp_path / "none.wav").stat().st_mode & 0o777 == 0o600, "it holds what people said"
        with wave.open(str(tmp_path / "none.wav")) as file:
            assert file.getnframes() == 0

    @pytest.mark.parametrize(("rate", "channels"), [(8000, 1), (16000, 1), (22050, 2), (48000, 1)])
    def test_speech_of_any_rate_keeps_pitch_and_length(
        self, tmp_path: Path, rate: int, channels: int
    ) -> None:
        tone = (8000 * np.sin(2 * np.pi * 700 * np.arange(rate) / rate)).astype("<i2")
        path = tmp_path / "tone.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(np.repeat(tone, channels).tobytes())
        samples = load(path)
        assert len(samples) == pytest.approx(RATE, abs=8)
        assert np.abs(np.fft.rfft(samples[:RATE], RATE)).argmax() == 700

    def test_wrong_files_are_named(self, tmp_path: Path) -> None:
        narrow = tmp_path / "narrow.wav"
        with wave.open(str(narrow), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(1)
            file.setframerate(RATE)
            file.writeframes(bytes(80))
        with pytest.raises(SpeechFileError, match=r"narrow\.wav: 8-bit"):
            load(narrow)
        whole = narrow.read_bytes()
        (tmp_path / "cut.wav").write_bytes(whole[:30])
        with pytest.raises(SpeechFileError, match=r"cut\.wav: ends too early"):
            load(tmp_path / "cut.wav")
        # 16 bits a sample, at a rate of 0
        (tmp_path / "still.wav").write_bytes(whole[:24] + bytes(8) + b"\x02\0\x10\0" + whole[36:])
        with pytest.raises(SpeechFileError, match=r"still\.wav: 0 samples a second"):
            load(tmp_path / "still.wav")
        with pytest.raises(SpeechFileError, match=r"absent\.wav"):
            load(tmp_path / "absent.wav")
        with pytest.raises(SpeechFileError, match="whole 16-bit samples"):
            load(b"abc")


def test_levels_of_full_and_short_frames() -> None:
    square = np.full(200, 16384, np.int16)
    assert levels_dbfs(square) == [pytest.approx(-6.02, abs=0.01)] * 3
    assert levels_dbfs(np.zeros(0, np.int16)) == []
    assert audible_dbfs([]) == audible_dbfs([-100.0] * 50) == -48.0
