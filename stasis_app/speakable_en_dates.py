"""English dates in figures, and what has a slash and is none: fractions, ratings.

Where no year stands beside it, "1/2" is a date only behind a word that dates have before them ("on 1/2"). Pure.
"""

import re
from datetime import date
from typing import Final

from stasis_app.speakable_numbers import Rules, rule

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WEEKDAY: Final = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_DAY: Final = r"(?!24/7)\d{1,2}/\d{1,2}(?![\d/])"
_MEASURE: Final = r"(?!\s(?:cups?|inch(?:es)?|teaspoons?|tablespoons?|hours?|miles?|pounds?|of|full)\b)"
_COMMON: Final = r"(?:1/2|1/4|3/4|1/3|2/3)\s[a-z]"
_CENTURY_TURNS: Final = 69
"""Two figures from here on are of the last century, as in POSIX."""
_LEAP_YEAR: Final = 2000

_PARTS: Final = {
    "½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
    "⅕": "1/5",
}  # fmt: skip
_PART_NAMES: Final = {
    2: "half", 3: "third", 4: "quarter", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 9: "ninth", 10: "tenth",
    12: "twelfth", 16: "sixteenth", 32: "thirty-second",
}  # fmt: skip
_COUNTS: Final = dict(enumerate("zero one two three four five six seven eight nine".split()))


def date_rules(*, day_first: bool) -> Rules:
    """ISO dates, those with a full stop (day first everywhere), and with a slash or hyphen (as the country does)."""

    def in_figures(found: re.Match[str]) -> str:
        first, second, year = int(found[1]), int(found[3]), found[4]
        if found[2] != "/" and len(year) == 2:
            return found.group()
        whole = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= _CENTURY_TURNS else 2000)
        month, day = (second, first) if day_first or found[2] == "." or first > 12 else (first, second)
        return _named(whole, month, day, day_first=day_first) or found.group()

    def short(text: str) -> str:
        first, second = (int(part) for part in text.split("/"))
        month, day = (second, first) if day_first or first > 12 else (first, second)
        named = _named(_LEAP_YEAR, month, day, day_first=day_first)
        return named.removesuffix(f" {_LEAP_YEAR}").removesuffix(",") if named else text

    def iso(found: re.Match[str]) -> str:
        named = _named(int(found[1]), int(found[2]), int(found[3]), day_first=day_first)
        return f"{named} at {found[4]}" if named and found[4] else named or found.group()

    return (
        rule(
            r"\b(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?!\w|-\d)",
            iso,
        ),
        rule(r"(?<![\w./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\w/-]|\.\d)", in_figures),
        rule(
            rf"\b((?:[Ff]rom|[Bb]etween)\s)({_DAY})(\s(?:to|and|until|through)\s)({_DAY}){_MEASURE}",
            lambda m: m[1] + short(m[2]) + m[3] + short(m[4]),
        ),
        rule(
            rf"\b([Oo]n|[Uu]ntil|[Tt]ill|[Ss]ince|[Dd]ue|[Dd]ated|[Ss]tarting|[Bb]eginning|{_WEEKDAY},?)\s({_DAY}){_MEASURE}",
            lambda m: f"{m[1]} {short(m[2])}",
        ),
        rule(
            rf"\b([Bb]y|[Bb]efore|[Aa]fter|[Tt]hrough|[Ff]rom)\s(?!{_COMMON})({_DAY})",
            lambda m: f"{m[1]} {short(m[2])}",
        ),
    )


def slash_rules() -> Rules:
    """Ratings and fractions. To be used when dates are in words."""
    return (
        rule(r"(?<![\d/.,])(\d+\.\d+)\s?/\s?(\d+)(?![\d/])", r"\1 out of \2"),
        rule(r"(?<![\d/.,])(\d+)\s?/\s?(\d+)(?=\s(?:stars?|points?|ratings?)\b)", r"\1 out of \2"),
        rule(r"(?<![\d/.,])(5|10|100)/\1(?![\d/])", r"\1 out of \1"),
        rule(rf"(?:(?<![\d/])(?P<whole>\d+) ?)?(?P<part>[{''.join(_PARTS)}])", _fraction),
        rule(r"(?<![\d/.,])(?:(?P<whole>\d+) )?(?P<part>\d{1,2}/\d{1,2})(?![\d/]|\.\d)", _fraction),
    )


def _named(year: int, month: int, day: int, *, day_first: bool) -> str:
    """Empty for a day that there is not."""
    try:
        date(year, month, day)
    except ValueError:
        return ""
    name = MONTHS[month - 1]
    return f"{day} {name} {year}" if day_first else f"{name} {day}, {year}"


def _fraction(found: re.Match[str]) -> str:
    count, of = (int(part) for part in _PARTS.get(found["part"], found["part"]).split("/"))
    if count >= of or of not in _PART_NAMES or not count:
        return found.group()
    name = _PART_NAMES[of]
    many = f"{_COUNTS.get(count, count)} {name}s"
    if not found["whole"]:
        return many if count > 1 else f"one {name}"
    return f"{found['whole']} and {many if count > 1 else f'an {name}' if name[0] == 'e' else f'a {name}'}"
