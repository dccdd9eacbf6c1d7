"""Clauses of which only the beginning is there, and what looks like one; written as Whisper writes them."""

import pytest

from media_bridge.turn_end import ending
from media_bridge.turn_end_waits import Ending

WAITING = (Ending.HANGING, Ending.TRAILING)
UNFINISHED = {
    "a subject alone": [
        "Do you know if my parcel?", "Can you check if the doctor?", "Could you tell me whether your shop?",
        "I hope my card.",
        "I hope the weather.", "I think my phone.", "I believe our contract.", "I guess my wife.",
        "She said the delivery.",
        "They told me my refund.", "He told us the car.", "It's because my car.", "I'm afraid my daughter.",
        "I wanted to know if the red one is free and if the.", "Please check whether my last payment.",
    ],
    "a conjunction and a subject": [
        "I bought it last week, and it.", "I called yesterday but you.", "The bill came on Monday and it.",
        "It worked for a day but then it.", "My train was late so I.",
        "We ordered a pizza and it.", "I pressed the button so it.", "I went to the branch and there.",
    ],
    "a noun and who or what it is": [
        "The order I placed last week.", "The invoice that I got yesterday.",
        "The man who repaired my heating.", "The tickets we bought online.",
        "The woman I spoke to on Monday.", "The doctor who treated my son.",
        "My neighbour who lives upstairs.", "The form you sent me.",
        "The appointment I had on Friday.", "A friend who works there.", "The one thing I need to know.",
        "Hello, the parcel you delivered this morning.",
    ],
    "that, of which there is the noun": [
        "I'm looking for a person that.", "There's a light that.", "I got a message that.",
        "I have a car that.", "Is there a later flight that?",
        "Is there anything that?", "I need someone that.", "It's the one that.", "It turns out that.",
        "It seems that.", "I'm worried that.",
        "I'm a bit surprised that.", "We're glad that.", "Do you have a smaller one that?",
    ],
    "what is asked, of which there is the noun": [
        "Can you tell me how much?", "Do you know how long?", "I'm not sure what time.",
        "Do you know which platform?", "Could you tell me what kind of?",
        "I don't know what size.", "Can you check how many?", "I forgot which day.",
        "I'd like to know what documents.",
    ],
    "a number or a size": [
        "I'd like to order two.", "I'd like to rent three.", "We want to book four.", "Can I get two?",
        "Could I have another?", "I need to bring two.",
        "I'd like a large.", "Can I get a small?", "I want a medium.", "We need a double.",
    ],
}  # fmt: skip
FINISHED = {
    "the clause has its verb": [
        "Do you know if my parcel arrived?", "Can you check if the doctor is in?",
        "I hope the weather improves.", "I think my phone broke.",
        "She said the delivery was late.", "They told me my refund had been paid.",
        "It's because my car broke down.", "Can you tell me if the train stops there?",
        "I wonder if the price includes breakfast.",
    ],
    "a time that is the subject": ["After lunch would be better.", "Before noon is fine."],
    "it is all that was said": [
        "I think the blue one.", "I guess the second one.", "He told me the price.",
        "They told me the wrong number.", "I believe the other one.",
        "She told me her name.", "I'm fine, and you?", "Good, thank you, and you?", "It's for me and you.",
    ],
    "the noun has its verb": [
        "The order I placed last week has not arrived.", "The bike I bought last year broke.",
        "The man who repaired my heating was late.",
        "The tickets we bought online are lost.", "The form you sent me is wrong.",
        "The man who came said it was fine.", "My name is Anna and I live in Rome.",
        "The day that works best is Monday.", "The lady I spoke to said no.", "The card I have works.",
        "The elevator in our building is stuck.", "The first of May.",
        "This is the woman I spoke to.", "That's the one I bought.",
        "The one I ordered last week.",
    ],
    "that is a pronoun": [
        "No, not that.", "I want to change that.", "Can I get a refund for that?", "I don't need that.",
        "Can you do that?", "How much is that?",
        "I'd like one like that.", "I wasn't told about that.", "I don't want to wait that long.",
        "Is that you?", "Is it the same as that?", "We don't want that.", "I need to fix that.",
    ],
    "the question has its clause": [
        "Can you tell me how much it is?", "I don't know what happened.", "I don't know which one.",
        "I'm not sure what it means.",
        "Do you know how long it takes?", "I'll see what works.",
    ],
    "the number has its noun": [
        "I'd like to order two pizzas.", "Just two.", "For two.", "Make it a medium.",
        "I'd like a large pizza.", "I'd like to book one.",
        "A large.",
    ],
}  # fmt: skip


def of(texts: dict[str, list[str]]) -> list[str]:
    return [text for every in texts.values() for text in every]


@pytest.mark.parametrize("text", of(UNFINISHED))
def test_half_a_clause_is_waited_for(text: str) -> None:
    assert ending(text) in WAITING


@pytest.mark.parametrize("text", of(FINISHED))
def test_a_whole_one_ends_as_ever(text: str) -> None:
    assert ending(text) not in (*WAITING, Ending.LISTING)
