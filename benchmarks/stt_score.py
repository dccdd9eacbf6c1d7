"""Word error rate, and what makes two spellings of the same words equal: numbers, signs, case. Pure."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES: Final = {word: value for value, word in enumerate(_UNITS)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_ORDINALS: Final = {
    "first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine",
    "twelfth": "twelve",
}  # fmt: skip
_SIGNS: Final = (("%", " percent "), ("&", " and "), ("@", " at "))
_MONEY: Final = re.compile(r"\$\s*(\d[\d,.]*\d|\d)")
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_ALONE: Final = re.compile(r"(\d+)(?:st|nd|rd|th)\b")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SAME: Final = {"ok": "okay", "mm": "mhm", "oh": "zero", "o'clock": "oclock"}


def words(text: str) -> list[str]:
    """The words of `text` as they are compared: lower case, every number as its digits one by one."""
    plain = _MONEY.sub(r"\1 dollars", text.lower().replace("’", "'"))
    for sign, spoken in _SIGNS:
        plain = plain.replace(sign, spoken)
    plain = _ALONE.sub(r"\1", _GROUPED.sub("", plain))
    return _digits([_plain(word) for word in _WORD.findall(plain)])


def word_errors(heard: Sequence[str], right: Sequence[str]) -> int:
    """Levenshtein distance in words: wrong, missing and invented ones."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(right, 1):
        before, row[0] = row[0], number
        for place, other in enumerate(heard, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (word != other))
    return row[-1]


def error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Percent of the words said, over all pairs of (heard, said)."""
    errors = said_words = 0
    for heard, said in pairs:
        right = words(said)
        errors += word_errors(words(heard), right)
        said_words += len(right)
    return 100 * errors / max(1, said_words)


def _plain(word: str) -> str:
    cardinal = _ORDINALS.get(word)
    if cardinal is None and word.endswith("ieth"):
        cardinal = word[:-4] + "y"
    if cardinal is None and word.endswith("th"):
        cardinal = word[:-2]
    if cardinal is not None and cardinal in _VALUES:
        return cardinal
    return _SAME.get(word, word)


def _digits(spelled: Sequence[str]) -> list[str]:
    """Numbers in words become digits: "twenty three" 2 3, "two hundred and forty" 2 4 0, "one four two" 1 4 2."""
    found: list[str] = []
    thousands, is_open = 0, False  # `is_open`: a smaller number may still add to it
    rest: int | None = None

    def close() -> None:
        nonlocal thousands, rest, is_open
        if rest is not None:
            found.extend(str(thousands + rest))
        thousands, rest, is_open = 0, None, False

    for word, following in pairwise([*spelled, ""]):
        if word == "hundred" and rest:
            rest, is_open = rest * 100, True
        elif word == "thousand" and rest and not thousands:
            thousands, rest, is_open = rest * 1000, 0, True
        elif word == "and" and is_open and following in _VALUES and rest is not None and rest % 100 == 0:
            continue
        elif word in _VALUES:
            value = _VALUES[word]
            if rest is None or not (is_open and _adds(rest, value)):
                close()
                rest = 0
            rest += value
            is_open = value >= 20
        else:
            close()
            found.extend(word if word.isdecimal() else [word])
    close()
    return found


def _adds(number: int, value: int) -> bool:
    if number % 100 == 0:
        return 0 < value < 100
    return number % 10 == 0 and 0 < value < 10
