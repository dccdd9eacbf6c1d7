"""A word that says yes does so at the end of a turn, over the bot and as consent: the three cannot come apart."""

import pytest

from media_bridge.turn_end import ending
from media_bridge.turn_end_expected import Expected
from media_bridge.turn_end_waits import Ending
from media_bridge.yes_and_no import OKAY, YES_AND_NO
from stasis_app.short_words import SHORT_WORDS
from stasis_app.tools.confirming import is_yes

ASKED = Expected("yes_no")
YES = [(language, word) for language, known in YES_AND_NO.items() for word in sorted(known.plain)]
UNDERSTOOD = [one for one in YES if one[0] in SHORT_WORDS]
NO = [(language, word) for language in SHORT_WORDS for word in sorted(YES_AND_NO[language].no)]


@pytest.mark.parametrize(("language", "word"), YES)
def test_each_yes_is_consent(language: str, word: str) -> None:
    assert is_yes(f"{word.capitalize()}.", language)


@pytest.mark.parametrize(("language", "word"), UNDERSTOOD)
def test_each_yes_answers_the_bot_and_ends_the_turn(language: str, word: str) -> None:
    short = SHORT_WORDS[language]
    assert word in short.yes <= short.agreeing <= short.listening
    bare = word in YES_AND_NO[language].yes
    assert ending(word, ASKED, language) is (Ending.AGREED if bare else Ending.ANSWERED)


@pytest.mark.parametrize(("language", "word"), NO)
def test_a_no_ends_the_turn_and_is_never_a_yes(language: str, word: str) -> None:
    assert ending(word, ASKED, language) is Ending.AGREED
    assert word not in SHORT_WORDS[language].agreeing
    assert not is_yes(word, language)


@pytest.mark.parametrize("language", YES_AND_NO)
@pytest.mark.parametrize("word", sorted(OKAY))
def test_okay_is_consent_and_a_sound_of_listening_but_no_yes_to_any_question(
    language: str, word: str
) -> None:
    assert is_yes(word, language)
    if language in SHORT_WORDS:
        assert word in SHORT_WORDS[language].listening
        assert word not in SHORT_WORDS[language].yes
