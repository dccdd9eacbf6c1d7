"""The same caller at 8 and at 16 kHz: the same decisions, and the words at the rate they came in."""

import pytest

from media_bridge.ear import Ear
from media_bridge.events import EndpointEvent, SpeechEnded, SpeechPaused
from media_bridge.resample import Resampler
from media_bridge.settings import MediaSettings
from media_bridge.vad import SileroGate
from tests.support.speech import clip, line_noise, pcm_of

SETTINGS = MediaSettings()


@pytest.fixture(scope="module")
def gate() -> SileroGate:
    return SileroGate(SETTINGS.voice)


def heard(gate: SileroGate, pcm: bytes, rate: int) -> list[EndpointEvent]:
    gate.reset()
    ear = Ear(SETTINGS, gate, rate)
    size = rate // 50 * 2
    whole = range(0, len(pcm) // size * size, size)
    return [
        event for tick, at in enumerate(whole) for event in ear.listen(pcm[at : at + size], tick * 0.02, None)
    ]


@pytest.mark.parametrize("name", ["price01", "finished09", "interrupt02", "noise_door1"])
def test_both_rates_hear_the_same(gate: SileroGate, name: str) -> None:
    sound = line_noise(4.0)
    sound[8000 : 8000 + len(clip(name))] += clip(name)[:24_000]
    narrow_pcm = pcm_of(sound)
    wide_pcm = Resampler(8000, 16_000).feed(narrow_pcm, last=True)
    narrow, wide = heard(gate, narrow_pcm, 8000), heard(gate, wide_pcm, 16_000)
    assert [type(event) for event in narrow] == [type(event) for event in wide]
    for one, other in zip(narrow, wide, strict=True):
        assert other.at == pytest.approx(one.at, abs=0.041)
        if isinstance(one, SpeechPaused | SpeechEnded) and isinstance(other, SpeechPaused | SpeechEnded):
            assert (one.utterance.rate, other.utterance.rate) == (8000, 16_000)
            quiet = 2 * 16 * 100  # made, behind what was heard of the pause
            assert other.utterance.pcm[:-quiet] in wide_pcm
            assert len(other.utterance.pcm) == pytest.approx(2 * len(one.utterance.pcm), abs=2 * 2 * 16 * 45)


def test_memory_of_wide_sound_is_bounded(gate: SileroGate) -> None:
    ear = Ear(SETTINGS, gate, 16_000)
    for tick in range(500):
        ear.listen(bytes(640), tick * 0.02, None)
    assert len(ear._endpoint._wide._pcm) < 2 * 16_000 * 2.5
