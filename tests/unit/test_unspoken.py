"""W8: what is remembered of an answer of which a sentence had no voice."""

import pytest

from media_bridge.heard import Heard, HeardSentence
from stasis_app.unspoken import left_out, with_gaps

SECOND = 8000


def heard(*sentences: tuple[str, int, int | None], finished: bool = True) -> Heard:
    return Heard(1, tuple(HeardSentence(*sentence) for sentence in sentences), finished)


WHOLE = ("One.", SECOND, SECOND)
OTHER = ("Three.", SECOND, SECOND)
UNSPOKEN = ("Two.", 0, 0)
UNHEARD = ("Four.", 0, SECOND)
FILLER = ("", SECOND, SECOND)


@pytest.mark.parametrize(
    ("what", "text", "cut"),
    [
        (heard(WHOLE, OTHER), "One. Three.", False),
        (heard(WHOLE, UNSPOKEN, OTHER), "One. ... Three.", False),
        (heard(FILLER, WHOLE, UNSPOKEN, OTHER, FILLER), "One. ... Three.", False),
        (heard(WHOLE, UNSPOKEN), "One.", True),
        (heard(UNSPOKEN, WHOLE), "One.", False),
        (heard(WHOLE, UNSPOKEN, UNHEARD, finished=False), "One.", True),
        (heard(UNSPOKEN), "", False),
        (heard(), "", False),
    ],
)
def test_dots_stand_for_it(what: Heard, text: str, cut: bool) -> None:
    assert with_gaps(what) == (text, cut)


def test_its_words_are_kept_for_whoever_reads_the_transcript() -> None:
    assert left_out(heard(FILLER, WHOLE, UNSPOKEN, OTHER)) == ["Two."]


@pytest.mark.parametrize(
    ("what", "text", "cut"),
    [
        (heard(("One two three four.", SECOND // 2, SECOND // 2), OTHER), "One ... Three.", False),
        (heard(WHOLE, ("One two three four.", SECOND // 2, SECOND // 2)), "One. One", True),
    ],
)
def test_one_that_broke_off_was_heard_in_part(what: Heard, text: str, cut: bool) -> None:
    assert with_gaps(what, {"One two three four."}) == (text, cut)
