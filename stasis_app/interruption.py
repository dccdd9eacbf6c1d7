"""Whether speech over the bot wants the turn, by its words and by what the bot was saying. Pure."""

from dataclasses import dataclass

from media_bridge.heard import Heard, HeardSentence
from stasis_app.expecting import asked_for, is_understood
from stasis_app.intents import words
from stasis_app.short_words import ShortWords, short_words

_LISTENING_MAX_WORDS = 3
# What Whisper writes for a hum is wild ("Oh, hi", "What's wrong", "Why?"), and another time something else: read once
# more with less quiet before it, a hum seldom gives a word of the first text again, and an interruption gives its own.
# The limits are of the mean log-probability, of both readings and of a single one (docs/decisions/0007).
_GUESSED_TWICE = -0.65
_GUESSED_ONCE = -0.5

_QUESTION_MARKS = ("?", "？", "؟")
_STILL_OPEN_S = 1.5
"""A question is still being answered while no more than this has been heard of what the bot said after it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the recogniser wrote, and its mean log-probability where it is known."""

    text: str
    confidence: float | None = None


def wants_second_reading(text: str, heard: Heard | None, language: str | None = None) -> bool:
    """Whether one reading is not enough to know what a sound over the bot was: a few words, neither of listening nor
    such as call for the turn, while the bot is telling something."""
    said, known = words(text), short_words(language)
    few = 0 < len(set(said)) <= _LISTENING_MAX_WORDS
    unclear = few and not known.listening.issuperset(said) and not known.wanting.issuperset(said)
    return unclear and not (heard and _open_question(heard))


def is_meant(
    text: str,
    heard: Heard | None,
    confidence: float | None = None,
    language: str | None = None,
    again: Reading | None = None,
) -> bool:
    """True when these words want the turn; False for sounds of listening, and for no words at all.

    `heard`: what the bot was heard saying; None when it was not speaking. "Okay" while it tells something is a sound of
    listening; to a question that can be answered with yes or no it is an answer, and "yes" is one to any question.
    `confidence`: the recogniser's mean log-probability; `again`: what it made of the same sound another time. A few
    words that it guessed while the bot was telling something are a sound of listening ("uh-huh" becomes "Oh, shut").
    """
    said = words(text)
    if not said:
        return False
    if len(set(said)) > _LISTENING_MAX_WORDS:
        return True
    known = short_words(language)
    question = _open_question(heard) if heard else None
    if not known.listening.issuperset(said):
        return (
            question is not None
            or known.wanting.issuperset(said)
            or not _is_guessed(Reading(text, confidence), again, known)
        )
    if question is None:
        return False
    if not known.yes.isdisjoint(said):
        return True
    return (
        _takes_yes_or_no(question.text, language)
        and _half_heard(question)
        and not known.agreeing.isdisjoint(said)
    )


def _is_guessed(once: Reading, again: Reading | None, known: ShortWords) -> bool:
    if again is None:
        return once.confidence is not None and once.confidence < _GUESSED_ONCE
    twice = words(again.text)
    if known.listening.issuperset(twice) or set(twice).isdisjoint(words(once.text)):
        return True
    sure = [one.confidence for one in (once, again) if one.confidence is not None]
    return bool(sure) and sum(sure) / len(sure) < _GUESSED_TWICE


def _takes_yes_or_no(question: str, language: str | None) -> bool:
    """In a language in which questions are not understood any may be one."""
    if not is_understood(language):
        return True
    expected = asked_for(question, language)
    return expected is not None and expected.kind == "yes_no"


def _open_question(heard: Heard) -> HeardSentence | None:
    """The bot's newest question, unless it has gone on talking since."""
    begun = [sentence for sentence in heard.sentences if sentence.text and sentence.played_samples]
    since = 0
    for sentence in reversed(begun):
        if sentence.text.rstrip().endswith(_QUESTION_MARKS):
            return sentence
        since += sentence.played_samples
        if since > _STILL_OPEN_S * heard.rate:
            return None
    return None


def _half_heard(sentence: HeardSentence) -> bool:
    return sentence.total_samples is not None and 2 * sentence.played_samples >= sentence.total_samples
