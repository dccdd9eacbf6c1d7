"""Numbers that mean the same in every language: with a sign, in a sum, a ratio, and codes that are told one by one.

Pure.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from stasis_app.local_texts import Signs

Replacement = str | Callable[[re.Match[str]], str]
Rules = tuple[tuple[re.Pattern[str], Replacement], ...]

_SIGN: Final = "[$€£¥₹]"
_OPERAND: Final = r"-?\d(?:[\d.,]*\d)?"
_SUM: Final = re.compile(rf"(?<![\w.,]){_OPERAND}(?:\s*[-–+*/×÷x]\s*{_OPERAND})+\s*=")
_OPERATOR: Final = re.compile(r"(?<=\d)\s*([-–+*/×÷x=])\s*")

_CODE: Final = re.compile(
    r"(?<![\w.,:@/$€£'’-])(?=[A-Z0-9-]*\d)(?=[A-Z0-9-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\w@'’-])(?!\.\d)"
)
_NUMBER_GROUPS: Final = re.compile(r"(?<![\w.,$€£-])(?:\d+(?:-\d+){2,}|\d+-0\d+)(?![\w-]|[.,]\d)")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_MOST_SPELLED: Final = 3
"""Letters in a row; more of them are a word, as in "COVID-19"."""
_LEAST_DIGITS: Final = 4
"""As many in a row, behind letters, are told one by one."""


def rule(pattern: str, replacement: Replacement) -> tuple[re.Pattern[str], Replacement]:
    return re.compile(pattern), replacement


def in_order(rules: Rules, text: str) -> str:
    """`text` after each of the rules."""
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def digit_by_digit(found: re.Match[str], plus: str = "plus") -> str:
    """Digit by digit, a comma where the writer had a mark, so that the voice breathes there."""
    written = found.group()
    abroad = written.startswith("+")
    groups = re.findall(r"\d+", written.replace("(0)", " ") if abroad else written)
    return (f"{plus} " if abroad else "") + ", ".join(" ".join(group) for group in groups)


def signed(signs: Signs) -> Rules:
    """Sums, and a minus in front of a number or of its currency. To be used before ranges and money."""

    def in_sum(found: re.Match[str]) -> str:
        return _OPERATOR.sub(lambda m: f" {signs.of(m[1])} ", found.group())

    return (
        (_SUM, in_sum),
        rule(rf"({_SIGN})\s?-\s?(?=\d)", r"-\1"),
        rule(rf"(?<![^\s(])(?<!\d\s)[-–](?={_SIGN}?\s?\d)(?!\s)", f"{signs.minus} "),
    )


def codes() -> Rules:
    """Number groups ("48-15-16") and what has capitals and figures ("AB-1234", "7F3K9"). To be used before ranges."""
    return ((_NUMBER_GROUPS, digit_by_digit), (_CODE, _code))


def ratio(signs: Signs) -> Rules:
    """ "3:1". To be used after times of day."""
    return (rule(r"(?<![\d:.,])(\d{1,4}):(\d{1,4})(?![\d:])", rf"\1 {signs.ratio} \2"),)


def _code(found: re.Match[str]) -> str:
    groups = [re.findall(r"[A-Z]+|\d+", group) for group in found.group().split("-")]
    parts = [part for group in groups for part in group]
    if not _is_told_one_by_one(groups, parts):
        return found.group()
    return ", ".join(" ".join(map(_spelled, group)) for group in _breaths(groups))


def _is_told_one_by_one(groups: list[list[str]], parts: list[str]) -> bool:
    """Not what has a name to it ("COVID-19", "A320", "H2O", "1080P") or a year ("Q1-2026")."""
    numbers = [part for part in parts if part.isdigit()]
    least = _LEAST_DIGITS if parts[0].isalpha() else _LEAST_DIGITS + 1
    long = any(len(number) >= least and not _YEAR.fullmatch(number) for number in numbers)
    led_by_zero = any(len(number) > 1 and number[0] == "0" for number in numbers)
    mixed = any(len(group) >= 3 and sum(map(len, group)) >= _LEAST_DIGITS for group in groups)
    flight = (
        [len(group) for group in groups] == [1, 1]
        and parts[0].isalpha()
        and 1 < len(parts[0]) <= _MOST_SPELLED
        and len(parts[1]) == 3
    )
    joined = any(
        left[-1].isdigit() and right[0].isdigit() and not _YEAR.fullmatch(right[0])
        for left, right in pairwise(groups)
    )
    return long or led_by_zero or mixed or flight or joined or len(groups) > 2


def _breaths(groups: list[list[str]]) -> list[list[str]]:
    """Letters before figures are a group of their own, unless they alternate."""
    return [
        breath for group in groups for breath in ([[part] for part in group] if len(group) == 2 else [group])
    ]


def _spelled(part: str) -> str:
    if part.isalpha() and len(part) > _MOST_SPELLED:
        return part
    return " ".join(part)
