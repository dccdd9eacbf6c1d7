"""Passages that have to be heard to their end, such as a disclosure. Pure."""

from collections.abc import Sequence

from media_bridge.heard import Heard
from stasis_app import conversation as talk
from stasis_app.intents import words
from stasis_app.pronunciations import NONE, Pronunciations
from stasis_app.speakable import speakable

_UNKNOWN_S = 0.1
"""A sentence whose length is not known yet is looked at again after this."""

_LEAST_WORDS = 3
"""A chunk with fewer words is part of a passage by chance, unless it goes on with one."""

_BEGINS = talk.SpeechStarted | talk.SpeechResumed
_MAY_STOP_THE_BOT = talk.SpeechPaused | talk.SpeechEnded | talk.OngoingJudged | talk.InterruptionJudged


class Passages:
    def __init__(self, texts: Sequence[str], language: str | None, pronounced: Pronunciations = NONE) -> None:
        # a ready phrase is heard as it is written, an answer as it is spoken
        spellings = [spelling for text in texts for spelling in (text, speakable(text, language, pronounced))]
        self._passages = [found for spelling in spellings if (found := words(spelling))]

    def left_s(self, heard: Heard) -> float:
        """How long the passage that is being heard, or comes next, still lasts; 0: it is none."""
        if not self._passages:
            return 0.0
        said: list[str] = []
        for sentence in heard.sentences:
            spoken = words(sentence.text)
            if not sentence.whole:
                break
            said += spoken
        else:
            # the next chunk is still being made
            return _UNKNOWN_S if not heard.finished and self._goes_on(said) else 0.0
        if not spoken:  # a filler
            return _UNKNOWN_S if self._goes_on(said) else 0.0
        if not self._holds(spoken, said):
            return 0.0
        if sentence.total_samples is None:
            return _UNKNOWN_S
        return (sentence.total_samples - sentence.played_samples) / heard.rate

    def _holds(self, chunk: list[str], said: list[str]) -> bool:
        """`chunk`, behind `said`, is a passage, a part of one, or holds one or a part of one."""
        return any(
            _inside(passage, chunk)
            or (len(chunk) >= _least(passage) and _inside(chunk, passage))
            or _begun(passage, chunk)
            or _continued(passage, said, chunk)
            for passage in self._passages
        )

    def _goes_on(self, said: list[str]) -> bool:
        """A passage was begun in `said`, and its end has not come."""
        return any(_begun(passage, said) for passage in self._passages)


def is_of_speech(event: talk.Event) -> bool:
    """Whether a passage changes what the event means."""
    return isinstance(event, _BEGINS | _MAY_STOP_THE_BOT)


def over_passage(event: talk.Event, phase: talk.Phase) -> tuple[talk.Event, ...]:
    """What the conversation is told of `event` while a passage is heard."""
    if isinstance(event, _BEGINS):
        return (talk.SpeechOverPassage(),)
    if isinstance(event, _MAY_STOP_THE_BOT) and phase is talk.Phase.TALKING_ON:
        # the speech began before the passage did
        return (talk.SpeechOverPassage(), event)
    return (event,)


def _least(passage: list[str]) -> int:
    return min(_LEAST_WORDS, len(passage))


def _begun(passage: list[str], said: list[str]) -> bool:
    """`said` ends within the passage."""
    return any(_ends_with(said, passage[:count]) for count in range(_least(passage), len(passage)))


def _continued(passage: list[str], said: list[str], chunk: list[str]) -> bool:
    """The passage began in `said`, and `chunk` goes on with it."""
    for count in range(1, len(passage)):
        both = min(len(chunk), len(passage) - count)
        if (
            count + both >= _least(passage)
            and chunk[:both] == passage[count : count + both]
            and _ends_with(said, passage[:count])
        ):
            return True
    return False


def _ends_with(said: list[str], part: list[str]) -> bool:
    return said[-len(part) :] == part


def _inside(part: list[str], whole: list[str]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))
