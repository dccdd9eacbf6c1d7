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
