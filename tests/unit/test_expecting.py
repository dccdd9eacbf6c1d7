"""Which answer is due, by the bot's last words or by the profile."""

import pytest

from media_bridge.turn_end_expected import Expected
from stasis_app.expecting import asked_for, expecting, keyed_text
from stasis_app.history import History
from stasis_app.settings import Profile

DIGITS, YES_NO, SPELLING = Expected("digits"), Expected("yes_no"), Expected("spelling")
EMAIL, DATE = Expected("email"), Expected("date")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("What is your phone number?", DIGITS),
        ("Sure. Please tell me your phone number.", DIGITS),
        ("Please enter your customer number.", DIGITS),
        ("Can you give me your order number?", DIGITS),
        ("What is your 8-digit customer number?", Expected("digits", 8)),
        ("Please enter the last four digits of your card number.", Expected("digits", 4)),
        ("Could you tell me the five digits on the label?", Expected("digits", 5)),
        ("Would you like to book it?", YES_NO),
        ("It costs nineteen dollars. Do you want it?", YES_NO),
        ("Thank you, is that correct?", YES_NO),
        ("Could you spell your name?", SPELLING),
        ("And now please spell that for me.", SPELLING),
        ("What is your e-mail address?", EMAIL),
        ("I also need your email address.", EMAIL),
        ("When were you born?", DATE),
        ("Which day would you like to come?", DATE),
        # nothing is asked for, though the word is there
        ("We will send you an e-mail.", None),
        ("Your order number is on the bill.", None),
        ("I can spell it for you. It is easy.", None),
        ("How can I help you?", None),
        ("What do you want to know?", None),
        ("What is your phone number? We are open until six.", None),
        ("", None),
    ],
)
def test_asked_for(said: str, expected: Expected | None) -> None:
    assert asked_for(said) == expected


def history(*said: str) -> History:
    """A greeting, then caller and bot in turn."""
    talk = History("You are a test.")
    for index, text in enumerate(said):
        if index % 2:
            talk.caller_said(text)
        else:
            talk.bot_said(text, cut=False)
    return talk


def test_the_profile_says_what_the_greeting_asks_for() -> None:
    profile = Profile(prompt="x", greeting="Hello.", expect="digits:8")
    assert expecting(history("Hello."), profile) == Expected("digits", 8)
    assert expecting(history("Hello.", "12345678", "Do you want it?"), profile) == YES_NO
    assert expecting(history("Hello.", "12345678", "It is nineteen dollars."), profile) is None


def test_a_question_the_caller_cut_short_is_still_asked() -> None:
    talk = history("Hello.", "I want a bike.")
    talk.bot_said("What is your phone number?", cut=True)
    assert expecting(talk, Profile(prompt="x")) == DIGITS


def test_questions_are_read_in_the_profile_s_language() -> None:
    assert expecting(history("Is it so?"), Profile(prompt="x", language="it")) is None
    assert expecting(history("Is it so?"), Profile(prompt="x", language="en-GB")) == YES_NO
    assert expecting(history("Ist das so?"), Profile(prompt="x", language="de-AT")) == YES_NO


@pytest.mark.parametrize(
    ("language", "said", "expected"),
    [
        ("de", "Gut. Bitte nennen Sie mir Ihre Kundennummer.", DIGITS),
        ("de", "Bitte nennen Sie mir Ihre achtstellige Kundennummer.", Expected("digits", 8)),
        ("de", "Wie sind die letzten vier Ziffern Ihrer Karte?", Expected("digits", 4)),
        ("de", "Ihre Kundennummer steht auf der Rechnung.", None),
        ("fr", "Merci. Veuillez épeler votre nom.", SPELLING),
        ("fr", "Donnez-moi les quatre derniers chiffres.", Expected("digits", 4)),
        ("fr", "Donnez-moi les 4 chiffres de votre code.", Expected("digits", 4)),
        ("es", "Dígame su número de teléfono.", DIGITS),
        ("es", "Por favor, indíqueme los cuatro últimos dígitos.", Expected("digits", 4)),
        ("es", "Por favor, marque los cuatro dígitos de su tarjeta.", Expected("digits", 4)),
    ],
)
def test_what_is_asked_for_in_other_languages(language: str, said: str, expected: Expected | None) -> None:
    assert asked_for(said, language) == expected


def test_what_the_model_is_told_of_keys() -> None:
    assert keyed_text("5550123", DIGITS, None) == "5550123"
    assert keyed_text("1", YES_NO, "en-US") == "I pressed 1 on my phone."
    assert keyed_text("12", None, None) == "I pressed 1 2 on my phone."
    assert keyed_text("12", None, "de") == "Ich habe 1 2 auf meinem Telefon gedrückt."
    assert keyed_text("12", None, "it") == "12"
