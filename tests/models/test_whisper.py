"""Whisper tiny.en on telephone speech, on silence and on noise (D21)."""

import csv
import re
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soxr  # type: ignore[import-untyped]

from benchmarks.stt_score import word_errors
from gpu_workers.errors import ModelError, RequestError
from gpu_workers.models import fetch
from gpu_workers.stt.audio import Samples, samples_of
from gpu_workers.stt.features import features
from gpu_workers.stt.gates import Decoding
from gpu_workers.stt.scheduler import Utterance
from gpu_workers.stt.whisper import WhisperRecogniser
from gpu_workers.stt.windows import fine_window_s

pytestmark = pytest.mark.may_leave("the model is loaded once for all tests")
SPEECH = Path(__file__).parents[1] / "data" / "speech"
CLIPS = ("price01", "pay01", "short01", "no01", "weather01")


def clip(name: str) -> Samples:
    return samples_of((SPEECH / f"{name}.wav").read_bytes())


def said(name: str) -> str:
    with (SPEECH / "transcripts.tsv").open(newline="") as table:
        rows = {row["file"]: row["text"] for row in csv.DictReader(table, delimiter="\t")}
    return rows[f"{name}.wav"]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def hear(whisper: WhisperRecogniser, samples: Samples, language: str | None = "en") -> str:
    return whisper.transcribe([Utterance(samples, language)])[0].text


def telephone(samples: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Samples:
    """Over 8 kHz and back, as a line does."""
    narrow = soxr.resample(np.clip(samples, -1, 1), 16000, 8000)
    sound: Samples = soxr.resample(narrow, 8000, 16000).astype(np.float32)
    return sound


def noise(kind: str, seconds: float, level: float) -> Samples:
    rng = np.random.default_rng(7)
    n = int(16000 * seconds)
    t = np.arange(n) / 16000
    spectrum = np.fft.rfft(rng.normal(size=n))
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), n)
    sound = {
        "silence": np.zeros(n),
        "white": rng.normal(size=n),
        "pink": pink / np.std(pink),
        "hum": np.sign(np.sin(2 * np.pi * 50 * t)) + 0.1 * rng.normal(size=n),
        "dial tone": np.sin(2 * np.pi * 350 * t) + np.sin(2 * np.pi * 440 * t),
        "digit": np.sin(2 * np.pi * 770 * t) + np.sin(2 * np.pi * 1336 * t),
        "clicks": (rng.random(n) < 0.001) * rng.normal(size=n) * 20,
    }[kind]
    return telephone(level * sound)


def test_telephone_speech_is_understood(whisper: WhisperRecogniser) -> None:
    errors = sum(word_errors(words(hear(whisper, clip(name))), words(said(name))) for name in CLIPS)
    total = sum(len(words(said(name))) for name in CLIPS)
    assert errors / total <= 0.06, f"{errors} of {total} words are wrong"


@pytest.mark.parametrize("seconds", [0.5, 2.0, 8.0])
@pytest.mark.parametrize(
    ("kind", "level"),
    [
        ("silence", 0), ("white", 0.001), ("white", 0.02), ("white", 0.1), ("pink", 0.002), ("pink", 0.03),
        ("pink", 0.2), ("hum", 0.02), ("dial tone", 0.1), ("digit", 0.15), ("clicks", 0.1),
    ],
)  # fmt: skip
def test_silence_and_noise_never_become_words(
    whisper: WhisperRecogniser, kind: str, level: float, seconds: float
) -> None:
    assert hear(whisper, noise(kind, seconds, level)) == ""


@pytest.mark.parametrize("name", ["noise_cough2", "noise_door1", "noise_keyboard1"])
def test_a_cough_a_door_and_a_keyboard_are_no_words(whisper: WhisperRecogniser, name: str) -> None:
    assert hear(whisper, clip(name)) == ""


def test_speech_among_silence_is_kept(whisper: WhisperRecogniser) -> None:
    silence = np.zeros(16000 * 5, np.float32)
    assert words(hear(whisper, np.concatenate([silence, clip("price01"), silence]))) == words(said("price01"))


def test_more_than_one_window(whisper: WhisperRecogniser) -> None:
    pause = np.zeros(16000 * 2, np.float32)
    sound = np.concatenate([part for name in CLIPS * 2 for part in (clip(name), pause)])
    assert len(sound) > 30 * 16000
    transcript = whisper.transcribe([Utterance(sound, "en")])[0]
    right = [word for name in CLIPS * 2 for word in words(said(name))]
    assert word_errors(words(transcript.text), right) / len(right) < 0.2
    assert transcript.length_s == pytest.approx(len(sound) / 16000)


def test_a_batch_is_heard_as_one_by_one(whisper: WhisperRecogniser) -> None:
    batch = [Utterance(clip("price01"), "en"), Utterance(np.zeros(16000, np.float32), "en"),
             Utterance(clip("no01"), "en", "Earlier words."), Utterance(clip("weather01"), None)]  # fmt: skip
    heard = [words(transcript.text) for transcript in whisper.transcribe(batch)]
    assert heard == [words(said("price01")), [], words(said("no01")), words(said("weather01"))]


class Counted:
    """CTranslate2's model, and what it was asked: (`encode` or `generate`, how many, seconds of window)."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.calls: list[tuple[str, int, float]] = []
        self.beams: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def encode(self, features: Any, **more: Any) -> Any:
        self.calls.append(("encode", features.shape[0], features.shape[2] / 100))
        return self.model.encode(features, **more)

    def generate(self, encoded: Any, prompts: list[list[int]], **more: Any) -> Any:
        self.calls.append(("generate", len(prompts), encoded.shape[1] / 50))
        self.beams.append(more["beam_size"])
        return self.model.generate(encoded, prompts, **more)


@pytest.fixture
def counted(whisper: WhisperRecogniser, monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted(whisper._model.model)
    monkeypatch.setattr(whisper._model, "model", counted)
    return counted


def test_a_batch_is_one_call_of_encoder_and_decoder_in_its_own_length_class(
    whisper: WhisperRecogniser, counted: Counted
) -> None:
    names = ["price01", "no01", "price01", "no01"]
    heard = whisper.transcribe([Utterance(clip(name), "en") for name in names])
    assert [words(one.text) for one in heard] == [words(said(name)) for name in names]
    assert counted.calls == [("encode", 4, 10.0), ("generate", 4, 10.0)]


def test_requests_with_words_before_are_batched_by_how_many_they_are(
    whisper: WhisperRecogniser, counted: Counted
) -> None:
    asked = [Utterance(clip("price01"), "en", prompt) for prompt in ("", "Hello.", "Hello.")]
    assert len(whisper.transcribe(asked)) == 3
    assert [(what, many) for what, many, _ in counted.calls[:4]] == [
        ("encode", 1), ("generate", 1), ("encode", 2), ("generate", 2),
    ]  # fmt: skip


def test_drafts_are_decoded_narrowly_and_apart_from_what_is_answered(
    whisper: WhisperRecogniser, counted: Counted
) -> None:
    asked = [Utterance(clip("price01"), "en", draft=draft) for draft in (True, False, True)]
    assert [words(one.text) for one in whisper.transcribe(asked)] == [words(said("price01"))] * 3
    assert counted.calls == [
        ("encode", 2, 10.0),
        ("generate", 2, 10.0),
        ("encode", 1, 10.0),
        ("generate", 1, 10.0),
    ]
    assert counted.beams == [1, 5]


def test_how_likely_a_short_sound_begins_otherwise_costs_one_step_for_all(
    whisper: WhisperRecogniser, counted: Counted
) -> None:
    """Asked of four: a long text and one that begins with a word of those, which nobody needs to know it of."""
    few, more = ("yes", "okay"), ("yes", "okay", "to", "too", "do")
    asked = [("short01", few), ("short01", more), ("short01", ("two",)), ("price01", few), ("short01", ())]
    heard = whisper.transcribe([Utterance(clip(name), "en", first_words=begin) for name, begin in asked])
    first, second, *others = [one.first_words_logprob for one in heard]
    assert first is not None and second is not None
    assert -15 < first < second < -1
    assert others == [None, None, None]
    assert counted.calls == [("encode", 5, 10.0), ("generate", 5, 10.0), ("generate", 5, 10.0)]
    assert counted.beams == [5, 1]
    (alone,) = whisper.transcribe([Utterance(clip("short01"), "en", first_words=few)])
    assert alone.first_words_logprob == pytest.approx(first, abs=0.2)


def test_first_words_of_a_sound_without_words_are_not_looked_for(
    whisper: WhisperRecogniser, counted: Counted
) -> None:
    (heard,) = whisper.transcribe([Utterance(noise("pink", 1.5, 0.1), "en", first_words=("yes",))])
    assert (heard.text, heard.first_words_logprob) == ("", None)


def test_a_draft_that_runs_away_is_not_heard_in_the_full_window(
    whisper: WhisperRecogniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = []

    def decode(batch: Sequence[Utterance], window_s: float) -> list[Decoding]:
        windows.append(window_s)
        return [Decoding("I see. I see. I see. I see.", 9, 0.0, -0.2, "en") for _ in batch]

    monkeypatch.setattr(whisper, "_decode", decode)
    monkeypatch.setattr(whisper, "_window_of", fine_window_s)
    assert whisper.transcribe([Utterance(clip("price01"), "en", draft=True)])[0].text == ""
    assert windows == [6.0, 10.0]


@pytest.mark.parametrize("length_s", [0.1, 2.2341, 9.98, 9.999, 10.0])
def test_the_quiet_behind_the_sound_is_what_a_spectrogram_of_all_would_show(
    whisper: WhisperRecogniser, length_s: float
) -> None:
    log_mel, window_s = whisper._model.feature_extractor, 10.0
    sound = np.random.default_rng(1).normal(0, 0.1, round(16000 * length_s)).astype(np.float32)
    whole = np.pad(sound, (0, 16000 * 10 - len(sound)))
    assert np.allclose(features(log_mel, sound, window_s), log_mel(whole)[:, :1000], atol=1e-4)


@pytest.mark.parametrize("at_10_s", ["I see. I see. I see. I see.", "Hold on. Hold on."])
def test_doubtful_words_are_heard_again_in_a_longer_window(
    whisper: WhisperRecogniser, monkeypatch: pytest.MonkeyPatch, at_10_s: str
) -> None:
    """At 6 s the sentence is said twice, at 10 s the decoder loops or begins again; another is right at once."""
    windows = []

    def decode(batch: Sequence[Utterance], window_s: float) -> list[Decoding]:
        windows.append((len(batch), window_s))
        words_at = {6.0: "Hold on. Hold on.", 10.0: at_10_s, 30.0: "Hold on, please."}
        return [
            Decoding("Yes." if one.prompt == "sure" else words_at[window_s], 9, 0.0, -0.2, "en") for one in batch
        ]  # fmt: skip

    monkeypatch.setattr(whisper, "_decode", decode)
    monkeypatch.setattr(whisper, "_window_of", fine_window_s)
    asked = [Utterance(clip("price01"), "en", prompt) for prompt in ("sure", "")]
    assert [one.text for one in whisper.transcribe(asked)] == ["Yes.", "Hold on, please."]
    assert windows == [(2, 6.0), (1, 10.0), (1, 30.0)]


def test_it_says_how_sure_it_is(whisper: WhisperRecogniser) -> None:
    speech, nothing = whisper.transcribe(
        [Utterance(clip("price01"), "en"), Utterance(noise("pink", 2.0, 0.1), "en")]
    )
    assert speech.no_speech_prob < 0.3 < nothing.no_speech_prob
    assert speech.avg_logprob > -0.5 > nothing.avg_logprob


def test_an_english_model_speaks_no_german(whisper: WhisperRecogniser) -> None:
    whisper.check_language(None)
    whisper.check_language("en")
    for language in ("de", "English", "xx"):
        with pytest.raises(RequestError, match=language):
            whisper.check_language(language)


def test_the_clips_are_telephone_sound() -> None:
    for name in CLIPS:
        with wave.open(str(SPEECH / f"{name}.wav")) as file:
            assert (file.getframerate(), file.getnchannels()) == (8000, 1)


def test_a_tokenizer_that_is_none(cache_dir: Path, tmp_path: Path) -> None:
    """As git leaves it where LFS is not installed."""
    for file in fetch("whisper-tiny.en", cache_dir, print).path.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ModelError, match=r"cannot be loaded on cpu as int8.*workers\.stt\.model"):
        WhisperRecogniser(tmp_path, "cpu", "int8", threads=1, copies=1)
