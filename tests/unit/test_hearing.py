"""What the recogniser of a call is asked for."""

from typing import Any, cast

import pytest

from gpu_workers.client import SttClient, Transcript
from media_bridge.events import Utterance
from stasis_app.hearing import Hearing


class Recogniser:
    def __init__(self) -> None:
        self.asked: list[str | None] = []

    async def transcribe(self, _: bytes, __: int, *, language: str | None, **___: Any) -> Transcript:
        self.asked.append(language)
        return Transcript("Ja.", language, None, None, 1.0)


@pytest.mark.parametrize(
    ("language", "code"), [("de-AT", "de"), ("pt_BR", "pt"), ("EN", "en"), ("de", "de"), (None, None)]
)
async def test_the_recogniser_is_told_the_code_alone(language: str | None, code: str | None) -> None:
    recogniser = Recogniser()
    hearing = Hearing(cast("SttClient", recogniser), "c1", language)
    utterance = Utterance(1, bytes(320), 0.0, 1.0, 20)
    await hearing.partial(utterance)
    await hearing.words((utterance,), "final", 1000)
    assert recogniser.asked == [code, code]
