"""Words that the voice gets wrong, in the profile's own spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from media_bridge.heard import Heard, HeardSentence
from stasis_app.passages import Passages
from stasis_app.pronunciations import Pronunciations
from stasis_app.settings import Profile
from stasis_app.speakable import Speakable, speakable

ENTRIES = {
    "siobhan": "shiv-awn",
    "IT": "I T",
    "SQL": "sequel",
    "SQL Server": "sequel server",
    "24/7": "day and night",
    "c++": "see plus plus",
    "Lakeside": "Lake Side",
    "lakeside.example.com": "our web page",
    "o'neill": "oh-neel",
    "3CX": "3 C X",
}


def said(text: str, language: str = "en") -> str:
    return speakable(text, language, Pronunciations(ENTRIES))


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Siobhan's bike, SIOBHAN and siobhan.", "shiv-awn's bike, shiv-awn and shiv-awn."),
        ("It is IT, not it.", "It is I T, not it."),
        ("ITEM, bIT and IT-support.", "ITEM, bIT and I T-support."),
        ("SQL Server or SQL", "sequel server or sequel"),
        ("SQL  Server\nhere", "sequel server here"),
        ("We are there 24/7!", "We are there day and night!"),
        ("C++, c++ and c+++", "see plus plus, see plus plus and see plus plus+"),
        ("O’Neill and o'neill", "oh-neel and oh-neel"),
        ("**Siobhan** _IT_", "shiv-awn I T"),
        # before numbers are put into words, so that the spoken form may hold them
        ("The 3CX costs $19.", "The 3 C X costs 19 dollars."),
        # an address keeps together, and its words are said right all the same
        ("See lakeside.example.com.", "See our web page."),
        ("See shop.Lakeside.com.", "See shop dot Lake Side dot com."),
        ("Write to Lakeside@example.com", "Write to Lake Side at example dot com"),
        ("Lakeside株式会社", "Lake Side株式会社"),
    ],
)
def test_whole_words_in_the_case_they_were_written_for(text: str, spoken: str) -> None:
    assert said(text) == spoken


def test_letters_that_are_composed_otherwise_are_the_same_word() -> None:
    assert Pronunciations({"zoe\u0308": "zo-ee"}).said("Zo\u00eb is here") == "zo-ee is here"


def test_other_languages_have_it_too() -> None:
    assert "sequel" in said("Das kostet 5 € mit SQL", "de")


def test_without_entries_nothing_changes() -> None:
    assert Speakable("en").feed("SQL and 24/7") == speakable("SQL and 24/7", "en", Pronunciations({}))


WORDS = st.text(alphabet="abAB1'+.é ß株", min_size=1, max_size=6).filter(
    lambda one: any(c.isalnum() for c in one)
)


@given(st.dictionaries(WORDS, WORDS, max_size=4), st.text(alphabet="abAB1'+.é ß株", max_size=30))
def test_any_entries_are_safe_for_any_text(entries: dict[str, str], text: str) -> None:
    pronounced = Pronunciations(entries)
    for word in entries:
        assert pronounced.said(f"( {word} )") != "", word
        assert pronounced.of(word) is not None
    pronounced.said(text)


@given(WORDS)
def test_a_word_alone_is_always_found(word: str) -> None:
    assert Pronunciations({word: "ZZZ"}).said(" ".join(word.split())) == "ZZZ"


def test_a_passage_is_known_by_how_it_is_said() -> None:
    profile = Profile(
        prompt="p", must_play=("SQL records this call today.",), pronunciations={"SQL": "sequel"}
    )
    passages = Passages(profile.must_play, None, profile.pronounced)
    said = HeardSentence("sequel records this call today.", 0, 8000)
    assert passages.left_s(Heard(1, (said,), finished=False)) == 1.0


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"--": "dash"}, "`--` holds no letter or digit"),
        ({"SQL": " "}, "`SQL` has no spoken form"),
        ({"SQL": "…"}, "write how it is said"),
        ({"a" * 300: "a"}, "longer than 200"),
    ],
)
def test_wrong_entries_are_told(entries: dict[str, str], told: str) -> None:
    with pytest.raises(ValidationError) as wrong:
        Profile(prompt="p", pronunciations=entries)
    assert told in str(wrong.value)
