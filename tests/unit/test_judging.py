"""What a verdict on speech over the bot is given to judge by."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from gpu_workers.client import Transcript
from media_bridge.events import Utterance
from media_bridge.heard import Heard, HeardSentence
from stasis_app.conversation import Event, InterruptionJudged, Phase
from stasis_app.judging import Judges
from stasis_app.turn import Parts

ASKED = Heard(1, (HeardSentence("Do you agree?", 8000, 8000),), finished=True)
UTTERANCE = Utterance(7, b"", started=1.0, ended=1.4, voiced_ms=400)


class _Hearing:
    async def in_time(self, utterance: Utterance, deadline_ms: int) -> Transcript:
        return Transcript("Yes.", "en", 0.0, -0.1, 0.5)


@pytest.mark.parametrize(
    ("over", "meant"),
    [
        (Phase.SPEAKING, True),
        (Phase.LISTENING, True),  # a passage that asks has ended before the word over it was judged
        (Phase.THINKING, False),  # of the answer to come nothing was heard
    ],
)
async def test_yes_is_an_answer_to_the_question_that_was_heard(over: Phase, meant: bool) -> None:
    parts = SimpleNamespace(
        hearing=_Hearing(),
        media=SimpleNamespace(heard=lambda: ASKED),
        profile=SimpleNamespace(language="en"),
        call_id="a-call",
    )
    told: list[Event] = []
    async with asyncio.TaskGroup() as group:
        Judges(cast(Parts, parts), told.append, group).judge(1, UTTERANCE, over)
    (verdict,) = told
    assert isinstance(verdict, InterruptionJudged)
    assert verdict.meant is meant
