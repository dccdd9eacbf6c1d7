"""Whether speech over the bot wants the turn, by its words and by what the bot was saying. Pure."""

from dataclasses import dataclass

from media_bridge.heard import Heard, HeardSentence
from stasis_app.expecting import asked_for, is_understood
from stasis_app.intents import words
from stasis_app.short_words import ShortWords, language_code, short_words

_LISTENING_MAX_WORDS = 3
# What Whisper writes for a hum is wild ("Oh, hi", "What's wrong", "Why?"), but how much it thought of "Mm" or "Yeah"
# at its first step tells a hum from an interruption better than its certainty, and both together better still. Words
# that call for the turn are hardly ever written for a hum (docs/decisions/0003: how the numbers came about).
_SURE_WEIGHT = 5.0
_WORD_WEIGHT = 0.5
_MEANT = 0.7
_CALLING = 2.5
# Where that is not known, as for what begins with such a word itself: another time Whisper writes something else. Read
# once more with less quiet before it, a hum seldom gives a word of the first text again, and an interruption gives its
# own. The limits are of the mean log-probability, of both readings and of a single one (docs/decisions/0007).
_GUESSED_TWICE = -0.65
_GUESSED_AFTER_LISTENING = -0.55  # "Oh, hi", "Yes, I am": begins like what it was, and calls for nothing
_GUESSED_ONCE = -0.5

_FIRST_WORDS = tuple(
    "m mm mmm mhm h hm hmm um uh ah huh eh ugh aha oh"
    " yeah yes yep okay OK right sure alright good great fine cool really".split()
)
"""What a sound of listening begins with, as Whisper writes it in English; other languages were not measured."""
_BEGIN_LISTENING = frozenset(word.lower() for word in _FIRST_WORDS)

_QUESTION_MARKS = ("?", "？", "؟")
_STILL_OPEN_S = 1.5
"""A question is still being answered while no more than this has been heard of what the bot said after it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the recogniser wrote; where they are known its mean log-probability, and that of the sound beginning with
    one of the `first_words` all the same."""

    text: str
    confidence: float | None = None
    first_words_logprob: float | None = None


def first_words(language: str | None) -> tuple[str, ...]:
    """What to ask the recogniser about a sound over the bot; nothing in a language that was not measured."""
    return _FIRST_WORDS if language_code(language) in (None, "en") else ()


def wants_second_reading(once: Reading, heard: Heard | None, language: str | None = None) -> bool:
    """Whether one reading is not enough to know what a sound over the bot was: a few words, neither of listening nor
    such as call for the turn, while the bot is telling something, and nothing known of its first words."""
    said, known = words(once.text), short_words(language)
    few = 0 < len(set(said)) <= _LISTENING_MAX_WORDS
    unclear = few and not known.listening.issuperset(said) and not known.wanting.issuperset(said)
    return unclear and _score(once) is None and not (heard and _open_question(heard))


def is_meant(
    once: Reading,
    heard: Heard | None,
    language: str | None = None,
    again: Reading | None = None,
) -> bool:
    """True when these words want the turn; False for sounds of listening, and for no words at all.

    `heard`: what the bot was heard saying; None when it was not speaking. "Okay" while it tells something is a sound of
    listening; to a question that can be answered with yes or no it is an answer, and "yes" is one to any question.
    `again`: what the recogniser made of the same sound another time, if `wants_second_reading`. A few words that it
    guessed while the bot was telling something are a sound of listening ("uh-huh" becomes "Oh, shut").
    """
    said = words(once.text)
    if not said:
        return False
    known = short_words(language)
    question = _open_question(heard) if heard else None
    if not known.listening.issuperset(said):
        return question is not None or not _is_guessed(once, again, known)
    if len(set(said)) > _LISTENING_MAX_WORDS:
        return True
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
    said = words(once.text)
    calling = known.wanting.issuperset(said)
    if (score := _score(once)) is not None:
        return score < (_MEANT - _CALLING if calling else _MEANT)
    if calling or len(set(said)) > _LISTENING_MAX_WORDS:
        return False
    if again is None:
        return once.confidence is not None and once.confidence < _GUESSED_ONCE
    twice = words(again.text)
    if known.listening.issuperset(twice) or set(twice).isdisjoint(said):
        return True
    sure = [one.confidence for one in (once, again) if one.confidence is not None]
    limit = _GUESSED_AFTER_LISTENING if _begins_as_listening(said, known) else _GUESSED_TWICE
    return bool(sure) and sum(sure) / len(sure) < limit


def _begins_as_listening(said: list[str], known: ShortWords) -> bool:
    return said[0] in _BEGIN_LISTENING and known.wanting.isdisjoint(said)


def _score(once: Reading) -> float | None:
    """How surely the sound was what was written rather than a sound of listening; None if nothing tells."""
    if once.confidence is None or once.first_words_logprob is None:
        return None
    said = len(set(words(once.text)))
    return _SURE_WEIGHT * once.confidence - once.first_words_logprob - _WORD_WEIGHT * said


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
