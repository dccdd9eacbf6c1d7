"""Whether speech over the bot wants the turn, by its words and by what the bot was saying. Pure; English first."""

from media_bridge.heard import Heard, HeardSentence
from stasis_app.expecting import asked_for, is_english
from stasis_app.intents import words

_YES = frozenset("yes yeah yep yup sure of course please exactly".split())
_AGREEING = _YES | frozenset(
    "ok okay right alright good great true fine mhm mm-hm mm-hmm mmhmm mm mmm uh-huh uhuh".split()
)
_LISTENING = _AGREEING | frozenset(
    "hm hmm hmmm uh huh ah oh aha um erm er really cool nice i see got it wow".split()
)
_LISTENING_MAX_WORDS = 3

_QUESTION_MARKS = ("?", "？", "؟")
_STILL_OPEN_S = 1.5
"""A question is still being answered while no more than this has been heard of what the bot said after it."""


def is_meant(text: str, heard: Heard | None, language: str | None = None) -> bool:
    """True when these words want the turn; False for sounds of listening, and for no words at all.

    `heard`: what the bot was heard saying; None when it was not speaking. "Okay" while it tells something is a sound of
    listening; to a question that can be answered with yes or no it is an answer, and "yes" is one to any question.
    """
    said = words(text)
    if not said:
        return False
    if len(said) > _LISTENING_MAX_WORDS or not all(word in _LISTENING for word in said):
        return True
    question = _open_question(heard) if heard else None
    if question is None:
        return False
    if not _YES.isdisjoint(said):
        return True
    return (
        _takes_yes_or_no(question.text, language) and _half_heard(question) and not _AGREEING.isdisjoint(said)
    )


def _takes_yes_or_no(question: str, language: str | None) -> bool:
    """Questions in another language than English are not understood: any may be one."""
    if not is_english(language):
        return True
    expected = asked_for(question)
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
