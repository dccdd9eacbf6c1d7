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


def test_the_fade_is_a_fifth_for_each_10_ms_after_the_first() -> None:
    """I.2.7: of a tone whose period divides every cycle that is repeated, nothing but the gain changes."""
    concealer = Concealer()
    for frame in frames(pcm_of(tone(200, 1.0))):
        concealer.good(frame)
    made = sound_of(b"".join(concealer.lost() for _ in range(3)))
    gains = [made[at : at + 40].max() / 8000 for at in range(0, 480, 80)]
    # the loudest sample is the tenth of each period
    assert gains == pytest.approx([1.0, 0.975, 0.775, 0.575, 0.375, 0.175], abs=0.02)


@pytest.mark.parametrize(("frames_lost", "blended"), [(1, 62), (2, 80), (10, 80)])
def test_sound_is_itself_10_ms_after_it_returns(frames_lost: int, blended: int) -> None:
    """I.2.8: 3.75 ms, and 4 ms more for each 10 ms lost after the first, 10 ms at most."""
    sound = voice(123)
    out = through(sound, set(range(50, 50 + frames_lost)))
    back = slice((50 + frames_lost) * 160, (51 + frames_lost) * 160)
    changed = np.flatnonzero(out[back] != np.rint(sound)[back])
    assert blended - 3 <= changed[-1] + 1 <= blended


def test_what_is_repeated_is_5_to_15_ms_long() -> None:
    """Sounds of a higher or lower pitch are repeated by a multiple or, as well as it goes, by a part of it."""
    for hertz, period in [(400, 40), (200, 40), (100, 80), (70, 114), (50, 120)]:
        concealer = Concealer()
        for frame in frames(pcm_of(voice(hertz))):
            concealer.good(frame)
        first = sound_of(concealer.lost())[:80]
        before = voice(hertz)[-160:]
        if period <= 114:
            assert np.corrcoef(first, voice(hertz)[:80])[0, 1] > 0.95, hertz
        assert np.abs(first).max() <= 1.1 * np.abs(before).max()


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
