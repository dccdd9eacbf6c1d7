"""The quiet in front of synthesised speech."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.tts.onset import without_leading_quiet

RATE = 22050


def speech(quiet_ms: int, loud_ms: int = 200) -> bytes:
    rng = np.random.default_rng(1)
    quiet = rng.normal(0, 30, RATE * quiet_ms // 1000)
    loud = 8000 * np.sin(2 * np.pi * 200 * np.arange(RATE * loud_ms // 1000) / RATE)
    return np.concatenate([quiet, loud]).astype("<i2").tobytes()


def test_speech_begins_within_20_ms() -> None:
    pcm = without_leading_quiet(speech(60), RATE)
    length_ms = len(pcm) / 2 / RATE * 1000
    assert 210 <= length_ms <= 221
    assert pcm[-4000:] == speech(60)[-4000:]


def test_it_begins_without_a_step() -> None:
    samples = np.frombuffer(without_leading_quiet(speech(300), RATE), "<i2")
    assert abs(int(samples[0])) <= 1


def test_speech_that_begins_at_once_is_unchanged() -> None:
    assert without_leading_quiet(speech(0), RATE) == speech(0)


def test_silence_is_unchanged() -> None:
    assert without_leading_quiet(bytes(2000), RATE) == bytes(2000)


@given(
    st.binary(max_size=4000).map(lambda raw: raw[: len(raw) // 2 * 2]), st.sampled_from((8000, 22050, 48000))
)
def test_whole_samples_and_never_more_than_came(pcm: bytes, rate: int) -> None:
    cut = without_leading_quiet(pcm, rate)
    assert len(cut) % 2 == 0
    assert len(cut) <= len(pcm)
    assert len(cut) > 0 or not pcm
