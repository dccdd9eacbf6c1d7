"""What speech over the bot is taken for (D11, D12)."""

import pytest

from media_bridge.heard import Heard, HeardSentence
from stasis_app.interruption import is_meant


def heard(*sentences: tuple[str, float, float | None]) -> Heard:
    """(text, seconds heard, seconds in all; None while it is being made)."""
    return Heard(
        3,
        tuple(
            HeardSentence(text, int(8000 * played), None if total is None else int(8000 * total))
            for text, played, total in sentences
        ),
        finished=False,
    )


TELLING = heard(("We have very many bikes.", 1.0, 3.0))
ASKING = heard(("Would you like to book it?", 1.4, 1.5))
ASKED_EARLY = heard(("Would you like to book a bike for the whole of next week?", 0.5, 4.0))
ASKING_WHAT = heard(("What is your name?", 1.0, 1.1))
SOUNDS = ["Mm-hm.", "Uh-huh.", "Okay.", "Right.", "Yeah.", "Yes.", "I see.", "", "...", "Oh really?", "Hm."]


@pytest.mark.parametrize("text", SOUNDS)
@pytest.mark.parametrize("over", [TELLING, None])
def test_sounds_of_listening_do_not_take_the_turn(text: str, over: Heard | None) -> None:
    assert not is_meant(text, over)


@pytest.mark.parametrize(
    "text", ["Yes.", "Yeah!", "Okay.", "No.", "Mm-hm.", "Sure.", "Yes, please.", "Alright."]
)
def test_a_short_answer_to_a_question_does(text: str) -> None:
    assert is_meant(text, ASKING)


@pytest.mark.parametrize(
    "text", ["Yaha hai.", "Oh shut", "Why", "Oh, hi.", "What's wrong?", "Low high. Low high."]
)
def test_words_that_the_recogniser_guessed_do_not_but_to_a_question(text: str) -> None:
    assert not is_meant(text, TELLING, -0.8)
    assert is_meant(text, ASKING, -0.8)
    assert not is_meant(text, TELLING, -0.55)
    assert is_meant(text, TELLING, -0.45)


@pytest.mark.parametrize(
    "text", ["Stop, stop!", "Excuse me.", "Help.", "Wait a second.", "No.", "Hold on.", "Sorry?"]
)
def test_words_that_call_for_the_turn_do_even_if_they_are_guessed(text: str) -> None:
    assert is_meant(text, TELLING, -0.8)


def test_many_words_are_meant_even_if_they_are_guessed() -> None:
    assert is_meant("hang on that is wrong", TELLING, -1.0)


@pytest.mark.parametrize("text", ["Um.", "Hm.", "Oh.", "", "Wow."])
def test_a_sound_that_answers_nothing_does_not_even_to_a_question(text: str) -> None:
    assert not is_meant(text, ASKING)


def test_yes_answers_any_question_and_okay_only_one_that_it_can_answer() -> None:
    assert is_meant("Yes.", ASKING_WHAT)
    assert not is_meant("Okay.", ASKING_WHAT)


def test_any_question_in_another_language_may_be_one_that_okay_answers() -> None:
    asking = heard(("Vuole prenotare?", 1.4, 1.5))
    assert is_meant("Okay.", asking, language="it")
    assert not is_meant("Okay.", TELLING, language="it")
    assert not is_meant("Hm.", asking, language="it")


@pytest.mark.parametrize(
    ("language", "listening", "wanting", "question", "yes", "which"),
    [
        ("de", ["Ja.", "Genau.", "Ach so.", "Mhm.", "In Ordnung."], ["Nein.", "Halt!", "Moment mal.", "Wie bitte?"],
         "Möchten Sie das?", "Gerne.", "Wie ist Ihr Name?"),
        ("fr", ["Oui.", "D'accord.", "Ah bon.", "Hm hm.", "Je vois."], ["Non.", "Attendez !", "Excusez-moi.", "Quoi ?"],
         "Voulez-vous cela ?", "Bien sûr.", "Quel est votre nom ?"),
        ("es", ["Sí.", "Vale.", "Ya veo.", "Ajá.", "De acuerdo."], ["No.", "¡Espere!", "Un momento.", "¿Cómo?"],
         "¿Lo quiere usted?", "Claro.", "¿Cuál es su nombre?"),
    ],
)  # fmt: skip
def test_other_languages_have_words_of_their_own(
    language: str, listening: list[str], wanting: list[str], question: str, yes: str, which: str
) -> None:
    assert not [text for text in listening if is_meant(text, TELLING, language=language)]
    assert [text for text in wanting if is_meant(text, TELLING, -0.8, language)] == wanting
    assert is_meant(yes, heard((question, 1.4, 1.5)), language=language)
    assert is_meant("Okay.", heard((question, 1.4, 1.5)), language=language)
    assert not is_meant("Okay.", heard((which, 1.4, 1.5)), language=language)


def test_before_the_question_is_clear_okay_is_listening_and_yes_an_answer() -> None:
    assert not is_meant("Okay.", ASKED_EARLY)
    assert is_meant("Yes.", ASKED_EARLY)


@pytest.mark.parametrize(("since_s", "meant"), [(0.8, True), (2.5, False)])
def test_a_question_stays_open_for_a_moment_while_the_bot_talks_on(since_s: float, meant: bool) -> None:
    over = heard(("Do you want it?", 1.0, 1.0), ("It costs nineteen dollars a month.", since_s, 3.0))
    assert is_meant("Yes.", over) is meant


def test_a_question_that_has_not_begun_was_not_asked() -> None:
    over = heard(("It costs nineteen dollars.", 1.0, 2.0), ("Do you want it?", 0.0, 1.0))
    assert not is_meant("Yes.", over)


@pytest.mark.parametrize(
    "text", ["Wait.", "Stop.", "No.", "Hold on a second", "Okay, but what about Sunday?", "Seven."]
)
def test_words_do(text: str) -> None:
    assert is_meant(text, TELLING)
    assert is_meant(text, None)
