"""How a voice says the words that it gets wrong: names, brands, abbreviations. Pure.

Whole words only. An entry in small letters holds for the word however it is written; one with a capital holds for
exactly that spelling, so that `IT` leaves "it" alone. The longest entry wins. Numbers, prices and links are put into
words afterwards, so the spoken form may hold them, and an entry may be "24/7".
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

MOST_ENTRIES: Final = 2000
LONGEST: Final = 200
"""Characters of a word or its spoken form."""

# scripts that put no blank between words: a letter of theirs beside a Latin name does not make it longer
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_JOINS: Final = f"[^\\W{_UNSPACED}]"
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")


class Pronunciations:
    """`entries`: word or words -> spoken form, as `Profile.pronunciations` has them."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        normal = {_normal(word): _normal(spoken) for word, spoken in entries.items()}
        self._exact = {word: spoken for word, spoken in normal.items() if not _any_case(word)}
        self._any_case = {word: spoken for word, spoken in normal.items() if _any_case(word)}
        # exact spellings first: where both fit, the one that was written so is meant
        words = sorted(normal, key=lambda word: (-len(word), _any_case(word)))
        self._pattern = re.compile("|".join(map(_whole, words))) if words else None

    def said(self, text: str) -> str:
        """`text` with each word that has an entry in its spoken form."""
        if self._pattern is None:
            return text
        # the two ways to compare letters differ for a few, such as the long s
        return self._pattern.sub(lambda found: self.of(found.group()) or found.group(), _composed(text))

    def of(self, word: str) -> str | None:
        """The spoken form of exactly this; None if there is no entry."""
        word = _normal(word)
        return self._exact.get(word) or self._any_case.get(word.lower())


@lru_cache(maxsize=256)
def pronunciations_of(entries: tuple[tuple[str, str], ...]) -> Pronunciations:
    """The same ones for the same entries: each turn of a call asks."""
    return Pronunciations(dict(entries))


def problem(word: str, spoken: str) -> str | None:
    """What is wrong with an entry, said behind its name; None: nothing."""
    if not _has_word(word):
        return "holds no letter or digit: write the word as the bot writes it"
    if not _has_word(spoken):
        return "has no spoken form: write how it is said, e.g. SQL: sequel"
    if max(len(word), len(spoken)) > LONGEST:
        return f"is longer than {LONGEST} characters"
    return None


def _has_word(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _any_case(word: str) -> bool:
    return word == word.lower()


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _normal(text: str) -> str:
    return " ".join(_composed(text).replace("’", "'").split())


def _whole(word: str) -> str:
    """A pattern for `word` that is not a part of a longer one, blanks and apostrophes as they come."""
    body = re.escape(word).replace("\\ ", r"\s+").replace("'", "['’]")
    before = "" if _IS_UNSPACED.match(word[0]) else f"(?<!{_JOINS})"
    after = "" if _IS_UNSPACED.match(word[-1]) else f"(?!{_JOINS})"
    return f"{before}(?{'i' if _any_case(word) else ''}:{body}){after}"


NONE: Final = Pronunciations({})
