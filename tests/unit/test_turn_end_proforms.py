"""Words that stand for what was said before: nothing follows, though they hardly ever end a sentence."""

import pytest

from media_bridge.turn_end import ending
from media_bridge.turn_end_expected import Expected
from media_bridge.turn_end_waits import Ending
from stasis_app.expecting import asked_for

WAITING = (Ending.HANGING, Ending.TRAILING, Ending.LISTING)
YES_NO = Expected("yes_no")
WHOLE = {
    "so and not": [
        "I hope so.", "I believe so.", "I suppose so.", "Yes, I guess so.", "I'm afraid so.", "He said so.",
        "Is that so?", "If so.",
        "How so?", "In an hour or so.", "I'd rather not.", "I hope not.", "Why not?", "Probably not.",
    ],
    "do": [
        "Please do.", "That will do.", "That'll do.", "I already did.", "I usually do.", "She never does.",
        "Do it.", "Just do that.",
    ],
    "formulas": [
        "As soon as possible.", "If possible.", "If that's okay.", "If that's all right with you.",
        "If you don't mind.", "Whenever you can.",
        "Whenever it suits you.", "As usual.", "Half and half, if you can.",
        "I'd like a window seat, if possible.", "Not that I know of.", "I have nothing to worry about.",
        "There's nobody to talk to.", "There's something I need to ask.",
    ],
    "what was asked": [
        "That's all I wanted to know.", "That's all I wanted to ask.", "That's what I wanted to ask.",
        "What do you want to know?",
        "What would you like to know?", "Was that all you wanted to know?",
    ],
    "that and told": [
        "I told him.", "Nobody told me.", "I already told you.", "As I said.", "Like I said.",
        "I didn't know that.", "I never said that.",
        "They didn't tell me that.", "It's broken, like I said.", "You know what I mean?", "Do you see what I mean?",
    ],
    "adverbs": [
        "The light is on.", "Is the heating still on?", "Is he in?", "Is the doctor in?",
        "When will it be back on?", "I called before.",
        "Same as before.", "I've been there before.", "Friday then.", "Let's do that then.",
        "I'll take it then.", "What happens then?",
        "What do I do then?", "Somebody called.", "You called.", "Tell him I called.", "Has anyone called?",
        "My wife called.",
    ],
    "numbers": [
        "I want both.", "I'd like both.", "Ten dollars each.", "They are five euros each.",
        "It doesn't work either.", "Both.", "Either.",
    ],
    "infinitives": [
        "I'd like to reschedule.", "I want to join.", "I'd like to proceed.", "I want to quit.",
        "I'd like to subscribe.", "I want to pay.",
        "I'd like to participate.", "I'd like to continue.", "I want to donate.",
    ],
}  # fmt: skip
UNFINISHED = [
    "The last thing that I remember", "I can't come on either", "I couldn't find it in either",
    "Can you check if they are in",
    "It broke, so.", "And so.", "I want to go there, and so.", "What I wanted to ask.",
    "All I wanted to know.", "I'd like to.", "We love to.",
    "I was going to.", "They told me.", "She told us.", "She said.", "I don't think that.",
    "I'm not sure that.", "Please tell him that.",
    "The office is on.", "It is on.", "The keys are in.", "Is it in?", "I want to fly back on.",
    "I need it before.", "We have to come before.",
    "And then.", "I pressed the button and then.", "If it rains then.", "We then.",
    "I spoke to someone called.", "It's a shop called.",
    "I need both my.", "I know.. that.", "I was wondering if you could.", "Can you tell me if you can.",
    "When you.", "If I.", "I'd like to know if you can.",
    "It costs either.", "That's not how.", "The one thing I need to know.", "Yes, hello, I'd like to.",
]  # fmt: skip
# no pro-form at all: judged like any other words
NO_PROFORM = [
    "I want to make sure that I know", "I was wondering whether or not", "It will probably not",
    "They are definitely not",
    "The price that we see",
]  # fmt: skip
HARDLY_STANDS = ["I understand that.", "I'll have either.", "I need another.", "Do you have any?"]


@pytest.mark.parametrize("text", [text for every in WHOLE.values() for text in every])
def test_what_stands_for_more_is_whole(text: str) -> None:
    assert ending(text) not in WAITING


@pytest.mark.parametrize("text", UNFINISHED)
def test_what_looks_like_it_is_waited_for(text: str) -> None:
    assert ending(text) in WAITING


@pytest.mark.parametrize("text", NO_PROFORM)
def test_what_goes_on_has_not_the_shortest_wait(text: str) -> None:
    assert ending(text) not in (Ending.FINISHED, Ending.ANSWERED)


@pytest.mark.parametrize(
    "text", ["Not that I know of.", "Nothing that I remember.", "Probably not.", "Are you coming or not?"]
)
def test_what_is_denied_is_whole(text: str) -> None:
    assert ending(text) is Ending.FINISHED


@pytest.mark.parametrize("text", ["What kind of bike?", "What type of lock?"])
def test_a_question_back_may_be_whole(text: str) -> None:
    assert ending(text) is Ending.NEUTRAL


@pytest.mark.parametrize("text", HARDLY_STANDS)
def test_what_hardly_ever_stands_has_a_second(text: str) -> None:
    assert ending(text) is Ending.HANGING


@pytest.mark.parametrize(
    "text",
    ["Yes, I'd love to.", "I'd be happy to.", "No, I don't want to.", "I'd prefer not to.", "Happy to."],
)
def test_an_infinitive_that_the_question_had(text: str) -> None:
    assert ending(text, YES_NO) is Ending.PAUSING


@pytest.mark.parametrize(
    ("text", "right"), [("Yes, I want to.", Ending.HANGING), ("Yes, I'd like to.", Ending.HANGING)]
)
def test_one_that_may_begin_a_wish_has_a_second(text: str, right: Ending) -> None:
    assert ending(text, YES_NO) is right
    assert ending(text) is Ending.TRAILING


def test_please_is_an_answer_where_one_was_offered_something() -> None:
    assert ending("Please.", YES_NO) is Ending.NEUTRAL
    assert ending("Please.") is Ending.HANGING


@pytest.mark.parametrize(
    "question", ["Why do you want to return it?", "What is the reason for your call?", "How come?"]
)
def test_a_reason_is_an_answer_where_one_was_asked_for(question: str) -> None:
    asked = asked_for(question)
    assert ending("Because it's broken.", asked) is Ending.COMPLETE
    assert ending("Because it's broken.", asked_for("How can I help you?")) is Ending.TRAILING
    assert ending("Because.", asked) is Ending.TRAILING
    assert ending("Because my car", asked) is Ending.TRAILING
