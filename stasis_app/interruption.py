"""Whether speech over the bot wants the turn, by its words and by what the bot was saying. Pure."""

from media_bridge.heard import Heard, HeardSentence
from stasis_app.expecting import asked_for, is_understood
from stasis_app.intents import words
from stasis_app.short_words import short_words

_LISTENING_MAX_WORDS = 3
# what Whisper writes for a hum is wild ("Oh, hi", "What's wrong", "Low high. Low high."), but it knows that it guesses:
# the mean log-probability was -0.53 to -1.1 for hums in six voices, -0.03 to -0.3 for interruptions on a quiet line and
# down to -0.66 for short ones over noise of 10 dB
_GUESSED = -0.5

_QUESTION_MARKS = ("?", "？", "؟")
_STILL_OPEN_S = 1.5
"""A question is still being answered while no more than this has been heard of what the bot said after it."""


def is_meant(
    text: str, heard: Heard | None, confidence: float | None = None, language: str | None = None
) -> bool:
    """True when these words want the turn; False for sounds of listening, and for no words at all.

    `heard`: what the bot was heard saying; None when it was not speaking. "Okay" while it tells something is a sound of
    listening; to a question that can be answered with yes or no it is an answer, and "yes" is one to any question.
    `confidence`: the recogniser's mean log-probability; a few words that it guessed while the bot was telling something
    are a sound of listening ("uh-huh" becomes "Oh, shut").
    """
    said = words(text)
    if not said:
        return False
    if len(set(said)) > _LISTENING_MAX_WORDS:
        return True
    known = short_words(language)
    question = _open_question(heard) if heard else None
    if not known.listening.issuperset(said):
        guessed = confidence is not None and confidence < _GUESSED and not known.wanting.issuperset(said)
        return question is not None or not guessed
    if question is None:
        return False
    if not known.yes.isdisjoint(said):
        return True
    return (
        _takes_yes_or_no(question.text, language)
        and _half_heard(question)
        and not known.agreeing.isdisjoint(said)
    )


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
