"""Where English cannot stop, by its constructions; and what looks like one of them and is whole."""

import pytest

from media_bridge.turn_end import ending
from media_bridge.turn_end_waits import Ending

CANNOT_STAND = [
    "The receptionist told me you.", "I was wondering whether it.", "I guess it.", "I'm sure you.",
    "I usually.", "He's always.", "They already.", "It never.", "We hardly.",
    "I'm quite.", "It was too.", "It looks very.", "I need a new.", "I bought a blue.", "We want another big.",
    "The woman at the desk who.", "I need a place which.", "I have to speak with whoever.",
    "I would like to know how.", "I want to ask when.", "It depends how.", "I was told that.", "Hi, my name.",
    "Good afternoon, I'm calling.", "I was just wondering.",
    "The address is flat.", "He's got.", "I've got.", "First of all.", "To be honest.", "Unfortunately.",
    "I'm looking four.", "Do you deliver two?", "I used too.", "It's because off.", "I need to know us.",
]  # fmt: skip
HARDLY_STANDS = [
    "The car is making.", "I noticed.", "Does that include?", "Could you arrange?", "It measures.",
    "My phone won't let me.", "It costs me.", "You charged me.", "I owe you.", "My daughter left her.",
    "I'm supposed.", "Are you able?", "I'm allergic.", "They sent us the wrong.", "When is the next?", "The other.",
    "I bought two.", "We had four.", "Where can I?", "Why did you?", "May I?", "Have you ever?", "Could I possibly?",
    "Would you mind?", "Do you think?", "Please make sure.", "Let me.", "I forgot where.", "Can you tell me how?",
    "All I need.", "What I'd like.", "I was hoping.", "We were told.", "My husband's.", "It starts it.",
    "No, I meant.", "It happened one.", "I need two chairs end.",
]  # fmt: skip
WHOLE = [
    "No, that is not what I meant.", "That is what she really meant.",
    "What do I need?", "What does it include?", "How much does it cost?", "That is all I need.", "That's what I said.",
    "Who is it?", "How are you?", "Where is it?", "What is it?", "It is really good.",
    "I'm fine, thank you.", "I like it.", "Can you fix it?", "I don't know who it was.", "I want the new one.",
    "It's a new one.", "Is it new?", "The bike is blue.", "It was too late.", "Is it wrong?", "Just two.",
    "At the weekend.", "It works in the end.", "It's at the end.", "Is breakfast included?", "It's my husband's car.",
    "That's it.", "Let's go.", "I called her.", "I spoke to her.", "Can you call me?", "Tell me about it.",
    "Thank you.",
    "Do you deliver to Boston?", "I'm not able to come.", "I would rather not.", "Me too.",
    "I need it by the end.", "Wait for me.", "Turn it off.", "The light is off.", "Is that off?",
]  # fmt: skip


@pytest.mark.parametrize("text", CANNOT_STAND)
def test_what_cannot_stand_is_waited_for(text: str) -> None:
    assert ending(text) is Ending.TRAILING


@pytest.mark.parametrize("text", HARDLY_STANDS)
def test_what_hardly_ever_stands_has_a_second(text: str) -> None:
    assert ending(text) in (Ending.HANGING, Ending.TRAILING)


@pytest.mark.parametrize("text", WHOLE)
def test_what_looks_like_it_and_is_whole_ends_as_ever(text: str) -> None:
    assert ending(text) not in (Ending.HANGING, Ending.TRAILING)
