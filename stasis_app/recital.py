"""An answer that reads out the profile's private instructions is noticed before it is heard. Pure.

What is compared is what the voice is given, without case, accents, marks and blanks: neither markup nor spelling a text
out nor the size of the model's pieces hides a run of it. A translation or a retelling is no recital
(docs/decisions/0017).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from stasis_app.pronunciations import Pronunciations, pronunciations_of
from stasis_app.settings import Profile
from stasis_app.speakable import speakable
from stasis_app.wide_letters import is_wide, weight

_RUN: Final = 24
"""So many letters in a row, four to six words, are a recital; three times as few of a script without blanks."""

_SUSPECT: Final = 12
"""So many letters of a run at the end of what is ready: it waits for what follows."""

_SENTENCE_WORDS: Final = 4
"""A shorter run is one when it is a whole sentence of so many words."""

_SAYABLE_WORDS: Final = 3
"""What stands in quotation marks in the instructions is there to be said, if it has so many words."""

_CODE_DIGITS, _CODE_DIGITS_ALONE, _GROUP_DIGITS = 2, 5, 4
"""A word with letters and so many digits, or so many digits, is a code; so many digits of it alone give it away."""

_ADDRESSES_THE_MODEL: Final = frozenset(
    "you your du dein sie ihr vous tu usted eres você jij je u lei sei".split()
)

_DIGITS: Final = dict(
    zip("0123456789", "zero one two three four five six seven eight nine".split(), strict=True)
)

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_QUOTED: Final = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«([^»\n]+)»|「([^」\n]+)」")
_EDGES: Final = ".,;:!?\"'()[]“”‘’«»"


@dataclass(frozen=True, slots=True)
class _Letters:
    """A text as its letters and digits, and where in them words begin."""

    text: str = ""
    starts: frozenset[int] = frozenset()

    @classmethod
    def of(cls, text: str) -> Self:
        letters: list[str] = []
        starts: set[int] = set()
        begins = True
        for char in unicodedata.normalize("NFKD", text).casefold():
            if char.isalnum():
                if begins or is_wide(char):
                    starts.add(len(letters))
                letters.append(char)
            begins = not (char.isalnum() or unicodedata.combining(char) or char in "'’")
        return cls("".join(letters), frozenset(starts))


@dataclass(frozen=True, slots=True)
class Protected:
    """What no answer may recite: runs of letters anywhere in it, and codes that stand as words of their own."""

    runs: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    beginnings: frozenset[str] = frozenset()
    lengths: tuple[int, ...] = ()

    @classmethod
    def of(cls, profile: Profile) -> "Protected":
        """Kept for the next answer: the first time takes a third of a second for instructions of 10,000 letters."""
        phrases = profile.phrases
        said = (
            *(example.bot for example in profile.examples),
            *profile.must_play,
            *(profile.greeting, profile.disclosure, phrases.apology, phrases.goodbye, phrases.trouble),
            *(phrases.not_heard, phrases.still_there, phrases.filler, phrases.not_told),
        )
        pronounced = tuple(profile.pronunciations.items())
        return _protected(profile.prompt, profile.private, said, profile.language, pronounced)

    @classmethod
    def made_of(cls, runs: set[str], codes: set[str]) -> Self:
        beginnings = {run[:end] for run in runs for end in range(_SUSPECT, len(run))}
        beginnings |= {code[:end] for code in codes for end in range(_GROUP_DIGITS, len(code))}
        lengths = {len(one) for one in runs | codes | beginnings}
        return cls(frozenset(runs), frozenset(codes), frozenset(beginnings), tuple(sorted(lengths)))


class Guard:
    """`feed` what the voice is to say, in order; what may be said comes back, some of it later. One per answer."""

    def __init__(self, protected: Protected) -> None:
        self.recited = False
        self._protected = protected
        self._heard = _Letters()
        self._held: list[str] = []

    def feed(self, sentence: str) -> list[str]:
        """What can be said now. Nothing any more once `recited` is true."""
        if self.recited or not self._protected.lengths:
            return [] if self.recited else [sentence]
        before, new = self._heard, _Letters.of(sentence)
        starts = before.starts | {start + len(before.text) for start in new.starts}
        self._heard = _Letters(before.text + new.text, starts)
        self.recited = self._recites(len(before.text))
        if self.recited:
            self._held = []
            return []
        self._held.append(sentence)
        return [] if self._may_go_on() else self.finish()

    def finish(self) -> list[str]:
        """The answer is whole: what was kept back can be said."""
        held, self._held = self._held, []
        return held

    def _recites(self, old: int) -> bool:
        text, starts = self._heard.text, self._heard.starts | {len(self._heard.text)}
        for length in self._protected.lengths:
            for start in range(max(0, old - length + 1), len(text) - length + 1):
                piece = text[start : start + length]
                if piece in self._protected.runs:
                    return True
                if piece in self._protected.codes and start in starts and start + length in starts:
                    return True
        return False

    def _may_go_on(self) -> bool:
        text = self._heard.text
        return any(text[-length:] in self._protected.beginnings for length in self._protected.lengths)


@cache
def _protected(
    prompt: str,
    private: str,
    said: Sequence[str],
    language: str | None,
    pronunciations: tuple[tuple[str, str], ...],
) -> Protected:
    pronounced = pronunciations_of(pronunciations)
    quoted = ("".join(found) for found in _QUOTED.findall(private))
    sayable = [text for text in quoted if len(text.split()) >= _SAYABLE_WORDS]
    fixed = _spoken("\n".join([*said, *sayable]), language, pronounced).text
    public = _spoken(prompt, language, pronounced).text
    runs = {run for run in _runs(private, language, pronounced) if run not in public and run not in fixed}
    codes = {code for code in _codes(private, language, pronounced) if code not in public + fixed}
    opening = _spoken(_SENTENCE_END.split(prompt.strip())[0], language, pronounced)
    if {word.strip(_EDGES).casefold() for word in prompt.split()[:1]} & _ADDRESSES_THE_MODEL:
        run = _run(opening, 0)
        runs |= {run} if run and run not in fixed else set()
    return Protected.made_of(runs, codes)


def _spoken(text: str, language: str | None, pronounced: Pronunciations) -> _Letters:
    return _Letters.of(speakable(text, language, pronounced))


def _runs(private: str, language: str | None, pronounced: Pronunciations) -> Iterator[str]:
    whole = ""
    starts: set[int] = set()
    for sentence in filter(None, _SENTENCE_END.split(private)):
        letters = _spoken(sentence, language, pronounced)
        if len(letters.starts) >= _SENTENCE_WORDS and weight(letters.text) >= _SUSPECT:
            yield _run(letters, 0) or letters.text
        starts |= {start + len(whole) for start in letters.starts}
        whole += letters.text
    for start in starts:
        run = _run(_Letters(whole), start)
        if run:
            yield run


def _run(letters: _Letters, start: int) -> str:
    """The run that begins there; "" if the text ends before."""
    for end in range(start + _RUN // 3, min(start + _RUN, len(letters.text)) + 1):
        if weight(letters.text[start:end]) >= _RUN:
            return letters.text[start:end]
    return ""


def _codes(private: str, language: str | None, pronounced: Pronunciations) -> Iterator[str]:
    """The codes and numbers of the instructions, as a whole, character by character, and their longer digit groups."""
    for word in private.split():
        code = word.strip(_EDGES)
        digits = sum(char.isdigit() for char in code)
        mixed = any(char.isalpha() for char in code) and digits >= _CODE_DIGITS
        if mixed or digits >= _CODE_DIGITS_ALONE:
            for part in (code, *re.findall(rf"\d{{{_GROUP_DIGITS},}}", code)):
                signs = [char for char in part if char.isalnum()]
                in_words = [_DIGITS.get(sign, sign) for sign in signs]
                groups = re.findall(r"[^\W\d_]+|\d+", part)
                for form in (part, " ".join(signs), "-".join(signs), " ".join(in_words), " ".join(groups)):
                    letters = _spoken(form, language, pronounced).text
                    if len(letters) >= _GROUP_DIGITS:
                        yield letters
