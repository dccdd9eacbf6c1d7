"""Digits, letters, addresses and dates while they are dictated: how much of them has been said.

Works on what Whisper writes of them: "five five five", "555-01", "M-A-R", "C L A R K",
"peter.novak@example.com".
Pure; English.
"""

import re
from itertools import pairwise
from typing import Final, Literal

_ONES: Final = dict.fromkeys(
    "zero oh o nought one two three four five six seven eight nine ten".split(), 1
)  # how many digits one writes for the word
_TEENS: Final = frozenset(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
)
_TENS: Final = frozenset("twenty thirty forty fifty sixty seventy eighty ninety".split())
_REPEATS: Final = {"double": 2, "triple": 3}
_BETWEEN: Final = frozenset("dash hyphen and then um uh space comma point".split())
_BEFORE_ONE: Final = frozenset("have the that this another got need want which no other last any".split())
_QUANTITY: Final = re.compile(
    r"\b(?:hundred|thousand|million|percent|dollars?|euros?|pounds?|o'clock|[ap]\.?m\.?)\b|[$€£%]"
    r"|\d:\d\d|\d\.\d"
)
_CUE: Final = re.compile(
    r"\b(?:number|code|pin|account|phone|digits?|reference|card|zip|extension|password|reach me (?:at"
    r"|on)|call me (?:at|on|back (?:at|on)))\b(?!.*\?)"
)
_MONTHS: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
_ORDINAL: Final = (
    r"(?:\d{1,2}(?:st|nd|rd|th)?|(?:(?:twenty|thirty)[ -])?(?:first|second|third|fourth|fifth|sixth"
    r"|seventh|eighth|ninth)|tenth|eleventh|twelfth|\w+teenth|twentieth|thirtieth)"
)
_DAY_OF_MONTH: Final = re.compile(
    rf"\b(?:{_ORDINAL} (?:of )?(?:{_MONTHS})|(?:{_MONTHS}) (?:the )?{_ORDINAL})\b"
)
_OTHER_DATE: Final = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:today|tomorrow|tonight|yesterday|weekend"
    r"|next week|next month|whenever|any ?time)\b|\d{1,2}[/. ]\d{1,2}[/. ]\d{2,4}"
)
_YEAR: Final = re.compile(r"\b(?:1[89]|20)\d\d\b|\b(?:nineteen|twenty|two thousand)(?: and)?(?: \w+){1,2}$")
_LETTER_RUN: Final = re.compile(r"(?:(?<=\W)|^)((?:(?:double )?[a-z][\s,.-]+)*(?:double )?[a-z])\W*$")
_TOP_LEVEL: Final = r"(?:com|org|net|edu|gov|io|info|biz|co|uk|us|ca|de|fr|it|es|eu|nl|ch|at|au|in)"


# what Whisper makes of a digit that stands alone
_MISHEARD: Final = frozenset("to too for fore ate won bye do sex tree hi oh high".split())
_JOINED: Final = re.compile(r"\b\d-\d\b")
_PREFIX: Final = re.compile(r"^\D*(?:0|1[ -]?8\d\d|\+|one eight|zero|oh)")
# capital letters that are a word and no spelling
_ACRONYM: Final = (
    r"(?:AC|AM|ATM|CD|CEO|DC|DVD|EU|FAQ|GPS|HR|ID|IT|NO|OK|PC|PDF|PIN|PM|PO|SIM|SMS|TV|UK|USA?|USB|VAT"
    r"|VIP|YES)"
)
_CAPITALS: Final = re.compile(rf"\b(?!{_ACRONYM}\b)[A-Z]{{2,5}}\b")


def spell_out(text: str) -> str:
    """`text` with letters that Whisper wrote as one word of capitals apart: "Clark, CL" is "Clark, C-L"."""
    shouted = text.isupper() and " " in text.strip()
    return text if shouted else _CAPITALS.sub(lambda word: "-".join(word[0]), text)


def digits_said(said: str) -> int:
    """Digits in the last run of `said`, whatever else was said before."""
    count = 0
    tokens = re.findall(r"\d+|[a-z']+", said)
    times = 1
    after_tens = False
    for before, word in pairwise(["", *tokens]):
        if word in _BETWEEN or (word == "one" and before in _BEFORE_ONE):
            continue
        if word in _REPEATS:
            times = _REPEATS[word]
            continue
        size = len(word) if word.isdigit() else 2 if word in _TEENS | _TENS else 1 if word in _ONES else 0
        if not size:
            count = 0
        elif after_tens and word in _ONES and word not in {"zero", "oh", "o", "nought"}:
            pass
        else:
            count += size * times
        after_tens, times = word in _TENS, 1
    return count


def digits_misheard(said: str) -> int:
    """Digits where one was asked for and every word is one, or sounds like one: "bye bye bye", "0 to 0"."""
    tokens = re.findall(r"\d+|[a-z']+", said)
    sounding = [token for token in tokens if token in _MISHEARD]
    if len(tokens) < 2 or not all(
        token.isdigit() or token in _MISHEARD or token in _ONES for token in tokens
    ):
        return 0
    return len(sounding) + sum(
        len(token) if token.isdigit() else 1 for token in tokens if token not in _MISHEARD
    )


def has_prefix(said: str) -> bool:
    """Whether a number begins with what stands before an area code, so that seven digits are not all of it."""
    return bool(_PREFIX.match(said))


def digits_dictated(said: str) -> int:
    """`digits_said` where it looks like a dictated number though nobody asked for one; 0 otherwise."""
    if _QUANTITY.search(said):
        return 0
    count = digits_said(said)
    rest = re.sub(
        r"\d+|\b(?:"
        + "|".join([*_ONES, *_TEENS, *_TENS, *_REPEATS, *_BETWEEN, "it", "is", "it's"])
        + r")\b|\W",
        "",
        said,
    )
    if re.search(r"\b0\d{2,}\W*$", said):
        return count  # nobody counts like that
    alone = not rest and count > (1 if len(re.findall(r"\w+", said)) > 1 else 2)
    return (
        count
        if count > 4
        or alone
        or (count > 1 and not rest and _JOINED.search(said))
        or (count and _CUE.search(said))
        else 0
    )


def letters_spelled(said: str) -> str:
    """The single letters that `said` ends with, joined; "" where there are none."""
    found = _LETTER_RUN.search(said)
    if not found:
        return ""
    doubled = re.sub(r"double ([a-z])", r"\1\1", found[1])
    letters = re.sub(r"[^a-z]", "", doubled)
    return "" if letters in {"a", "i"} else letters


def is_letter_named(said: str) -> bool:
    """ "B as in boy": the next letter is to come."""
    return bool(re.search(r"\b[a-z],? (?:as in|like in|for) [a-z]+\W*$", said))


def is_said_before(letters: str, said: str) -> bool:
    """Whether the spelled letters are the whole of a word that was said: "Clark, C-L-A-R-K"."""
    return len(letters) > 2 and letters in re.findall(r"[a-z]{3,}", said)


def is_email_begun(said: str) -> bool:
    return bool(
        re.search(
            rf"@|\bat [\w ]+ dot\b|\bat \w+\.\w|\be-?mail(?: address)? is\b|\b\w+ dot\b.* at\b|\b\w+ dot\W*$"
            rf"|\b\w+ dot\W+(?!{_TOP_LEVEL}\b)\w+\W*$",
            said,
        )
    )


def is_email_whole(said: str) -> bool:
    end = said.rstrip(" .?!,")
    return bool(re.search(rf"(?:@| at | add ).*(?:\.| dot ){_TOP_LEVEL}$", end))


def date_said(spoken: str) -> Literal["whole", "part", "none"]:
    """How much of a date `spoken` holds; a date of birth is whole only with its year."""
    if _DAY_OF_MONTH.search(spoken):
        birth = re.search(r"\b(?:born|birth|birthday)\b", spoken)
        return "part" if birth and not _YEAR.search(spoken) else "whole"
    if _OTHER_DATE.search(spoken):
        return "whole"
    return "part" if re.search(rf"\b(?:{_ORDINAL}|{_MONTHS})$", spoken) else "none"
