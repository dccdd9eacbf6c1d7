"""What speech over the bot is taken for (D11, D12)."""

import pytest

from media_bridge.heard import Heard, HeardSentence
from stasis_app.interruption import Reading, first_words, is_meant, wants_second_reading


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


def meant(
    text: str,
    over: Heard | None,
    sure: float | None = None,
    language: str | None = None,
    again: Reading | None = None,
) -> bool:
    return is_meant(Reading(text, sure), over, language, again)


TELLING = heard(("We have very many bikes.", 1.0, 3.0))
ASKING = heard(("Would you like to book it?", 1.4, 1.5))
ASKED_EARLY = heard(("Would you like to book a bike for the whole of next week?", 0.5, 4.0))
ASKING_WHAT = heard(("What is your name?", 1.0, 1.1))
SOUNDS = ["Mm-hm.", "Uh-huh.", "Okay.", "Right.", "Yeah.", "Yes.", "I see.", "", "...", "Oh really?", "Hm."]


@pytest.mark.parametrize("text", SOUNDS)
@pytest.mark.parametrize("over", [TELLING, None])
def test_sounds_of_listening_do_not_take_the_turn(text: str, over: Heard | None) -> None:
    assert not meant(text, over)


@pytest.mark.parametrize(
    "text", ["Yes.", "Yeah!", "Okay.", "No.", "Mm-hm.", "Sure.", "Yes, please.", "Alright."]
)
def test_a_short_answer_to_a_question_does(text: str) -> None:
    assert meant(text, ASKING)


@pytest.mark.parametrize(
    "text", ["Yaha hai.", "Oh shut", "Why", "Oh, hi.", "What's wrong?", "Low high. Low high."]
)
def test_words_that_the_recogniser_guessed_do_not_but_to_a_question(text: str) -> None:
    assert not meant(text, TELLING, -0.8)
    assert meant(text, ASKING, -0.8)
    assert not meant(text, TELLING, -0.55)
    assert meant(text, TELLING, -0.45)


@pytest.mark.parametrize(
    ("once", "sure", "again", "as_sure", "wanted"),
    [
        # a hum is read otherwise the second time, or as what it is
        ("Why?", -0.44, "Right.", -0.57, False),
        ("Oh, hi.", -0.45, "", -1.2, False),
        ("What's wrong?", -0.4, "or shut?", -0.4, False),
        # an interruption in noise is read the same, and both are not too unsure
        ("That's wrong.", -0.66, "That's wrong!", -0.6, True),
        ("Louder", -0.7, "louder", -0.54, True),
        ("Why?", -0.3, "Why?", -0.57, True),
        ("Two expensive.", -0.59, "Two expenses.", -0.65, True),
        ("Oh, hi.", -0.8, "Oh, hi.", -1.06, False),
        ("Why", -0.78, "Why?", -0.56, False),
        # what begins like a sound of listening has to be surer, unless it calls for the turn
        ("Oh, hi.", -0.57, "Oh, honey.", -0.69, False),
        ("Yes, I am.", -0.65, "Yes, I am.", -0.64, False),
        ("Right, next one.", -0.5, "Right, next one.", -0.58, True),
        ("Okay, stop it.", -0.66, "Okay, stop it.", -0.6, True),
        ("Which one?", None, "Which one?", None, True),
        ("Which one?", None, "Rich.", None, False),
    ],
)
def test_a_few_words_while_the_bot_tells_something_are_read_twice(
    once: str, sure: float | None, again: str, as_sure: float | None, wanted: bool
) -> None:
    assert wants_second_reading(Reading(once, sure), TELLING)
    assert meant(once, TELLING, sure, again=Reading(again, as_sure)) is wanted
    assert meant(once, ASKING, sure, again=Reading(again, as_sure)), "to a question anything is an answer"


@pytest.mark.parametrize(
    ("text", "sure", "first_words_logprob", "wanted"),
    [
        # hums and words of listening in noise: the recogniser is as sure as of many a word, and thought of "Mm"
        ("Why?", -0.67, -2.8, False),
        ("What's that?", -0.6, -3.2, False),
        ("I heard.", -0.67, -1.6, False),
        ("Help!", -1.0, -3.5, False),
        ("No.", -1.08, -3.3, False),
        ("Are you all right?", -0.89, -3.1, False),
        # interruptions: nothing of the kind, however unsure it is of the words
        ("Lower.", -0.7, -6.0, True),
        ("Tomorrow is Spain.", -0.76, -8.4, True),
        ("Why?", -0.3, -5.0, True),
        ("Stop!", -0.9, -4.6, True),
        ("Put me through please", -0.5, -6.2, True),
    ],
)
def test_what_the_recogniser_thought_of_first_tells_a_hum_from_words(
    text: str, sure: float, first_words_logprob: float, wanted: bool
) -> None:
    once = Reading(text, sure, first_words_logprob)
    assert not wants_second_reading(once, TELLING)
    assert is_meant(once, TELLING) is wanted
    assert is_meant(once, None) is wanted
    assert is_meant(once, ASKING), "to a question anything is an answer"


def test_words_of_listening_are_such_whatever_was_thought_of() -> None:
    assert not is_meant(Reading("Okay.", -0.1, -9.0), TELLING)
    assert is_meant(Reading("Yes, please.", -0.9, -0.3), ASKING)


def test_without_a_certainty_nothing_is_made_of_the_first_words() -> None:
    once = Reading("Which one?", None, -0.5)
    assert wants_second_reading(once, TELLING)
    assert is_meant(once, TELLING)


def test_first_words_are_asked_for_only_where_they_were_measured() -> None:
    assert {"mm", "uh", "yeah", "okay"} <= {word.lower() for word in first_words("en-GB")}
    assert first_words(None) == first_words("en")
    assert first_words("de") == first_words("it") == ()


@pytest.mark.parametrize(
    ("text", "over"),
    [("", TELLING), ("Okay.", TELLING), ("Stop!", TELLING), ("No, no.", TELLING), ("Tuesday.", ASKING),
     ("I want the other bike.", TELLING)],
)  # fmt: skip
def test_what_is_clear_is_read_once(text: str, over: Heard) -> None:
    assert not wants_second_reading(Reading(text), over)


@pytest.mark.parametrize(
    "text", ["Stop, stop!", "Excuse me.", "Help.", "Wait a second.", "No.", "Hold on.", "Sorry?"]
)
def test_words_that_call_for_the_turn_do_even_if_they_are_guessed(text: str) -> None:
    assert meant(text, TELLING, -0.8)


def test_many_words_are_meant_even_if_they_are_guessed() -> None:
    assert meant("hang on that is wrong", TELLING, -1.0)


@pytest.mark.parametrize("text", ["Um.", "Hm.", "Oh.", "", "Wow."])
def test_a_sound_that_answers_nothing_does_not_even_to_a_question(text: str) -> None:
    assert not meant(text, ASKING)


def test_yes_answers_any_question_and_okay_only_one_that_it_can_answer() -> None:
    assert meant("Yes.", ASKING_WHAT)
    assert not meant("Okay.", ASKING_WHAT)


def test_any_question_in_another_language_may_be_one_that_okay_answers() -> None:
    asking = heard(("Vuole prenotare?", 1.4, 1.5))
    assert meant("Okay.", asking, language="it")
    assert not meant("Okay.", TELLING, language="it")
    assert not meant("Hm.", asking, language="it")


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
    assert not [text for text in listening if meant(text, TELLING, language=language)]
    assert [text for text in wanting if meant(text, TELLING, -0.8, language)] == wanting
    assert meant(yes, heard((question, 1.4, 1.5)), language=language)
    assert meant("Okay.", heard((question, 1.4, 1.5)), language=language)
    assert not meant("Okay.", heard((which, 1.4, 1.5)), language=language)


def test_before_the_question_is_clear_okay_is_listening_and_yes_an_answer() -> None:
    assert not meant("Okay.", ASKED_EARLY)
    assert meant("Yes.", ASKED_EARLY)


@pytest.mark.parametrize(("since_s", "wanted"), [(0.8, True), (2.5, False)])
def test_a_question_stays_open_for_a_moment_while_the_bot_talks_on(since_s: float, wanted: bool) -> None:
    over = heard(("Do you want it?", 1.0, 1.0), ("It costs nineteen dollars a month.", since_s, 3.0))
    assert meant("Yes.", over) is wanted


def test_a_question_that_has_not_begun_was_not_asked() -> None:
    over = heard(("It costs nineteen dollars.", 1.0, 2.0), ("Do you want it?", 0.0, 1.0))
    assert not meant("Yes.", over)


@pytest.mark.parametrize(
    "text", ["Wait.", "Stop.", "No.", "Hold on a second", "Okay, but what about Sunday?", "Seven."]
)
def test_words_do(text: str) -> None:
    assert meant(text, TELLING)
    assert meant(text, None)
