"""What short words of a caller mean for the course of the talk. Pure text rules, English first."""

import re

_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")

_FAREWELLS = frozenset({"bye", "goodbye", "bye-bye", "good-bye"})
_FAREWELL_COMPANY = frozenset(
    "thank thanks you so much very a lot ok okay alright great good no that's that is all it everything i "
    "have for now then well and nice day one evening weekend see later take care cheers perfect wonderful".split()
)
_FAREWELL_PHRASES = (
    ("good", "bye"),
    ("see", "you", "later"),
    ("have", "a", "nice", "day"),
    ("have", "a", "good", "day"),
)


def words(text: str) -> list[str]:
    """Lower-case words without punctuation."""
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]


def is_farewell(text: str) -> bool:
    """True when the caller takes leave and asks for nothing more ("Thank you, goodbye.")."""
    said = words(text)
    if "?" in text or not said:
        return False
    leaves = bool(_FAREWELLS & set(said)) or any(_ends_with(said, phrase) for phrase in _FAREWELL_PHRASES)
    company = _FAREWELLS | _FAREWELL_COMPANY
    return leaves and all(word in company for word in said)


def _ends_with(said: list[str], phrase: tuple[str, ...]) -> bool:
    return tuple(said[-len(phrase) :]) == phrase
