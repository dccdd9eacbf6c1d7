"""What short words of a caller mean for the course of the talk. Pure text rules."""

import re

from stasis_app.short_words import short_words

_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


def words(text: str) -> list[str]:
    """Lower-case words without punctuation."""
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]


def is_farewell(text: str, language: str | None = None) -> bool:
    """True when the caller takes leave and asks for nothing more ("Thank you, goodbye.")."""
    said = words(text)
    if "?" in text or not said:
        return False
    known = short_words(language)
    leaves = bool(known.farewells & set(said)) or any(
        _ends_with(said, phrase) for phrase in known.farewell_phrases
    )
    company = known.farewells | known.company
    return leaves and all(word in company for word in said)


def _ends_with(said: list[str], phrase: tuple[str, ...]) -> bool:
    return tuple(said[-len(phrase) :]) == phrase
