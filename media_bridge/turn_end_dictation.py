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
_NAMED: Final = (
    r"(?:phone|telephone|mobile|cell|account|order|reference|card|customer|tracking|booking|serial|policy"
    r"|membership|member"
    r"|case|ticket|flight|contract|house|invoice|registration|confirmation|meter|patient|security|insurance|passport)"
)
_DIGIT: Final = rf"(?:\d|(?:{'|'.join([*_ONES, *_TEENS, *_TENS, *_REPEATS])})\b)"
# a number is announced, and what follows is it: "my phone number is two", not "I lost my phone at two"
_CUE: Final = re.compile(
    rf"(?:\b(?:my|the|your|our|that|this|is|it's|{_NAMED}) number|^number|\b(?:code|pin|digits?|extension"
    r"|password|reference|zip)"
    rf"|\b(?:my|the|our) {_NAMED})"
    rf"(?:\W+(?:is|was|number|the|of|would be|(?:starts?|begins?|ends?) (?:with|in))|'s){{0,3}}\W+(?={_DIGIT})(?!.*\?)"
    r"|\b(?:reach me|call me(?: back)?) on\b(?!.*\?)"
)
_CUE_OR_TIME: Final = re.compile(r"\b(?:reach me|call me(?: back)?) at\b(?!.*\?)")
_MORE_THAN_A_TIME: Final = 3
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


# with letters on both sides of the full stop: "at 5.30" is a time
_ADDRESS: Final = re.compile(
    r"@|\bat [\w ]+ dot\b|\bat \w*[a-z]\w*\.\w*[a-z]|\b\w+ dot\b.* at\b|\b\w+ dot\W*$"
    rf"|\b\w+ dot\W+(?!{_TOP_LEVEL}\b)\w+\W*$"
)
# what is said of an address, and is none: "is not working", "is still the same"
_SAID_OF_IT: Final = (
    r"(?!\W+(?:not|n't|wrong|right|correct|incorrect|the|a|an|in|on|from|with|under|for|still|down|up|out|old"
    r"|new|too|my|your"
    r"|his|her|our|no|never|always|already|just|fine|okay|ok|full|blocked|gone|also|very|really|being|different|better"
    r"|working|on file|changed|invalid|missing|spelled|misspelled|there|here|good|best|all|what|where|how|so|that|this"
    r"|\w+(?:ing|ed|'t))\b)"
)
_EMAIL_IS: Final = re.compile(rf"\be-?mail(?: address)?(?: is|'s)\b{_SAID_OF_IT}")
_ADDRESS_IS: Final = re.compile(
    rf"\be-?mail(?: address)?(?: is|'s)\b{_SAID_OF_IT}|^(?:(?:yes|yeah|sure|okay|ok|well|um|so|it"
    r"|that)\W+)*(?:it is|it's"
    rf"|that's|that is|that would be|this is)\b{_SAID_OF_IT}"
)

# what Whisper makes of a digit that stands alone
_MISHEARD: Final = frozenset("to too for fore ate won bye do sex tree hi oh high".split())
_JOINED: Final = re.compile(r"\b\d-\d\b")
_PREFIX: Final = re.compile(r"^\D*(?:0|1[ -]?8\d\d|\+|one eight|zero|oh)")
# capital letters that are a word even where one spells
_ACRONYM: Final = (
    r"(?:AC|AM|ATM|CD|CEO|DC|DVD|EU|FAQ|GPS|HR|ID|IT|NO|OK|PC|PDF|PIN|PM|PO|SIM|SMS|TV|UK|USA?|USB|VAT"
    r"|VIP|YES)"
)
_CAPITALS: Final = re.compile(rf"\b(?!{_ACRONYM}\b)[A-Z]{{2,5}}\b")
# letters are announced, or some have been said; English, German, French, Spanish
_SPELLING: Final = re.compile(
    r"(?i:\b(?:spel[lt]\w*|name is|name's|code is|reference is|plate is|registration is|letters?|buchstab\w+"
    r"|name ist|hei(?:ß|ss)e|kennzeichen ist"
    r"|épel\w+|nom est|m'appelle|lettres?|deletre\w+|nombre es|apellido es|me llamo|letras?)\b[^.?!]*$)"
    r"|(?:(?<=\W)|^)(?![AI]\s)[A-Z](?:[\s,.-]+[A-Z])*[\s,.-]+$"
)


def spell_out(text: str, asked: bool = False) -> str:
    """`text` with letters that Whisper wrote as one word of capitals apart: "Clark, CL" is "Clark, C-L".

    Where letters are spelled: they were asked for or announced, follow others, or begin a word that was said. Any other
    capitals ("a BMW", "ASAP") stay.
    """
    if text.isupper() and re.search("[A-Z]{2,} [A-Z]{2,}", text):
        return text
    spelled, at = "", 0
    for word in _CAPITALS.finditer(text):
        before = spelled + text[at : word.start()]
        begins = re.search(rf"(?i)\b{word[0]}\w+\W", before)
        letters = asked or begins or _SPELLING.search(before)
        spelled, at = before + ("-".join(word[0]) if letters else word[0]), word.end()
    return spelled + text[at:]


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
        or (count >= _MORE_THAN_A_TIME and _CUE_OR_TIME.search(said))
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
    return bool(re.search(r"(?<![\w'’])[a-z],? (?:as in|like in|for) [a-z]+\W*$", said))


def is_said_before(letters: str, said: str) -> bool:
    """Whether the spelled letters are the whole of a word that was said: "Clark, C-L-A-R-K"."""
    return len(letters) > 2 and letters in re.findall(r"[a-z]{3,}", said)


def is_email_begun(said: str, asked: bool = False) -> bool:
    """`asked`: an address was, so that what "it is" may be one."""
    return bool(_ADDRESS.search(said) or (_ADDRESS_IS if asked else _EMAIL_IS).search(said))


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
