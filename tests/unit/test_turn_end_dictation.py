"""What is taken for digits, letters or an address on their way, and what only looks like it."""

import pytest

from media_bridge.turn_end import ending
from media_bridge.turn_end_dictation import spell_out
from media_bridge.turn_end_expected import Expected
from media_bridge.turn_end_waits import Ending

EMAIL = Expected("email")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I need it ASAP.", "en"), ("I have a BMW.", "en"), ("I sent it with DHL.", "en"), ("It came by UPS.",
        "en"), ("I live in NYC.", "en"),
        ("A size XL.", "en"), ("It's an SUV.", "en"), ("The VPN does not work.", "en"),
        ("I lost the keys of my VW.", "en"),
        ("Ich zahle mit EC.", "de"), ("Ich bin beim ADAC.", "de"), ("J'ai une BMW.", "fr"),
        ("Je prends le TGV.", "fr"), ("Mi DNI.", "es"),
        ("Vivo en EE.UU.", "es"),
    ],
)  # fmt: skip
def test_capitals_are_words(text: str, language: str) -> None:
    assert ending(text, None, language) not in (Ending.LISTING, Ending.TRAILING)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Clark, CL", "Clark, C-L"), ("Clark, CL, ARK", "Clark, C-L, A-R-K"), ("My name is KL",
        "My name is K-L"),
        ("I spell it BRO", "I spell it B-R-O"), ("M, A, RTI", "M, A, R-T-I"), ("It is M, A, RTI",
        "It is M, A, R-T-I"), ("The plate is BX", "The plate is B-X"),
        ("Ich buchstabiere KRU", "Ich buchstabiere K-R-U"), ("Je m'appelle DUP", "Je m'appelle D-U-P"),
        ("Me llamo GAR", "Me llamo G-A-R"),
        ("A BMW", "A BMW"), ("I have a BMW and it", "I have a BMW and it"), ("GOOD MORNING", "GOOD MORNING"),
    ],
)  # fmt: skip
def test_capitals_are_letters_where_one_spells(text: str, spelled: str) -> None:
    assert spell_out(text) == spelled


def test_capitals_are_letters_where_they_were_asked_for() -> None:
    assert spell_out("BMW", asked=True) == "B-M-W"
    assert ending("KOW", Expected("spelling")) is Ending.LISTING


@pytest.mark.parametrize(
    "text",
    [
        "It's for Saturday.", "It's for tomorrow.", "It's for two.", "That's for me.", "What's for lunch?",
        "Yes, it's for me.", "Who's for tea?",
        "My email is not working.", "My email is wrong.", "My email address is the same.",
        "My email is down again.", "My email isn't working.",
        "Can I come at 5.30?", "We arrive at 7.15.", "I lost my phone at five.", "I paid by card at two.",
        "My card expires in 2027.",
        "My account was closed in 2019.", "I'll take number three.", "Call me at five.",
        "I changed my phone in May 2021.", "My order came at ten.",
    ],
)  # fmt: skip
def test_nothing_is_dictated(text: str) -> None:
    assert ending(text) not in (Ending.LISTING, Ending.TRAILING)


@pytest.mark.parametrize(
    "text",
    [
        "B as in boy.", "D for dog.", "My name is S for sugar.", "My email is anna.",
        "My email address is peter dot.", "My phone number is two one.",
        "The account number is eight.", "My card number is 4 4.", "My order number's 77.",
        "The code is three.", "Reference number 4.", "Call me at 415.",
        "Call me on four.", "You can reach me at six one seven.", "anna at example.net is the.",
        "The PIN starts with four.",
    ],
)  # fmt: skip
def test_something_is_being_dictated(text: str) -> None:
    assert ending(text) in (Ending.LISTING, Ending.TRAILING)


@pytest.mark.parametrize(
    "text", ["anna", "It's anna", "It is anna 77", "anna dot", "Berger.", "That's mike dot brown."]
)
def test_an_address_that_was_asked_for_is_waited_for(text: str) -> None:
    assert ending(text, EMAIL) in (Ending.LISTING, Ending.TRAILING)


@pytest.mark.parametrize(
    "text",
    [
        "I don't have one.",
        "It's the same as before.",
        "You have it already.",
        "What do you need it for?",
        "No, thanks.",
        "That is not necessary.",
    ],
)
def test_another_answer_than_an_address_ends_as_ever(text: str) -> None:
    assert ending(text, EMAIL) not in (Ending.LISTING, Ending.TRAILING, Ending.HANGING)
