"""Letters of scripts that are written without blanks, as wide as two of ours: each counts for several. Pure."""

import unicodedata
from typing import Final

_WEIGHT: Final = 3
_FIRST: Final = "\u2e80"


def is_wide(char: str) -> bool:
    return char >= _FIRST and unicodedata.east_asian_width(char) in "WF"


def weight(text: str) -> int:
    """Length in Latin letters that take as long to say."""
    return sum(_WEIGHT if is_wide(char) else 1 for char in text)
