"""What a caller has said so far decides how long a pause may be. The phrases are written as Whisper writes them."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_bridge.turn_end import end_wait_ms, ending
from media_bridge.turn_end_expected import Expected, Kind, expected_answer
from media_bridge.turn_end_waits import Ending, EndWaits

FINISHED = [
    "What does it look like?", "Where do I sign up?", "Who should I ask for?", "What do I need to bring?",
    "Yes please.", "No thanks.", "Sure, thanks.",
    "That's all, thank you.",
    "What are your opening hours?", "Do you repair electric bikes?", "How much is a new tire?",
    "Can I talk to a person?",
    "Where are you from?", "Hi, is this the bike shop?", "And what about Sunday? Are you open on Sunday?",
    "Goodbye.",
    "I don't know.", "No, that's right.", "Yes, it is.", "Yes I do.", "Who am I speaking to?",
    "Could you repeat that, please?",
    "Not really.", "Exactly.", "No problem.", "Thank you very much, bye.",
    "Can you tell me when it will be ready?",
    "Do you have anything cheaper than that?", "What is it about?", "Is there a fee I have to pay?",
    "Nothing else.",
]  # fmt: skip
COMPLETE = [
    "Let's do that.", "I don't know what it looks like.", "I have been there before.", "The lights went out.",
    "We are on our way.",
    "I would like to rent two bikes.", "My chain broke this morning.", "I want to cancel my order.",
    "The brakes are too loose.",
    "There is a problem with my bill.", "We arrived an hour ago.", "I cannot sign in.",
    "It keeps turning off.",
    "Put me through to the workshop.", "I already paid for that.", "My daughter needs a smaller helmet.",
    "If I cancel now, I want my money back.", "When it rains, the light goes out.",
    "I'm looking for a used bike.",
    "They told me that it was ready.", "That's the one I want.", "The front wheel makes a noise.",
    "I sent you the form last week.",
    "Because of the snow, the bus was late.", "I have the receipt right here with me.",
    "She lives in Boston.", "He called me yesterday evening.",
]  # fmt: skip
TRAILING = [
    "Is there any chance that.", "Please tell him that.", "I would rather.", "I need it before.",
    "Well, I thought.",
    "It should be under the name.", "I'm looking for something like.", "I've been trying to reach.",
    "I've got two questions about the.", "What happens if.", "It depends on.", "Does it come with.",
    "I'd like to.", "I need a.", "And.", "My name is.", "It's about.", "I wanted to ask if.", "Um.",
    "So, um.", "Well.",
    "The number is.", "My order number is.", "I bought it because.", "We were on our way to the.",
    "Can you tell me whether.",
    "I'm calling about my.", "It happened when.", "I would like.", "She told me that.",
    "The reason is that.", "I think.",
    "If it rains tomorrow.", "When I turn the pedal.", "Because my car broke down.", "There are.",
    "I was going to.",
    "Yes, and.", "No, but.", "It costs almost.", "We need at least.", "I'm.",
    "Let me check.",
    "I spoke to someone called.", "The problem is.", "I want to fly from London.", "My brother and I.",
    "I have been waiting for.",
    "They said...", "Is it possible to,", "I was wondering.", "The address is.", "You know.",
    "What I mean is.",
    "I live at number.", "I'd prefer.", "I'm not sure if.", "Can I book a table for.", "My email is.",
    "We could, uh.",
    "Please send it to my.", "The first thing I noticed was.", "I don't think that the.",
    "Could you maybe.", "It broke, so.",
]  # fmt: skip
LISTING = [
    ("Five five five.", Expected("digits", 7)), ("It is 555-01.", Expected("digits", 7)),
    ("My number is 212.", None),
    ("The account number is eight one three.", None), ("Two one two, five five five.", None), ("J-O-H.",
    None),
    ("My name is spelled S, M, I.", None), ("T H O M.", Expected("spelling")), ("Anna dot, berg.",
    Expected("email")),
    ("anna.berg@example.", Expected("email")), ("The third.", Expected("date")),
    ("I was born on the second of May.", Expected("date")),
    ("Double five.", Expected("digits", 4)), ("Call me at 415.", None), ("The code is 4 7.", None),
    ("June.", Expected("date")),
    ("twenty three, forty.", Expected("digits", 6)), ("anna at example", Expected("email")), ("4471.",
    Expected("digits", 8)),
    ("M as in Mike, R.", Expected("spelling")),
]  # fmt: skip
DICTATED = [
    ("Five five five zero one four two.", Expected("digits", 7), Ending.ANSWERED),
    ("555-0142.", Expected("digits", 7), Ending.ANSWERED),
    ("It's double four seven one.", Expected("digits", 4), Ending.ANSWERED),
    ("twenty three forty one", Expected("digits", 4), Ending.ANSWERED),
    ("Yes.", Expected("yes_no"), Ending.AGREED),
    ("That is B as in boy.", Expected("spelling"), Ending.LISTING),
    ("The customer numbers.", Expected("digits", 5), Ending.LISTING),
    ("3, 3", None, Ending.LISTING),
    ("in a 075.", None, Ending.LISTING),
    ("No thanks.", Expected("yes_no"), Ending.ANSWERED),
    ("Yes, but", Expected("yes_no"), Ending.TRAILING),
    ("I was there in May.", Expected("yes_no"), Ending.COMPLETE),
    ("My number is 212-555-0138.", None, Ending.COMPLETE),
    ("Smith, S-M-I-T-H.", Expected("spelling"), Ending.FINISHED),
    ("My last name is Berg, that is B E R G.", None, Ending.FINISHED),
    ("anna.berg@example.com.", Expected("email"), Ending.COMPLETE),
    ("anna dot berg at example dot com", Expected("email"), Ending.COMPLETE),
    ("anna dot berg at", Expected("email"), Ending.TRAILING),
    ("The third of May.", Expected("date"), Ending.PAUSING),
    ("I was born on May 2nd, 1984.", Expected("date"), Ending.PAUSING),
    ("Next Thursday.", Expected("date"), Ending.PAUSING),
    ("Smith, SMITH.", Expected("spelling"), Ending.FINISHED),
    ("My last name is Clark, CL.", None, Ending.LISTING),
    ("I want to watch TV.", None, Ending.COMPLETE),
    ("Bye bye bye.", Expected("digits"), Ending.LISTING),
    ("Bye bye bye.", None, Ending.FINISHED),
    ("0 to 0", Expected("digits"), Ending.LISTING),
    ("4-4.", None, Ending.LISTING),
    ("1-800-555", None, Ending.LISTING),
    ("0794601230", None, Ending.PAUSING),
    ("lended.brown at example.org", None, Ending.COMPLETE),
    ("The third of.", Expected("date"), Ending.TRAILING),
    ("My number is.", Expected("digits", 7), Ending.TRAILING),
    ("I don't have one.", Expected("digits", 7), Ending.COMPLETE),
    ("Why do you need that?", Expected("digits", 7), Ending.FINISHED),
]
HANGING = [
    "I would like to return.", "We want to order.", "The technician said it would take.",
    "Do you have?", "Do you have any?", "Could you send me?", "Please give us.",
    "You can bring.", "They asked me to sign.", "I forgot to ask if you could bring.",
]  # fmt: skip
NEUTRAL = [
    "After six.",
    "Before noon.",
    "Two people.",
    "The blue one.",
    "Seven.",
    "Maple Street.",
    "Hello there.",
    "So.",
    "Mañana por la tarde.",
    "你好。",
]


@pytest.mark.parametrize("text", ["Yes.", "No.", "Yeah.", "Nope.", "Okay."])
def test_a_bare_yes_often_goes_on_unless_that_was_the_question(text: str) -> None:
    assert ending(text) is Ending.PAUSING
    assert ending(text, Expected("yes_no")) is Ending.AGREED


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("So what I wanted to ask is how much the insurance costs.", Ending.FINISHED),
        ("The insurance costs.", Ending.TRAILING),
        ("The problem is that the door does not lock.", Ending.COMPLETE),
        ("The problem is that", Ending.TRAILING),
        ("We are looking for something.", Ending.TRAILING),
        ("Could you tell me weather?", Ending.TRAILING),
    ],
)
def test_what_only_looks_unfinished(text: str, right: Ending) -> None:
    assert ending(text) is right


@pytest.mark.parametrize("text", FINISHED)
def test_finished(text: str) -> None:
    assert ending(text) is Ending.FINISHED


@pytest.mark.parametrize("text", COMPLETE)
def test_complete(text: str) -> None:
    assert ending(text) is Ending.COMPLETE


@pytest.mark.parametrize("text", TRAILING)
def test_trailing(text: str) -> None:
    assert ending(text) is Ending.TRAILING


@pytest.mark.parametrize(("text", "expected"), LISTING)
def test_listing(text: str, expected: Expected | None) -> None:
    assert ending(text, expected) is Ending.LISTING


@pytest.mark.parametrize(("text", "expected", "right"), DICTATED)
def test_dictated(text: str, expected: Expected | None, right: Ending) -> None:
    assert ending(text, expected) is right


@pytest.mark.parametrize("text", HANGING)
def test_hanging(text: str) -> None:
    assert ending(text) is Ending.HANGING


@pytest.mark.parametrize("text", NEUTRAL)
def test_neutral(text: str) -> None:
    assert ending(text) is Ending.NEUTRAL


@pytest.mark.parametrize("text", [*COMPLETE, *TRAILING, *HANGING, *NEUTRAL])
def test_a_full_stop_says_nothing(text: str) -> None:
    bare = text.rstrip(".,")
    assert ending(bare) is ending(bare + ".")


@pytest.mark.parametrize("text", ["I want to...", "I can do Monday,", "We have the red one -"])
def test_a_sign_that_says_something(text: str) -> None:
    assert ending(text) is Ending.TRAILING


@given(st.text(max_size=120), st.sampled_from(get_args(Kind)))
def test_any_text_has_an_ending(text: str, kind: Kind) -> None:
    assert isinstance(ending(text, Expected(kind, 4)), Ending)


def test_waits_follow_the_ending() -> None:
    waits = EndWaits()
    assert end_wait_ms("Yes, please.", Expected("yes_no"), waits) == 280
    assert end_wait_ms("Yes.", Expected("yes_no"), waits) == 420
    assert end_wait_ms("No thanks.", None, waits) == 330
    assert end_wait_ms("The brakes are too loose.", None, waits) == 500
    assert end_wait_ms("Two people.", None, waits) == 700
    assert end_wait_ms("I want to return", None, waits) == 1000
    assert end_wait_ms("", None, waits) == 1600
    assert end_wait_ms("555-01", Expected("digits", 7), waits) == 1600
    assert end_wait_ms("My name is", None, waits) == 1900


@pytest.mark.parametrize(
    ("text", "expected", "sure", "unsure", "doubtful"),
    [
        ("Yes, please.", Expected("yes_no"), 280, 280, 280),
        ("Yes.", Expected("yes_no"), 420, 500, 700),
        ("What time is it?", None, 330, 500, 900),
        ("The brakes are too loose.", None, 330, 760, 900),
        ("Yes.", None, 500, 760, 900),
        ("Next Thursday.", Expected("date"), 500, 760, 900),
        ("Two people.", None, 420, 500, 700),
        ("The blue one.", None, 500, 760, 900),
        ("I want to return.", None, 1000, 1000, 1000),
        ("555-01", Expected("digits", 7), 1600, 1600, 1600),
        ("My name is", None, 1900, 1900, 1900),
    ],
)
def test_the_sound_has_a_vote_where_the_words_leave_a_doubt(
    text: str, expected: Expected | None, sure: int, unsure: int, doubtful: int
) -> None:
    votes = {0.99: sure, 0.8: sure, 0.79: unsure, 0.5: unsure, 0.49: doubtful, 0.0: doubtful}
    assert {vote: end_wait_ms(text, expected, EndWaits(), vote) for vote in votes} == votes


@pytest.mark.parametrize(
    ("text", "vote", "confidence", "wait_ms"),
    [
        ("Please send it to you.", 0.97, -0.3, 900),
        ("Please send it to you.", 0.97, -0.22, 760),
        ("Please send it to you.", 0.97, -0.1, 330),
        ("Please send it to you.", 0.3, -0.3, 900),
        ("Please send it to you.", None, -0.3, 900),
        ("Please send it to you.", None, -0.22, 760),
        ("Please send it to you.", None, -0.1, 500),
        ("No thanks.", 0.97, -0.6, 330),
        ("The noise comes from that.", 0.97, -0.2, 900),
        ("I already paid for that.", 0.97, -0.05, 330),
        ("My name is", 0.97, -0.6, 1900),
    ],
)
def test_words_that_may_be_misheard_get_no_short_wait(
    text: str, vote: float | None, confidence: float, wait_ms: int
) -> None:
    assert end_wait_ms(text, None, EndWaits(), vote, confidence) == wait_ms


@pytest.mark.parametrize(
    ("text", "paused_ms", "wait_ms"),
    [
        ("The brakes are too loose.", 200.0, 330),
        ("The brakes are too loose.", 600.0, 750),
        ("The brakes are too loose.", 5000.0, 1600),
        ("555-01", 1400.0, 1600),
        ("My name is", 1400.0, 1900),
        ("Yes, please.", 1400.0, 280),
    ],
)
def test_who_has_paused_within_a_turn_is_waited_for_as_long_again(
    text: str, paused_ms: float, wait_ms: int
) -> None:
    assert end_wait_ms(text, Expected("yes_no"), EndWaits(), 0.99, -0.1, paused_ms) == wait_ms


def test_waits_scale_with_the_wait_that_is_configured() -> None:
    assert EndWaits.around(700) == EndWaits()
    half = EndWaits.around(350)
    assert (half.finished_ms, half.complete_ms, half.neutral_ms, half.trailing_ms) == (165, 250, 350, 950)


@pytest.mark.parametrize("kind", ["digits", "spelling", "email"])
def test_a_dictation_goes_on_behind_a_piece_that_was_not_understood(kind: Kind) -> None:
    assert ending("", Expected(kind)) is Ending.LISTING


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is your phone number?", "digits"),
        ("Could you give me your account number, please?", "digits"),
        ("Could you spell that for me?", "spelling"),
        ("And your e-mail address?", "email"),
        ("What is your date of birth?", "date"),
        ("Which day would suit you?", "date"),
        ("Your bike is ready. Shall I book a time for you?", "yes_no"),
        ("Do you want the standard tune-up?", "yes_no"),
        ("How can I help you?", None),
        ("We are open until six.", None),
        ("Our phone number is on the website.", None),
    ],
)
def test_what_the_bot_asked_for(question: str, kind: Kind | None) -> None:
    asked = expected_answer(question)
    assert (asked.kind if asked else None) == kind


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("open", Expected("open")),
        ("yes_no", Expected("yes_no")),
        ("digits", Expected("digits")),
        ("digits:10", Expected("digits", 10)),
        (" spelling ", Expected("spelling")),
    ],
)
def test_expected_answer_as_it_is_written(written: str, meant: Expected) -> None:
    assert Expected.parse(written) == meant


@pytest.mark.parametrize(
    "written", ["", "numbers", "digits:", "digits:0", "digits:-1", "digits:99", "date:3", "Open"]
)
def test_what_is_no_expected_answer(written: str) -> None:
    with pytest.raises(ValueError, match=r"no kind of answer|only digits take a number"):
        Expected.parse(written)
