"""Which sentence is a passage that has to be heard to its end."""

import pytest

from media_bridge.heard import Heard, HeardSentence
from stasis_app.passages import Passages

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
