"""What short words mean for the course of the talk."""

import pytest

from stasis_app.intents import is_farewell


@pytest.mark.parametrize(
    "text",
    [
        "Thank you, goodbye.",
        "Goodbye!",
        "Bye bye.",
        "Okay, bye.",
        "That's all, thank you. Bye.",
        "No, that is everything. Goodbye.",
        "Great, thanks a lot, bye-bye.",
        "Good bye.",
        "Okay, have a nice day.",
        "See you later.",
    ],
)
def test_a_farewell(text: str) -> None:
    assert is_farewell(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you.",
        "Can I buy a bike?",
        "Goodbye?",
        "Before I say goodbye, what are your hours?",
        "Bye the way, do you rent bikes?",
        "No.",
        "",
        "I need a bike by Monday.",
        "That is all wrong.",
    ],
)
def test_not_a_farewell(text: str) -> None:
    assert not is_farewell(text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Vielen Dank, auf Wiederhören."),
        ("de", "Tschüss!"),
        ("de-AT", "Danke, das war's, schönen Tag noch."),
        ("german", "Okay, bis dann."),
        ("fr", "Merci beaucoup, au revoir."),
        ("fr", "Non, c'est tout, bonne journée."),
        ("es", "Muchas gracias, adiós."),
        ("es", "Vale, hasta luego."),
        ("it", "Okay, bye."),
    ],
)
def test_a_farewell_in_another_language(language: str, text: str) -> None:
    assert is_farewell(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Vielen Dank."),
        ("de", "Wann sagt man auf Wiedersehen?"),
        ("de", "Guten Tag."),
        ("fr", "Je vous remercie."),
        ("fr", "Je voudrais revoir la facture."),
        ("es", "Hasta mañana no puedo ir a la tienda."),
        ("es", "Buenos días."),
        # greetings as well as farewells: who greets back wants to talk
        ("es", "Buen día."),
        ("es", "Sí, buena tarde."),
        ("es", "Buenas noches."),
        ("de", "Servus."),
        ("de", "Ja, servus."),
        ("de", "Ciao."),
        ("it", "Grazie."),
    ],
)
def test_no_farewell_in_another_language(language: str, text: str) -> None:
    assert not is_farewell(text, language)
