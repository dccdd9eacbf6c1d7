"""What the voice is given for what the model wrote."""

import pytest

from stasis_app.sentences import SentenceChunker
from stasis_app.speakable import Speakable, speakable, spoken_characters

MARKUP = [
    ("**Bold** and *it*, `code` __x__ and ~~gone~~", "Bold and it, code x and gone"),
    ("# Opening hours", "Opening hours."),
    ("### Opening hours:", "Opening hours:"),
    ("- two bikes", "two bikes."),
    ("* [x] two bikes!", "two bikes!"),
    ("> quoted words", "quoted words."),
    ("1. Open the app", "1, Open the app"),
    ("[our site](https://example.com/a?b=1) now", "our site now"),
    ("![a red bike](https://example.com/a.png)", "a red bike"),
    ("[our site][1] now", "our site now"),
    ("<https://example.com>", "example dot com"),
    ("| Day | Hours |\n|---|:---:|\n| Monday | nine |", "Day, Hours. Monday, nine."),
    ("---", ""),
    ("***", ""),
    ("Before\n```python\nprint(1)\n```\nafter", "Before after"),
    ("<speak>Hello <break time='1s'/> you</speak>", "Hello you"),
    ("<think>they want bikes</think>We have bikes.", "We have bikes."),
    ("snake_case_name and 3 * 4", "snake case name and 3 times 4"),
    ("Use \\n here", "Use n here"),
]
CHARACTERS = [
    ("Hi 😀 there 👨\u200d👩\u200d👧!", "Hi there!"),
    ("❤️ 👍🏽 🇩🇪 1️⃣", "1"),
    ("😀", ""),
    ("a\u200f\u202eb\x00c\x1b\ud83dd\ufeff", "abcd"),
    ("one\u00a0two\tthree\r\nfour", "one two three four"),
    ("ﬁne 𝐇𝐞𝐥𝐥𝐨", "fine Hello"),
    ("你好。世界！", "你好。世界!"),
    ("नमस्ते दुनिया।", "नमस्ते दुनिया।"),
    ("Wait... what?!", "Wait… what?"),
    ("Hello!!!", "Hello!"),
    ("so, and then -", "so, and then,"),
    ("...", ""),
    ("“Smart” ‘quotes’", "“Smart” ‘quotes’"),
]
ADDRESSES = [
    ("Write to joe.smith@example.com, please", "Write to joe dot smith at example dot com, please"),
    ("a_b+c@my-shop.co.uk", "a underscore b plus c at my dash shop dot co dot uk"),
    ("See https://www.example.com/menu.", "See example dot com slash menu."),
    ("See http://example.com/a/b?c=d#e!", "See example dot com slash a slash b!"),
    ("See https://example.com/orders/8841234/x", "See example dot com"),
    ("Go to example.com now", "Go to example dot com now"),
]
NUMBERS = [
    ("$19", "19 dollars"), ("$1", "1 dollar"), ("$29.95.", "29 dollars and 95 cents."), ("$29.00",
    "29 dollars"),
    ("$0.50", "50 cents"), ("$1,250.00", "1,250 dollars"), ("$1.5 million", "1.5 million dollars"),
    ("$5k", "5 thousand dollars"),
    ("$19/month", "19 dollars per month"), ("$25-$30", "25 to 30 dollars"), ("€5.50",
    "5 euros and 50 cents"), ("£1", "1 pound"),
    ("-$5", "minus 5 dollars"), ("a $20 fee", "a 20 dollar fee"), ("20 USD", "20 dollars"), ("¥500",
    "500 yen"),
    ("50%", "50%"), ("10,000", "10,000"), ("3.14", "3.14"), ("1984", "1984"), ("in 2025", "in 2025"),
    ("the 3rd", "the 3rd"),
    ("the 1990s", "the 19 nineties"), ("1/2 hour", "one half hour"), ("2½ hours", "2 and a half hours"),
    ("3/4", "three quarters"), ("24/7", "24 7"), ("#5", "number 5"), ("No. 5", "number 5"), ("0142",
    "0 1 4 2"),
    ("555-0142.", "5 5 5, 0 1 4 2."), ("(212) 555-0138", "2 1 2, 5 5 5, 0 1 3 8"), ("212.555.0138",
    "2 1 2, 5 5 5, 0 1 3 8"),
    ("+1 212-555-0138", "plus 1, 2 1 2, 5 5 5, 0 1 3 8"), ("1-800-555-0199", "1, 8 0 0, 5 5 5, 0 1 9 9"),
    ("020 7946 0018", "0 2 0, 7 9 4 6, 0 0 1 8"), ("5550142", "5 5 5 0 1 4 2"), ("5 km", "5 kilometers"),
    ("1 kg", "1 kilogram"),
    ("20°C", "20 degrees Celsius"), ("60 mph", "60 miles per hour"), ("6 ft", "6 feet"), ("10 min",
    "10 minutes"), ("~5", "about 5"),
    ("<5 minutes", "less than 5 minutes"), ("5-10 minutes", "5 to 10 minutes"), ("2-day trip",
    "2-day trip"), ("5 – 10", "5 to 10"),
]  # fmt: skip
TIMES = [
    ("9:00 AM", "9 AM"), ("9:30 am", "9 30 AM"), ("9:05", "9 oh 5"), ("12:00", "12 o'clock"), ("15:30",
    "3 30 PM"), ("00:30", "12 30 AM"),
    ("9 a.m.", "9 AM."), ("at 9 a.m. on Monday", "at 9 AM on Monday"), ("9am-6pm", "9 AM to 6 PM"),
    ("9-6", "9 to 6"),
    ("9 a.m. - 6 p.m.", "9 AM to 6 PM."), ("Mon-Fri 9-6, Sat 10-2",
    "Monday to Friday 9 to 6, Saturday 10 to 2"),
    ("Mon–Fri: 9:00–18:00", "Monday to Friday: 9 o'clock to 6 PM"), ("Jan. 5", "January 5"), ("5 Sept",
    "5 September"),
    ("2025-03-04", "March 4, 2025"), ("I may come in March", "I may come in March"), ("The sun sat.",
    "The sun sat."),
    ("99:99", "99 to 99"), ("1st-3rd", "1st to 3rd"),
]  # fmt: skip
ABBREVIATIONS = [
    ("Dr. Smith at St. John's Rd.", "Doctor Smith at Saint John's Road."), ("12 Main St. is",
    "12 Main Street is"),
    ("on Main St.", "on Main Street"), ("St. Mary", "Saint Mary"), ("and/or", "and or"), ("he/she",
    "he or she"), ("A/C", "A C"),
    ("e.g. this", "for example this"), ("i.e., that", "that is that"), ("J. K. Rowling", "J K Rowling"),
    ("the U.S. Army", "the U S Army"),
    ("in the U.S.", "in the U S."), ("bikes, etc.", "bikes, et cetera."), ("Apt. 5", "Apartment 5"),
    ("Q&A", "Q&A"), ("approx. ten", "approximately ten"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "said"), [*MARKUP, *CHARACTERS, *ADDRESSES, *NUMBERS, *TIMES, *ABBREVIATIONS]
)
def test_said(written: str, said: str) -> None:
    assert speakable(written) == said


def test_a_language_nobody_knows_keeps_its_numbers() -> None:
    assert speakable("**It costs** 19,50 € at 9:00", "xx-nowhere") == "It costs 19,50 € at 9:00"


def test_a_code_block_may_span_chunks() -> None:
    voice = Speakable()
    said = [voice.feed(chunk) for chunk in ("Look: ```python", "print('$5')", "``` That was it.", "Bye.")]
    assert said == ["Look:", "", "That was it.", "Bye."]


def test_hidden_reasoning_may_span_chunks() -> None:
    voice = Speakable()
    assert [voice.feed(chunk) for chunk in ("<think>Hm.", "They ask.", "</think> Yes.")] == ["", "", "Yes."]


def test_one_answer_through_both() -> None:
    answer = (
        "Sure! Here is **what we have**:\n\n1. Bikes at $25/day 🚲\n2. Helmets\n\n```\nx = 1\n```\nCall"
        " 555-0142."
    )
    chunker, voice = SentenceChunker(), Speakable()
    said = [voice.feed(chunk) for chunk in [*chunker.feed(answer), *chunker.finish()]]
    assert [text for text in said if text] == [
        "Sure!",
        "Here is what we have:",
        "1, Bikes at 25 dollars per day",
        "2, Helmets",
        "Call 5 5 5, 0 1 4 2.",
    ]


def test_characters_are_judged_alone() -> None:
    text = "a😀\u200d\ud83d b\u2028c\r"
    assert spoken_characters(text) == "".join(map(spoken_characters, text)) == "a  b\nc\n"
