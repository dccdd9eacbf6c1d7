"""Lost frames are filled after G.711 Appendix I."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from media_bridge.conceal import Concealer
from tests.support.speech import Sound, clip, frames, pcm_of, sound_of, tone

PITCHES = [80, 120, 150, 200]


def voice(hertz: float, seconds: float = 2.0) -> Sound:
    """A steady vowel: a fundamental and its overtones."""
    return sum((tone(hertz * n, seconds, 4000 / n) for n in range(1, 6)), np.zeros(round(seconds * 8000)))


def through(sound: Sound, lost: set[int]) -> Sound:
    concealer = Concealer()
    out = [
        concealer.lost() if number in lost else concealer.good(frame)
        for number, frame in enumerate(frames(pcm_of(sound)))
    ]
    return sound_of(b"".join(out))


def largest_step(sound: Sound) -> float:
    return float(np.abs(np.diff(sound)).max())


def test_nothing_lost_nothing_changed() -> None:
    sound = clip("price01")
    assert np.array_equal(through(sound, set()), sound[: len(sound) // 160 * 160])


@pytest.mark.parametrize("hertz", PITCHES)
def test_a_lost_frame_of_a_vowel_is_nearly_the_same_vowel(hertz: float) -> None:
    sound = voice(hertz)
    out = through(sound, {50})
    lost = slice(50 * 160, 51 * 160)
    error = np.mean((out[lost] - sound[lost]) ** 2) / np.mean(sound[lost] ** 2)
    assert error < 0.1


@pytest.mark.parametrize("hertz", PITCHES)
def test_there_is_no_click_at_either_end(hertz: float) -> None:
    sound = voice(hertz)
    for run in (1, 2, 3, 5, 10):
        assert largest_step(through(sound, set(range(50, 50 + run)))) < 1.6 * largest_step(sound)


def test_it_fades_after_10_ms_and_is_silent_by_60() -> None:
    concealer = Concealer()
    for frame in frames(pcm_of(voice(120))):
        concealer.good(frame)
    made = np.abs(sound_of(b"".join(concealer.lost() for _ in range(5))))
    peaks = [made[at : at + 80].max() for at in range(0, 800, 80)]
    assert peaks[0] > 0.8 * np.abs(voice(120)).max()
    assert all(later < earlier for earlier, later in pairwise(peaks[1:6]))
    assert not made[480:].any()


def test_sound_is_itself_10_ms_after_it_returns() -> None:
    sound = voice(120)
    out = through(sound, set(range(50, 60)))
    assert np.array_equal(out[60 * 160 + 80 : 61 * 160], np.rint(sound)[60 * 160 + 80 : 61 * 160])


@pytest.mark.parametrize(("share", "kept"), [(0.01, 0.95), (0.05, 0.9), (0.1, 0.8), (0.2, 0.65)])
@pytest.mark.parametrize("hertz", [100, 440, 1000])
def test_a_tone_keeps_its_energy_under_random_loss(share: float, kept: float, hertz: float) -> None:
    rng = Random(3)
    sound = tone(hertz, 20)
    out = through(sound, {number for number in range(1000) if rng.random() < share})
    wave = np.exp(-2j * np.pi * hertz * np.arange(len(sound)) / 8000)
    assert abs(out @ wave) ** 2 / abs(sound @ wave) ** 2 >= kept


def test_speech_gets_hardly_louder_than_it_was() -> None:
    rng = Random(5)
    sound = clip("weather01")
    out = through(sound, {number for number in range(200) if rng.random() < 0.3})
    assert np.abs(out).max() <= 1.15 * np.abs(sound).max()


def test_a_call_that_begins_with_losses_begins_with_silence() -> None:
    concealer = Concealer()
    assert concealer.lost() == bytes(320)
    assert largest_step(sound_of(concealer.good(pcm_of(tone(200, 0.02))))) < 2000


def test_silence_stays_silence() -> None:
    assert not through(np.zeros(1600), {3, 4, 7}).any()


@pytest.mark.parametrize("hertz", PITCHES)
@pytest.mark.parametrize("run", [1, 3, 10])
def test_at_16_khz_it_does_the_same_in_twice_the_samples(hertz: float, run: int) -> None:
    narrow, wide = Concealer(), Concealer(16_000)
    # the same vowel at both rates, without what only the wide one can carry
    sounds = [
        sum((tone(hertz * n, 1.0, 4000 / n, rate) for n in range(1, 6)), np.zeros(rate))
        for rate in (8000, 16_000)
    ]
    made = []
    for concealer, sound, size in ((narrow, sounds[0], 160), (wide, sounds[1], 320)):
        blocks = [pcm_of(sound[at : at + size]) for at in range(0, len(sound), size)]
        out = [
            concealer.lost() if 25 <= number < 25 + run else concealer.good(block)
            for number, block in enumerate(blocks)
        ]
        made.append(sound_of(b"".join(out)))
    assert len(made[1]) == 2 * len(made[0])
    error = float(np.mean((made[1][::2] - made[0]) ** 2) / np.mean(sounds[0] ** 2))
    assert error < 0.02
