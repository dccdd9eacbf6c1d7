"""The multilingual model that ships, on lines where nobody speaks: no words in any language, nor where it is to find
the language itself (D21)."""

from pathlib import Path

import numpy as np
import pytest

from gpu_workers.models import fetch
from gpu_workers.settings import SttSettings
from gpu_workers.stt.audio import Samples
from gpu_workers.stt.scheduler import Utterance
from gpu_workers.stt.whisper import WhisperRecogniser
from tests.models.test_whisper import noise, telephone

pytestmark = pytest.mark.may_leave("the model is loaded once for all tests")
LANGUAGES = ("de", "fr", "es", "ja", "ru", None)
SECONDS = 2.0


@pytest.fixture(scope="module")
def shipped(cache_dir: Path) -> WhisperRecogniser:
    settings = SttSettings()
    folder = fetch(settings.model, cache_dir, print).path
    return WhisperRecogniser(folder, "cpu", settings.compute_type, threads=1, copies=1)


def music() -> Samples:
    """A tune over a chord, as on hold."""
    t = np.arange(int(16000 * SECONDS)) / 16000
    chord = sum(np.sin(2 * np.pi * hertz * t + 0.5 * np.sin(2 * np.pi * 5 * t)) for hertz in (262, 330, 392))
    notes = np.array([523, 587, 659, 784, 659, 587, 523, 440])[(t * 4).astype(int)]
    tune = np.sin(2 * np.pi * notes * t) * np.exp(-3 * (t * 4 % 1))
    return telephone(0.04 * chord + 0.1 * tune)


@pytest.mark.parametrize("language", LANGUAGES)
def test_silence_noise_tones_and_music_never_become_words(
    shipped: WhisperRecogniser, language: str | None
) -> None:
    lines = {
        "silence": noise("silence", SECONDS, 0),
        "white": noise("white", SECONDS, 0.02),
        "pink": noise("pink", SECONDS, 0.03),
        "hum": noise("hum", SECONDS, 0.02),
        "digit": noise("digit", SECONDS, 0.15),
        "music": music(),
    }
    heard = shipped.transcribe([Utterance(sound, language) for sound in lines.values()])
    assert {name: one.text for name, one in zip(lines, heard, strict=True)} == dict.fromkeys(lines, "")
