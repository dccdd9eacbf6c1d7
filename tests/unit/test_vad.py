"""What counts as speech on a telephone line."""

import numpy as np
import pytest
from numpy.typing import NDArray

from media_bridge.settings import VoiceSettings
from media_bridge.vad import SileroGate
from tests.support.speech import Sound, clip, frames, line_noise, pcm_of, pink_noise, tone

SENTENCES = ["price01", "pay01", "short01", "no01", "weather01"]


@pytest.fixture(scope="module")
def gate() -> SileroGate:
    return SileroGate(VoiceSettings())


def probabilities(gate: SileroGate, sound: Sound) -> list[float]:
    gate.reset()
    return [gate.feed(frame) for frame in frames(pcm_of(sound))]


def voiced(sound: Sound) -> NDArray[np.intp]:
    """The frames that are certainly speech: within 30 dB of the clip's loudest."""
    power = np.array([np.mean(sound[at : at + 160] ** 2) for at in range(0, len(sound) - 159, 160)])
    return np.flatnonzero(power > power.max() / 1000)


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_is_heard_at_every_frame_offset(gate: SileroGate, name: str) -> None:
    sentence = clip(name)
    for offset in range(0, 256, 32):
        # all windows and frames fall elsewhere into the words each time
        sound = np.concatenate([line_noise(0.5)[: 4000 - offset], sentence, line_noise(0.5)])
        heard = np.array(probabilities(gate, sound)) >= 0.35
        loud = voiced(sound)
        gaps = np.diff(np.flatnonzero(heard))
        assert heard[loud].mean() > 0.8, offset
        # no deaf spot: what is not heard is shorter than the silence that would end the turn
        assert gaps.max() <= 10, offset
        assert np.flatnonzero(heard)[0] <= loud[0] + 10, offset


@pytest.mark.parametrize("gain_db", [-25, -15, 0, 5])
def test_the_loudness_of_the_line_does_not_matter(gate: SileroGate, gain_db: int) -> None:
    sound = np.concatenate([line_noise(0.5), clip("price01"), line_noise(0.5)])
    heard = np.array(probabilities(gate, sound * 10 ** (gain_db / 20))) >= 0.5
    assert heard[voiced(sound)].mean() > 0.85


def dtmf(seconds: float) -> Sound:
    on = (np.arange(round(seconds * 8000)) % 2400) < 800
    return np.asarray((tone(770, seconds, 6000) + tone(1336, seconds, 6000)) * on)


def clicks(seconds: float) -> Sound:
    sound = line_noise(seconds)
    sound[::4000] = 20_000
    sound[1::4000] = -20_000
    return sound


@pytest.mark.parametrize(
    "sound",
    [
        pytest.param(np.zeros(80_000), id="digital silence"),
        pytest.param(line_noise(10), id="quiet line"),
        pytest.param(pink_noise(10, -50), id="pink -50 dBFS"),
        pytest.param(pink_noise(10, -30), id="pink -30 dBFS"),
        pytest.param(pink_noise(10, -20), id="pink -20 dBFS"),
        pytest.param(tone(350, 10, 5000) + tone(440, 10, 5000), id="dial tone"),
        pytest.param(tone(425, 10, 8000), id="ringing tone"),
        pytest.param(dtmf(10), id="DTMF"),
        pytest.param(clicks(10), id="clicks"),
        pytest.param(np.concatenate([line_noise(1), clip("noise_door1")]), id="door"),
    ],
)
def test_what_is_no_speech_is_none(gate: SileroGate, sound: Sound) -> None:
    assert max(probabilities(gate, sound)) < 0.35


def test_speech_is_heard_in_noise(gate: SileroGate) -> None:
    sound = np.concatenate([line_noise(0.5), clip("weather01"), line_noise(0.5)])
    loud = voiced(sound)
    heard = np.array(probabilities(gate, sound + pink_noise(len(sound) / 8000, -38))) >= 0.5
    assert heard[loud].mean() > 0.8


def test_a_quiet_line_never_wakes_the_model(gate: SileroGate) -> None:
    # webrtcvad takes its first moments for speech while it learns the line
    assert set(probabilities(gate, line_noise(4))[100:]) == {0.0}


def test_a_sentence_after_a_long_silence_is_heard_as_soon(gate: SileroGate) -> None:
    def onset(silence_s: float) -> int:
        lead = round(silence_s * 50)
        sound = np.concatenate([line_noise(silence_s), clip("price01")])
        return int(np.flatnonzero(np.array(probabilities(gate, sound)) >= 0.5)[0]) - lead

    assert abs(onset(20) - onset(0.5)) <= 2


def test_after_a_reset_nothing_of_the_last_call_is_left(gate: SileroGate) -> None:
    fresh = probabilities(SileroGate(VoiceSettings()), clip("pay01"))
    probabilities(gate, clip("weather01")[:20_000])
    assert probabilities(gate, clip("pay01")) == fresh


@pytest.mark.parametrize("size", [0, 319, 322, 640])
def test_a_frame_of_another_size_is_refused(gate: SileroGate, size: int) -> None:
    with pytest.raises(ValueError, match=str(size)):
        gate.feed(bytes(size))
