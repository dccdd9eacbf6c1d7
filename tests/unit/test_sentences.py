"""Where a stream of tokens is cut (D1). A "|" in the table marks each place."""

import pytest

from stasis_app.full_stops import full_stop_ends
from stasis_app.sentences import SentenceChunker

WHOLE_SENTENCES = [
    # cases from public bug reports
    "Dr. Smith can see you at 3.30 p.m. on St. John's Rd.|Shall I book it?",
    "Your room is 12.|Breakfast is at 7.",
    # titles and names
    "Mr. Will Smith called.|He will call back.",
    "Ask for Mrs. Jones or Prof. Lee.|They know.",
    "J. K. Rowling wrote it.|You may like it.",
    "John F. Kennedy was there.|So was I.",
    "He lives on Main St.|The shop is next door.",
    "It is 12 Harbor Dr.|We are open now.",
    "Talk to St. Mary's church.|It is close.",
    "Sammy Davis Jr. sang.|It was good.",
    # abbreviations inside and at the end
    "Bring a lock, e.g. a U-lock, or ask us.|We sell them.",
    "That is, i.e. tomorrow.|Fine.",
    "It is Smith vs. Jones today.|Come early.",
    "We sell bikes, tires, etc.|Anything else?",
    "We sell bikes, tires, etc. and more.|Ask us.",
    "Lakeside Inc. is the firm.|We rent bikes.",
    "It belongs to Lakeside Inc.|We only rent it.",
    "I lived in the U.S. for years.|Now I am here.",
    "I lived in the U.S.|It was nice.",
    "The U.S. Army has bikes.|They are green.",
    "She has a Ph.D. in physics.|He has none.",
    "It takes approx. 20 minutes.|Is that fine?",
    "Call No. 5 first.|Then No. 6.",
    "No.|We are closed.",
    # times and dates
    "We open at 9 a.m. Monday.|We close at 6 p.m.|Please come by.",
    "We close at 6 p.m.|Tomorrow we open at 9.",
    "The shop is open until 6 p.m. on weekdays.|Bye.",
    "It is on Jan. 5 at noon.|See you.",
    "Come on Sat. or Sun. at ten.|Thanks.",
    "It is 9 a.m. EST now.|Good morning.",
    # numbers and money
    "It costs $29.95.|That is all.",
    "It costs $29.95 a month.|Is that okay?",
    "Pi is 3.14159 or so.|Roughly.",
    "Version 2.0.1 is out.|Get it.",
    "You owe 1,250.50 dollars.|Thanks.",
    "I was born in 1984.|You were not.",
    "It ended in 2020.|Then it began again.",
    # lists
    "1. Apples|2. Pears|3. Plums",
    "1. Open the app.|2. Tap on it.",
    "Steps: 1. Open it 2. Close it 3. Go.|Done.",
    "- one|- two|* three",
    "1.\nApples",
    "1.) Open the app.|2.) Tap on it.",
    "• 9. Open the app.|• 10. Tap on it.",
    "Take bus N°. 12 there.|Then walk.",
    "We close at 6.|Come by before that.",
    "See you at 5.|Feel free to call.",
    "It is 3 mi. away.|It is a 10 min. walk, $2/mi. or so.|Good.",
    # addresses on the net
    "See example.com.|It is good.",
    "Go to https://example.com/a.b?c=d!e now.|Then wait.",
    "Write to a.b@example.co.uk.|We answer.",
    "I use Node.js and ASP.NET daily.|It works.",
    # quotes, brackets, markup
    'He said "Stop!" and left.|She asked "Why?"|Then it rained.',
    "(We are closed.)|Come back.",
    'He said "We are closed." and left.|Fine.',
    "The shop (it is new.) has bikes.|Come.",
    "**Bold text.**|Next one.",
    "It is *fine.*|Really?|Yes.",
    # marks
    "What?!|No way!|Okay.",
    "Hmm... let me see.|Well...|Okay.",
    "Wait…|There it is.",
    "Well . . . let me see.|Okay.",
    "One moment . . .|Here it is.",
    "Stop!|now",
    "hi there.|how are you?",
    "First line\nSecond line".replace("\n", "|"),
    "\n\n\nOne\n\n\nTwo\n\n".replace("\n\n\nT", "|T"),
    # other scripts
    "你好。|今天天气很好！|你呢？",
    "他说：「好的。」|然后走了。",
    "नमस्ते।|आप कैसे हैं?",
    "هل أنت بخير؟|نعم.",
    # nothing to cut at
    "no punctuation at all",
    "Plan B. is fine.|Plan C.|We go.",
    "a. b. c.",
]


def chunks(text: str, chunker: SentenceChunker) -> list[str]:
    return [chunk for delta in text for chunk in chunker.feed(delta)] + chunker.finish()


@pytest.mark.parametrize("marked", WHOLE_SENTENCES)
def test_whole_sentences(marked: str) -> None:
    text = marked.replace("|", "\n" if marked.startswith(("1. A", "- one", "First", "\n")) else " ")
    chunker = SentenceChunker(first_chars=200, first_max_chars=200)
    assert chunks(text, chunker) == [chunk.strip() for chunk in marked.split("|")]


@pytest.mark.parametrize(
    "marked",
    [
        "Sure, I can help you with that,|just tell me the name, please.|Then we go on.",
        "Yes.|We are open Monday to Friday from nine to six,|and on Saturday from ten to two.",
        "The workshop is open on weekdays|but the shop is also open on Saturday.",
        "The monthly service plan costs nineteen dollars|and a standard tune-up costs sixty-five.",
        "We have 1,250 bikes in stock; they are new.".replace("; ", ";|"),
        "It was on the third of March, 2025, and it rained.".replace("2025, ", "2025,|"),
        "Well, yes, of course we can.",
        "Take the [red, blue or green one](https://a.b/c,d) home, and come back.".replace("home, ", "home,|"),
        "It is a very simple thing — you just call.".replace("— ", "—|"),
        "你好，我可以帮助您，|请告诉我您的名字，好吗？",
    ],
)
def test_the_first_chunk_closes_early(marked: str) -> None:
    assert chunks(
        marked.replace("|", " " if marked.isascii() or "—" in marked else ""), SentenceChunker()
    ) == marked.split("|")


def test_a_sentence_end_is_seen_without_the_end_of_the_stream() -> None:
    chunker = SentenceChunker()
    assert chunker.feed("Your room is 12.") == []
    assert chunker.feed(" B") == ["Your room is 12."]


def test_a_price_waits_for_its_cents() -> None:
    chunker = SentenceChunker()
    assert [chunker.feed(delta) for delta in ("It costs ", "$29", ".", "95", ".", " Okay?")][-1] == [
        "It costs $29.95."
    ]


def test_one_endless_sentence_is_cut_at_blanks() -> None:
    text = ("lorem ipsum dolor " * 223).strip()
    cut = chunks(text, SentenceChunker())
    assert len(text) > 4000
    assert " ".join(cut) == text
    assert len(cut[0]) <= 80
    assert all(150 < len(chunk) <= 200 for chunk in cut[1:-1])


def test_a_long_sentence_is_cut_at_its_comma() -> None:
    first = (
        "The workshop does repairs of all kinds of bicycles and also of scooters and trailers and even of"
        " old prams,"
    )
    second = (
        "which you can bring to us on any day of the week except on Sunday because then nobody is here to"
        " help you at all."
    )
    assert chunks(f"Hello and welcome to Lakeside Bikes. {first} {second}", SentenceChunker())[1:] == [
        first,
        second,
    ]


def test_a_word_without_end_is_cut_at_the_limit() -> None:
    assert [len(chunk) for chunk in chunks("a" * 450, SentenceChunker())] == [80, 200, 170]


def test_a_cut_never_parts_a_letter_from_its_accent() -> None:
    text = "e\u0301" * 150
    assert all(
        not chunk.startswith("\u0301")
        for chunk in chunks(text, SentenceChunker(first_chars=25, first_max_chars=81))
    )


def test_blanks_without_end_are_not_kept() -> None:
    chunker = SentenceChunker()
    assert chunker.feed("One" + " \n" * 100_000 + "two") == ["One"]
    assert chunker.finish() == ["two"]


def test_what_cannot_be_spoken_is_gone() -> None:
    assert chunks("He\x00llo\u200f the\ud83dre 👨‍👩‍👧 now!", SentenceChunker()) == ["Hello there now!"]


def test_close_first_gives_what_can_be_said_now() -> None:
    chunker = SentenceChunker()
    assert chunker.feed("Our workshop repairs most bikes with") == []
    assert chunker.close_first() == ["Our workshop repairs most bikes"]
    assert chunker.feed(" care. Next") == ["with care."]
    assert chunker.close_first() == []


@pytest.mark.parametrize(
    "text",
    [
        "Sure.",
        "Sure. ",
        "Sure. 😀 ",
        "Yes!",
        "**Sure.** ",
        "“Sure.”",
        "Okay… ",
        "Well... ",
        "好。",
        "नमस्ते।",
        "We are open.",
    ],
)
def test_a_sentence_that_is_whole_need_not_wait_for_what_follows(text: str) -> None:
    whole = chunks(text, SentenceChunker())
    for close in (SentenceChunker.close_sentence, SentenceChunker.close_first):
        chunker = SentenceChunker()
        early = chunker.feed(text)
        assert early + close(chunker) == whole
        assert chunker.finish() == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Sure",
        "It is $29.",
        "It costs 3.",
        "Ask Dr.",
        "at 9 p.m.",
        "e.g.",
        "1.",
        "- ",
        "J.",
        "[a](https://b.c/d.",
        "🎉",
    ],
)
def test_what_may_go_on_waits(text: str) -> None:
    chunker = SentenceChunker()
    chunker.feed(text)
    assert chunker.close_sentence() == []


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("Yes, we are open on Saturday ", ["Yes, we are open"]),
        ("You can pay by card or by ", ["You can pay by card"]),
        ("Yes, we accept credit cards over the ", ["Yes, we accept credit cards"]),
        ("The shop is at 12 Lake Street in town", ["The shop is at 12 Lake Street"]),
        # the word is not whole yet, there are no three words, they belong together, no phrase begins
        ("We are open on", []),
        ("We work on bikes ", []),
        ("This is the on ramp ", []),
        ("The repair usually takes two days ", []),
    ],
)
def test_close_phrase_gives_what_stands_before_the_newest_phrase(text: str, closed: list[str]) -> None:
    chunker = SentenceChunker()
    assert chunker.feed(text) == []
    assert chunker.close_phrase() == closed
    assert " ".join(closed + chunker.finish()) == text.strip()


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("Yes,", ["Yes,"]),
        ("Yes, w", ["Yes,"]),
        ("Of course, ", ["Of course,"]),
        ("I’m sorry, ", ["I’m sorry,"]),
        ("Natürlich,", ["Natürlich,"]),
        # more is there already, no comma, nothing that stands by itself
        ("Yes, we are", []),
        ("Yes", []),
        ("Monday, ", []),
        ("Red,", []),
        ("1,", []),
    ],
)
def test_close_opener_gives_the_word_before_the_answer_proper(text: str, closed: list[str]) -> None:
    chunker = SentenceChunker(first_chars=10, first_max_chars=45)
    assert chunker.feed(text) == []
    assert chunker.close_opener() == closed
    assert chunker.opening
    assert " ".join(closed + chunker.finish()) == text.strip()


def test_close_opener_is_for_the_beginning_of_an_answer() -> None:
    chunker = SentenceChunker(first_chars=10, first_max_chars=45)
    assert chunker.feed("Yes. Sorry, ") == ["Yes."]
    assert chunker.close_opener() == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("The monthly service plan costs nineteen dollars.", "The monthly service plan costs"),
        ("The new workshop manager usually fixes twenty bikes", "The new workshop manager usually fixes"),
    ],
)
def test_a_cut_for_length_leaves_words_together_that_belong_together(text: str, first: str) -> None:
    assert SentenceChunker(first_chars=10, first_max_chars=45).feed(text)[0] == first


@pytest.mark.parametrize("text", ["", "Our", "Our work shop", "$"])
def test_close_first_waits_for_three_words(text: str) -> None:
    chunker = SentenceChunker()
    chunker.feed(text)
    assert chunker.close_first() == []
    assert chunker.finish() == ([text] if text else [])


def test_limits_must_fit_each_other() -> None:
    with pytest.raises(ValueError, match="first_chars"):
        SentenceChunker(first_chars=100, first_max_chars=80)


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [
        ("at 9 p.m.", "P", None),
        ("at 9 p.m.", "Please", True),
        ("at 9 p.m.", "Monday", False),
        ("Mr.", "S", False),
        ("I am done.", "T", True),
        ("see fig.", "4", False),
    ],
)
def test_a_full_stop_may_need_the_next_word(before: str, after: str, ends: bool | None) -> None:
    assert full_stop_ends(before, after, word_is_whole=len(after) > 1) is ends


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes. We rent bikes. They cost nineteen dol", ["Yes.", "We rent bikes."]),
        ("Yes. We rent bikes.", ["Yes.", "We rent bikes."]),
        ("We open at 9 p.m. Pl", ["We open at 9 p.m."]),
        ("They cost nineteen dollars a day and", ["They cost nineteen dollars a day and"]),
        (
            "Sure, I can help you with that one, just tell me the na",
            ["Sure, I can help you with that one,", "just tell me the na"],
        ),
    ],
)
def test_what_is_cut_off_ends_behind_its_last_whole_sentence(text: str, said: list[str]) -> None:
    chunker = SentenceChunker()
    assert chunker.feed(text) + chunker.finish(cut_off=True) == said
