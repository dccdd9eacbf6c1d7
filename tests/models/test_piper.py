"""The voice joe, and whether the recogniser understands it over a telephone line."""

import re
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pytest
import soxr  # type: ignore[import-untyped]

from gpu_workers.errors import ModelError
from gpu_workers.models import fetch
from gpu_workers.stt.audio import Samples
from gpu_workers.stt.scheduler import Utterance
from gpu_workers.stt.whisper import WhisperRecogniser
from gpu_workers.tts.onset import without_leading_quiet
from gpu_workers.tts.piper import PiperSpeech

pytestmark = pytest.mark.may_leave("the models are loaded once for all tests")

SAID = [
    "The monthly service plan costs nineteen dollars.",
    "No, we are closed on Sunday.",
    "Repairs usually take two days.",
    "You can pay by card or by bank transfer.",
]


def samples(pcm: bytes) -> Samples:
    return np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)


def test_one_piece_a_sentence(piper: PiperSpeech) -> None:
    pieces = list(piper.sentences("We are open. How can I help you?", 1.0))
    assert len(pieces) == 2
    assert all(0.5 < len(samples(piece)) / piper.rate < 4 for piece in pieces)


def test_speed(piper: PiperSpeech) -> None:
    # lengths are drawn anew each time and pauses do not shrink with the speed: several sentences, a wide band
    normal, fast = (
        sum(len(piece) for text in SAID for piece in piper.sentences(text, speed)) for speed in (1.0, 2.0)
    )
    assert 0.4 < fast / normal < 0.8


def test_it_leaves_room_for_resampling(piper: PiperSpeech) -> None:
    pcm = b"".join(piper.sentences("Yes, we are open on Saturday.", 1.0))
    assert 0.5 < float(np.max(np.abs(samples(pcm)))) <= 0.86


def test_the_first_sound_comes_at_once(piper: PiperSpeech) -> None:
    pcm = next(iter(piper.sentences("No, we are closed on Sunday.", 1.0)))
    first = samples(without_leading_quiet(pcm, piper.rate))[: piper.rate * 25 // 1000]
    assert float(np.max(np.abs(first))) > 0.01
    assert len(without_leading_quiet(pcm, piper.rate)) < len(pcm) - piper.rate * 2 * 20 // 1000


def test_what_it_says_is_understood_over_a_telephone(piper: PiperSpeech, whisper: WhisperRecogniser) -> None:
    # the voice draws its noise anew each time, so now and then a "No" is heard as "now": words are counted over all
    wrong = total = 0
    for text in SAID:
        speech = samples(b"".join(piper.sentences(text, 1.0)))
        line = soxr.resample(soxr.resample(speech, piper.rate, 8000), 8000, 16000)
        heard = whisper.transcribe([Utterance(line.astype(np.float32), "en")])[0].text
        blocks = SequenceMatcher(None, _words(text), _words(heard), autojunk=False).get_matching_blocks()
        total += len(_words(text))
        wrong += max(len(_words(text)), len(_words(heard))) - sum(block.size for block in blocks)
    assert wrong / total <= 0.15


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower().replace("$19", "nineteen dollars").replace("2 ", "two "))


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 63201294\n"


@pytest.mark.parametrize(("weights", "config"), [(LFS_POINTER, None), (None, "[]"), (None, "{}")])
def test_files_that_are_no_voice(
    cache_dir: Path, tmp_path: Path, weights: bytes | None, config: str | None
) -> None:
    good = fetch("joe", cache_dir, print).path
    told = good.with_name(good.name + ".json").read_text()
    (tmp_path / "voice.onnx").write_bytes(good.read_bytes()[:100_000] if weights is None else weights)
    (tmp_path / "voice.onnx.json").write_text(told if config is None else config)
    with pytest.raises(
        ModelError, match=r"the Piper voice .*voice\.onnx cannot be loaded.*workers\.tts\.voice"
    ):
        PiperSpeech("voice", tmp_path / "voice.onnx", "cpu", threads=1)
