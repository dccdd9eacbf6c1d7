"""Smart Turn on telephone speech, and the worker that asks it beside the words."""

import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpu_workers.client import SttClient
from gpu_workers.client.stt import wav_file
from gpu_workers.errors import ModelError
from gpu_workers.models import fetch
from gpu_workers.stt.audio import samples_of
from gpu_workers.stt.turn_end import TurnEndModel
from tests.models.conftest import StartWorker

SPEECH = Path(__file__).parents[1] / "data" / "speech"


def pcm(share: float = 1.0) -> bytes:
    """A question, or its first part, and a little silence behind it."""
    with wave.open(str(SPEECH / "weather01.wav")) as clip:
        return bytes(clip.readframes(int(clip.getnframes() * share))) + bytes(3200)


@pytest.fixture(scope="module")
def model(cache_dir: Path) -> Iterator[TurnEndModel]:
    with TurnEndModel(fetch("smart-turn-v3.2", cache_dir, print).path) as model:
        yield model


@pytest.mark.may_leave("the model is loaded once for all tests")
def test_a_whole_question_sounds_finished_and_its_half_does_not(model: TurnEndModel) -> None:
    whole, half = (model.probability(samples_of(wav_file(pcm(share), 8000))) for share in (1.0, 0.7))
    assert half < 0.5 < 0.8 < whole <= 1.0


@pytest.mark.may_leave("the model is loaded once for all tests")
def test_only_the_last_seconds_count(model: TurnEndModel) -> None:
    long = pcm(0.7) + pcm() * 3
    assert model.probability(samples_of(wav_file(long, 8000))) == pytest.approx(
        model.probability(samples_of(wav_file(long[-8 * 16000 :], 8000))), abs=0.05
    )


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.onnx"
    wrong.write_bytes(b"no model")
    with pytest.raises(ModelError, match=r"wrong\.onnx.*workers\.stt\.turn_model"):
        TurnEndModel(wrong)


@pytest.mark.parametrize("turn_model", ["smart-turn-v3.2", None])
async def test_the_worker_says_it_beside_the_words(start_worker: StartWorker, turn_model: str | None) -> None:
    async with (
        start_worker("stt", model="whisper-tiny.en", turn_model=turn_model) as worker,
        SttClient(worker.url) as stt,
    ):
        votes = [
            (
                await stt.transcribe(
                    pcm(), 8000, priority=priority, deadline_ms=None, call_id="c1", language="en"
                )
            )
            for priority in ("eager", "partial")
        ]
        assert await worker.stop() == 0
    eager, partial = (heard.turn_end for heard in votes)
    assert partial is None
    assert eager is None if turn_model is None else eager is not None and eager > 0.8
