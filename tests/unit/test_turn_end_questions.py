"""Where a question cannot stop, by what its question word has taken the place of; written as Whisper writes it."""

import pytest

from media_bridge.turn_end import ending
from media_bridge.turn_end_waits import Ending

WAITING = (Ending.HANGING, Ending.TRAILING)
UNFINISHED = {
    "a preposition whose noun is to come": [
        "What is the price of.", "What's the fee for.", "What's the phone number for?",
        "What is the distance between.",
        "What are your prices for?", "What's the fastest way to?", "What's the problem with?",
        "How much is a ticket to?",
        "How much is delivery to?", "How much do I owe for?", "How long does it take to?", "How far is it from?",
        "How do I get to?", "What do I have to?", "What do you want me to?", "What time do I need to?",
        "Who is in charge of?",
        "Who is responsible for.", "Which bus goes to?", "What time does the train leave for?",
        "Where is the exit to?",
        "Where's the nearest stop to?", "Why is there a charge for?", "When is the deadline for?", "What comes with?",
        "Who pays for?", "What do I do about?", "What do you think about?", "What do you know about?", "How about.",
        "What about?", "Which of?", "Who should I ask to?", "Where can I find the form for?",
        "How many seats are there in?",
        "Why do I get a bill from?", "When can I speak to?", "What is wrong with?",
    ],
    "no object behind a word that takes none": [
        "Where can I buy?", "Where do I find?", "Where could I get?", "How do I use?", "How can I reset?",
        "How do I contact?",
        "How can we update?", "When can you send?", "When will you send?", "Why did you send?", "Where should I put?",
        "Why do you need?", "How do I claim?", "Where can I pick up?", "I don't know where to find.",
        "Can you tell me how to get?",
        "I don't know how to use.", "The shop where I bought.", "Tell me how I can change.",
    ],
    "an auxiliary, its subject and a verb that wants an object": [
        "Do you sell?", "Do you offer?", "Do you accept?", "Do you have?", "Do you take?", "Do you stock?",
        "Can you recommend?",
        "Would you recommend?", "Can I book?", "Could we reserve?", "Can I change?", "Could I return?",
        "Did you receive?",
        "Can you check?", "Could you also send?", "Do they serve?", "Does it include?", "May I ask?", "Can I speak?",
        "Do I need to bring?", "Does your garage have?", "Will the shop repair?", "Can I please order?",
        "Will you repair?",
    ],
    "a subject without its verb": [
        "Can my husband?", "Will the doctor?", "Does your shop?", "What does the warranty?", "When does the next bus?",
        "Is my order?", "Is the pool?", "Was the parcel?", "Are the tickets?", "How many bags can?",
        "Which platform is?",
        "Can I wait here while you?", "How often does?", "Is it still?",
        "Is anyone?", "How far in advance do I?",
        "Does the new model?", "Has my payment?",
    ],
}  # fmt: skip
FINISHED = {
    "who did or has something": [
        "Who has the keys?", "Who did the repair?", "Who does the repairs?", "Which one has the warranty?",
        "What has the warranty?", "Which models have the motor?",
    ],
    "a price or a length with its preposition": [
        "How much does it come to?", "What does it come to?", "How much would you do it for?",
        "How much do they go for?",
        "How long is it good for?", "How long can I rent it for?", "How long are you open for?",
        "How far do you deliver to?",
        "What form do I fill in?", "What does it run on?", "How much can I get it for?",
    ],
    "a preposition whose noun is the question's": [
        "What is it for?", "What's that about?", "Who is this from?", "Who was it for?", "What are they about?",
        "What is it made of?", "Who do I talk to?", "Who am I speaking with?", "Which bus do I get on?",
        "What do I sign up for?",
        "What are you waiting for?", "Which company do you work for?", "Where do you come from?",
        "Where are you from?",
        "Where are they going to?", "Where do I send it to?", "Where is it from?", "Who do I give it to?",
        "What do I need it for?",
        "Which address should I send it to?", "Who do I make the check out to?", "What floor are you on?",
        "Which stop do I get off at?",
        "Which hotel are you staying at?", "What does it depend on?", "What does that stand for?",
        "What are you looking at?",
        "Who is she married to?", "What is this letter about?", "What's this charge for?", "What for?",
        "Who with?", "Where to?",
        "Since when?", "From where?", "Until when?", "With whom?", "How do I log in?", "Where do I sign in?",
        "When can I come in?",
        "Can you tell me who I should speak to?", "What size do you have it in?",
        "That's the number I'm calling from.", "I don't know who to talk to.", "What are you interested in?",
    ],
    "an object that the question word is": [
        "What do I need?", "What can you offer?", "Which one would you recommend?", "Who should I contact?",
        "How many do you have?",
        "How much does it cost?", "How long will it take?", "What can I get?", "Which card do you accept?",
        "Who did you send?",
        "How much do you want?", "I don't know what to buy.", "Is there anything I should bring?",
        "Is there a form I can use?",
    ],
    "nothing is missing": [
        "Do you deliver?", "Can you help?", "Can I come?", "Can I pay?", "Do you understand?",
        "Do you remember?", "Can we talk?",
        "Does it work?", "Can you hear me?", "Could you hold?", "When do you open?", "Where do I pay?",
        "How do I apply?",
        "Where can I park?", "How do I cancel?", "Where do I go?", "When can I leave?", "How does it work?",
        "Why did you call?",
        "Can you fix it?", "Where can I get it?", "How do I use this?", "Does the shop open on Sunday?",
        "Can my husband come?",
        "Where is the toilet?", "What is the price?", "When is the next bus?", "How is the weather?",
        "Which one is it?",
        "Have a good day.", "When does the sale end?", "What else?", "When could I see it?",
        "Does my wife know?", "Can the price change?", "What would the doctor do?",
        "Do you sell bread?", "Is my order ready?", "Are the tickets refundable?",
    ],
    "an adjective that is said of something": [
        "Is that possible?", "Is that normal?", "Is that wrong?", "Is this free?", "Is this new?", "Is it different?",
        "Are these valid?", "Which is the cheapest?", "Which one is the best?", "Is it the first?",
        "Is that the last?",
        "Who was the first?", "What's the latest?",
    ],
}  # fmt: skip
HALF_AN_ADJECTIVE = ["When is the next?", "I need the next.", "They sent me the wrong.", "Is there a new?"]


def of(texts: dict[str, list[str]]) -> list[str]:
    return [text for every in texts.values() for text in every]


@pytest.mark.parametrize("text", of(UNFINISHED) + HALF_AN_ADJECTIVE)
def test_a_question_that_lacks_something_is_waited_for(text: str) -> None:
    assert ending(text) in WAITING


@pytest.mark.parametrize("text", of(UNFINISHED))
def test_its_mark_changes_nothing(text: str) -> None:
    assert ending(text.rstrip(".?")) in WAITING


@pytest.mark.parametrize("text", of(FINISHED))
def test_a_question_that_lacks_nothing_ends_as_ever(text: str) -> None:
    assert ending(text) not in (*WAITING, Ending.LISTING)
