"""Another sample rate, block by block."""

import random

import numpy as np
import pytest

from media_bridge.resample import Halver, Resampler
from tests.support.speech import Sound, pcm_of, sound_of, tone


def changed(pcm: bytes, from_rate: int, to_rate: int, sizes: tuple[int, ...]) -> bytes:
    resampler = Resampler(from_rate, to_rate)
    rng = random.Random(1)
    out, at = b"", 0
    while at < len(pcm):
        size = rng.choice(sizes)
        out += resampler.feed(pcm[at : at + size])
        at += size
    return out + resampler.feed(b"", last=True)


def power_db(sound: Sound) -> float:
    """The middle of the sound against a full tone of amplitude 16000."""
    middle = sound[400:-400]
    return float(10 * np.log10(np.mean(middle**2) / (16000**2 / 2) + 1e-12))


@pytest.mark.parametrize("rate", [24_000, 22_050, 48_000, 16_000])
@pytest.mark.parametrize("hertz", [4100, 5000, 7000])
def test_what_the_phone_cannot_carry_does_not_alias(rate: int, hertz: int) -> None:
    out = sound_of(changed(pcm_of(tone(hertz, 1, 16_000, rate)), rate, 8000, (960,)))
    assert power_db(out) < -40


@pytest.mark.parametrize("rate", [24_000, 22_050, 48_000, 16_000])
@pytest.mark.parametrize("sizes", [(960,), (1, 3, 7, 777), (100_000,)])
def test_pitch_length_and_phase_stay_whatever_the_blocks_are(rate: int, sizes: tuple[int, ...]) -> None:
    out = sound_of(changed(pcm_of(tone(1000, 0.5, 16_000, rate)), rate, 8000, sizes))
    assert len(out) == 4000
    assert power_db(out - tone(1000, 0.5, 16_000)) < -60


@pytest.mark.parametrize("rate", [24_000, 22_050, 48_000, 16_000])
def test_less_than_3_ms_are_held_back(rate: int) -> None:
    resampler = Resampler(rate, 8000)
    out = b"".join(resampler.feed(bytes(2 * rate // 50)) for _ in range(50))
    assert 8000 - len(out) // 2 < 24


@pytest.mark.parametrize("rate", [24_000, 22_050, 11_025, 44_101, 47_999])
def test_the_phones_band_stays_whole(rate: int) -> None:
    for hertz in (300, 3000, 3400):
        out = sound_of(changed(pcm_of(tone(hertz, 0.5, 16_000, rate)), rate, 8000, (960,)))
        assert power_db(out - tone(hertz, 0.5, 16_000)) < -50


@pytest.mark.parametrize(("rate", "to_rate"), [(8000, 16_000), (22_050, 16_000), (8000, 22_050)])
def test_a_higher_rate_hears_no_image(rate: int, to_rate: int) -> None:
    out = sound_of(changed(pcm_of(tone(3000, 0.5, 16_000, rate)), rate, to_rate, (960,)))
    assert len(out) == to_rate // 2
    assert power_db(out - tone(3000, 0.5, 16_000, to_rate)) < -50


def test_blocks_make_no_difference() -> None:
    sound = pcm_of(np.random.default_rng(1).normal(0, 5000, 40_000))
    whole = changed(sound, 22_050, 8000, (len(sound),))
    assert changed(sound, 22_050, 8000, (1, 2, 333, 4410)) == whole


def test_what_was_used_is_forgotten() -> None:
    resampler = Resampler(22_050, 8000)
    for _ in range(100):
        resampler.feed(bytes(4410))
        assert len(resampler._input) < 200


def test_the_same_rate_changes_nothing() -> None:
    resampler = Resampler(8000, 8000)
    assert resampler.feed(b"abc") + resampler.feed(b"def") + resampler.feed(b"g", last=True) == b"abcdef"


def test_loud_sound_is_clipped_and_does_not_wrap() -> None:
    square = np.sign(tone(500, 0.2, 1, 24_000)) * 32767
    out = sound_of(changed(pcm_of(square), 24_000, 8000, (960,)))
    assert np.abs(np.diff(out)).max() < 45_000
    assert out.max() == 32767


def test_an_empty_stream_is_empty() -> None:
    assert Resampler(24_000, 8000).feed(b"", last=True) == b""


def test_nothing_may_follow_the_last_block() -> None:
    resampler = Resampler(24_000, 8000)
    resampler.feed(b"", last=True)
    with pytest.raises(ValueError, match="ended"):
        resampler.feed(b"ab")


@pytest.mark.parametrize(("from_rate", "to_rate"), [(0, 8000), (8000, -1), (8000 * 300, 8000)])
def test_an_impossible_rate_is_refused(from_rate: int, to_rate: int) -> None:
    with pytest.raises(ValueError, match=str(from_rate)):
        Resampler(from_rate, to_rate)


@pytest.mark.parametrize(
    ("hertz", "kept"), [(300, True), (1000, True), (3400, True), (4700, False), (7000, False)]
)
def test_a_halver_keeps_the_phones_band_and_nothing_else(hertz: int, kept: bool) -> None:
    halver = Halver()
    sound = pcm_of(tone(hertz, 1, 16_000, 16_000))
    out = [halver.feed(sound[at : at + 640]) for at in range(0, len(sound), 640)]
    assert {len(block) for block in out} == {320}
    power = power_db(sound_of(b"".join(out)))
    assert abs(power) < 1 if kept else power < -40


def test_a_halver_is_less_than_3_ms_late() -> None:
    click = np.zeros(320)
    click[0] = 20_000
    out = np.abs(sound_of(Halver().feed(pcm_of(click))))
    assert int(out.argmax()) <= 3 * 8
