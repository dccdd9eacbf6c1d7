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

_LISTENING_SOUNDS = frozenset(
    "mm mmm mhm mm-hm mm-hmm mmhmm hm hmm hmmm uh-huh uhuh uh huh ah oh aha um erm er okay ok yeah yep yes "
    "yup right sure alright really cool great nice good exactly true i see got it of course wow".split()
)
_LISTENING_MAX_WORDS = 3


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


def is_meant(text: str, *, asked: bool) -> bool:
    """True when speech over the bot wants the turn; False for sounds of listening and for no words at all.

    `asked`: the bot's current sentence is a question, so that a mere "yes" is an answer.
    """
    said = words(text)
    if not said:
        return False
    if asked:
        return True
    listening = len(said) <= _LISTENING_MAX_WORDS and all(word in _LISTENING_SOUNDS for word in said)
    return not listening


def _ends_with(said: list[str], phrase: tuple[str, ...]) -> bool:
    return tuple(said[-len(phrase) :]) == phrase
