"""Passages that have to be heard to their end, such as a disclosure. Pure."""

from collections.abc import Sequence

from media_bridge.heard import Heard, HeardSentence
from stasis_app.intents import words
from stasis_app.pronunciations import NONE, Pronunciations
from stasis_app.speakable import speakable

_UNKNOWN_S = 0.1
"""A sentence whose length is not known yet is looked at again after this."""

_LEAST_WORDS = 3
"""A chunk with fewer words is part of a passage by chance."""


class Passages:
    def __init__(self, texts: Sequence[str], language: str | None, pronounced: Pronunciations = NONE) -> None:
        # a ready phrase is heard as it is written, an answer as it is spoken
        spellings = [spelling for text in texts for spelling in (text, speakable(text, language, pronounced))]
        self._passages = [found for spelling in spellings if (found := words(spelling))]

    def left_s(self, heard: Heard) -> float:
        """How long the passage that is being heard, or comes next, still lasts; 0: it is none."""
        sentence = _current(heard)
        if sentence is None or not self._holds(sentence.text):
            return 0.0
        if sentence.total_samples is None:
            return _UNKNOWN_S
        return (sentence.total_samples - sentence.played_samples) / heard.rate

    def _holds(self, sentence: str) -> bool:
        """`sentence` is a passage, a part of one, or holds one."""
        said = words(sentence)
        return any(
            _inside(passage, said)
            or (len(said) >= min(_LEAST_WORDS, len(passage)) and _inside(said, passage))
            for passage in self._passages
        )


def _current(heard: Heard) -> HeardSentence | None:
    return next((sentence for sentence in heard.sentences if not sentence.whole), None)


def _inside(part: list[str], whole: list[str]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))
