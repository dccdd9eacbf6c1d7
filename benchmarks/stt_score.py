"""Word error rate, and what makes two spellings of the same words equal: numbers, signs, case. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES: Final = {word: value for value, word in enumerate(_UNITS)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_SCALES: Final = {"hundred": 100, "thousand": 1000}
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
    found: list[str] = []
    number: int | None = None
    joined = False

    def close() -> None:
        nonlocal number, joined
        if number is not None:
            found.extend(str(number))
        number, joined = None, False

    for place, word in enumerate(spelled):
        following = spelled[place + 1] if place + 1 < len(spelled) else ""
        if word in _SCALES and number is not None:
            number, joined = number * _SCALES[word], True
        elif word == "and" and joined and following in _VALUES:
            continue
        elif word in _VALUES:
            value = _VALUES[word]
            if number is not None and _fits(number, value, joined=joined):
                number += value
            else:
                close()
                number = value
            joined = value >= 20 and value % 10 == 0
        else:
            close()
            found.extend(word if word.isdecimal() else [word])
    close()
    return found


def _fits(number: int, value: int, *, joined: bool) -> bool:
    """Whether `value` adds to `number` ("twenty" "three", "two hundred" "forty") and does not begin another."""
    room = 10 if number % 100 and number % 10 == 0 else 100 if number % 100 == 0 and number else 1
    return joined and 0 < value < room
