"""Which sentence is a passage that has to be heard to its end."""

from dataclasses import replace

import pytest

from media_bridge.events import Utterance
from media_bridge.heard import Heard, HeardSentence
from stasis_app import conversation as talk
from stasis_app.conversation import Phase
from stasis_app.passages import Passages, is_of_speech, over_passage

PASSAGES = Passages(["This call is recorded.", "A call costs $2 a minute. Taxes are included."], "en")


def hearing(*sentences: tuple[str, int, int | None]) -> Heard:
    return Heard(1, tuple(HeardSentence(*sentence) for sentence in sentences), finished=False)


@pytest.mark.parametrize(
    "text",
    [
        "This call is recorded.",
        "this call is recorded",
        "Please note: this call is recorded.",
        "A call costs 2 dollars a minute.",
        "A call costs $2 a minute. Taxes are included.",
        "Taxes are included.",
    ],
)
def test_a_passage(text: str) -> None:
    assert PASSAGES.left_s(hearing((text, 4000, 16_000))) == 1.5


@pytest.mark.parametrize("text", ["This call is free.", "A call.", "How can I help you?", "", "Recorded."])
def test_no_passage(text: str) -> None:
    assert PASSAGES.left_s(hearing((text, 4000, 16_000))) == 0.0


def test_only_what_is_being_heard_counts() -> None:
    said, next_one = ("This call is recorded.", 8000, 8000), ("How can I help you?", 10, 8000)
    assert PASSAGES.left_s(hearing(said, next_one)) == 0.0
    assert PASSAGES.left_s(hearing(("Hello.", 8000, 8000), ("This call is recorded.", 0, 8000))) == 1.0
    assert PASSAGES.left_s(hearing()) == 0.0


def test_a_passage_that_is_still_being_made_is_looked_at_again() -> None:
    assert 0 < PASSAGES.left_s(hearing(("This call is recorded.", 4000, None))) < 0.5


def test_without_passages_nothing_is_one() -> None:
    assert Passages([""], "en").left_s(hearing(("", 4000, 16_000))) == 0.0


OFFER = "This offer ends on Friday and it cannot be combined with any other discount. Fees apply."
BEGUN, REST, TAIL = (
    "This offer ends on Friday",
    "and it cannot be combined with any other discount.",
    "Fees apply.",
)


def offered(*sentences: tuple[str, int, int | None], finished: bool = False) -> float:
    heard = replace(hearing(*sentences), finished=finished)
    return Passages([OFFER], "en").left_s(heard)


@pytest.mark.parametrize("said", [(BEGUN,), ("Sure.", BEGUN), (f"Sure, {BEGUN}",), (BEGUN, REST)])
def test_between_two_chunks_of_a_passage_it_goes_on(said: tuple[str, ...]) -> None:
    heard = [(text, 8000, 8000) for text in said]
    assert 0 < offered(*heard) < 0.5
    assert 0 < offered(*heard, ("", 100, 4000)) < 0.5, "a filler"
    assert offered(*heard, finished=True) == 0.0, "nothing more comes"
    assert offered(*heard, ("Shall I book it?", 0, 8000)) == 0.0, "the model says something else"


@pytest.mark.parametrize("said", [("Sure.",), ("This offer",), (BEGUN, REST, TAIL), ()])
def test_elsewhere_between_two_chunks_nothing_goes_on(said: tuple[str, ...]) -> None:
    assert offered(*[(text, 8000, 8000) for text in said]) == 0.0


def test_a_short_end_of_a_passage_belongs_to_it_where_it_follows_the_rest() -> None:
    before = [(BEGUN, 8000, 8000), (REST, 8000, 8000)]
    assert offered(*before, (TAIL, 0, 8000)) == 1.0
    assert offered(("Not now.", 8000, 8000), (TAIL, 0, 8000)) == 0.0


def test_a_passage_that_begins_in_a_chunk_is_heard_from_there() -> None:
    assert offered((f"Sure, {BEGUN}", 0, 16_000)) == 2.0


def test_a_passage_over_which_the_bot_talks_on_is_recited() -> None:
    utterance = Utterance(number=1, pcm=b"", started=0.0, ended=1.0, voiced_ms=500)
    paused, judged = talk.SpeechPaused(utterance), talk.InterruptionJudged(1, utterance, meant=True)
    ongoing = talk.OngoingJudged(1, meant=True)
    for event in (paused, talk.SpeechEnded(utterance), judged, ongoing):
        assert over_passage(event, Phase.TALKING_ON) == (talk.SpeechOverPassage(), event)
        assert over_passage(event, Phase.RECITING) == (event,)
    for began in (talk.SpeechStarted(), talk.SpeechResumed()):
        assert over_passage(began, Phase.SPEAKING) == (talk.SpeechOverPassage(),)
    assert not is_of_speech(talk.PlayoutFinished(1))
