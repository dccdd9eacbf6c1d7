"""English numbers that are told figure by figure: of phones, parcels, cards and places.

Pure.
"""

import re
from typing import Final

from stasis_app.local_texts import CODE_WORDS, IS
from stasis_app.speakable_numbers import digit_by_digit, rule


def _short_number(found: re.Match[str]) -> str:
    return found[1] + " ".join(found[2])


NUMBERS: Final = (
    rule(r"(?<![\d.,])(\d{1,3})((?: 000)+)(?! ?\d)", lambda m: m[1] + m[2].replace(" ", ",")),
    rule(
        r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d{2})(?!\d|[.,]\d)", lambda m: f"{m[1].replace('.', ',')}.{m[2]}"
    ),
    rule(r"(?<![\w.,$€£])\+\d[\d\s().-]{6,}\d\b", digit_by_digit),
    rule(r"(?<![\w.,$€£-])(?:1[-. ])?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}\b(?!-\d)", digit_by_digit),
    rule(r"(?<![\w.,$€£-])\d{3}-\d{4}\b(?!-\d)", digit_by_digit),
    rule(r"(?<![\w.,$€£])0\d{2,}(?: \d{3,})+\b", digit_by_digit),
    rule(r"(?<![\w.,$€£])(?<!\d-)(?:0\d{2,}|\d{7,})\b(?![.,]\d|-\d)", digit_by_digit),
    rule(
        r"(?<![\w.,])(\d{1,3}(?:\.\d{1,3}){3})(?::(\d+))?(?!\w|\.\d)",
        lambda m: m[1].replace(".", " dot ") + (f" port {m[2]}" if m[2] else ""),
    ),
    rule(
        r"\b((?:[Cc]all|[Dd]ial|[Tt]ext) )(\d{3})(?=[.,;!?]|\s(?:if|for|in|right|or|and|now)\b|$)(?!\.\d)",
        _short_number,
    ),
    rule(r"((?:[Tt]ext|[Ss]end) [A-Z]+ to )(\d{5,6})\b", _short_number),
    rule(r"\b([A-Z]{2} )(\d{5}(?:-\d{4})?)\b", lambda m: m[1] + ", ".join(map(" ".join, m[2].split("-")))),
    rule(
        r"\b([Zz]ip(?: code)? )(\d{5}(?:-\d{4})?)\b",
        lambda m: m[1] + ", ".join(map(" ".join, m[2].split("-"))),
    ),
    rule(r"(?<![\w&])#\s?(\d{4,})\b", lambda m: f"number {' '.join(m[1])}"),
    rule(
        rf"\b({CODE_WORDS['en']})((?::|\s(?:{IS['en']}))?\s)(\d{{4,}})(?!\w|[.,-]\d)",
        lambda m: f"{m[1]}{m[2]}{' '.join(m[3])}",
    ),
)
"""To be used before ranges and money."""
