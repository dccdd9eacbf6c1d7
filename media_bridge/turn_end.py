"""How long to wait after a pause, by what the caller has said so far and by how it sounded.

Words decide, not punctuation: Whisper puts a full stop behind nearly everything, so only "?", "...", a comma or a dash
at the end say something. English rules; German, French and Spanish have fewer of their own (`turn_end_local`), and
any other language has its figures and its punctuation.

The sound is a vote: it shortens or lengthens the wait where the words leave a doubt, and has none where they do not
(docs/decisions/0007-end-of-turn.md).

Pure: text in, class or milliseconds out.
"""

import re
from collections.abc import Callable
from typing import Final

from media_bridge import turn_end_clauses as clauses
from media_bridge import turn_end_dictation as dictation
from media_bridge import turn_end_grammar as grammar
from media_bridge import turn_end_questions as questions
from media_bridge import turn_end_words as words
from media_bridge.turn_end_expected import Expected, Kind
from media_bridge.turn_end_local import local_ending
from media_bridge.turn_end_proforms import standing_in
from media_bridge.turn_end_waits import Ending, EndWaits


def end_wait_ms(
    text: str,
    expected: Expected | None,
    waits: EndWaits,
    sounds_finished: float | None = None,
    confidence: float | None = None,
    paused_ms: float = 0.0,
    language: str | None = None,
) -> int:
    """Milliseconds of silence after which `text`, the turn so far, is taken as the whole turn.

    `sounds_finished` is the probability that the turn sounds finished, `confidence` the recogniser's mean
    log-probability of the words; None: not known. `paused_ms` is the longest silence after which the caller went on in
    this turn already. `language`: a code of two letters; None: English.
    """
    found = ending(text, expected, language)
    told_ms = _told_ms(text, found, waits, sounds_finished, confidence)
    if found is Ending.ANSWERED or told_ms >= waits.listing_ms:
        return told_ms
    # who has paused within a turn for long will do so again
    return max(told_ms, min(round(_AGAIN * paused_ms), waits.listing_ms))


def _told_ms(
    text: str, found: Ending, waits: EndWaits, sounds_finished: float | None, confidence: float | None
) -> int:
    """By the words and the sound."""
    votes = waits.by_vote.get(found)
    if found is Ending.NEUTRAL and text.count(" ") < _SHORT_WORDS:
        votes = waits.by_vote[Ending.AGREED]  # the sound of so little tells nothing
    doubt = min(2, _doubt_of_words(text, confidence) + _doubt_of_sound(sounds_finished))
    if votes is None or (sounds_finished is None and not doubt):
        return waits.by_words[found]
    return votes[doubt]


def _doubt_of_sound(sounds_finished: float | None) -> int:
    """0: surely finished, 1: unsure, 2: rather not; 0 if nobody knows."""
    if sounds_finished is None:
        return 0
    return (sounds_finished < _SURE) + (sounds_finished < _UNSURE)


def _doubt_of_words(text: str, confidence: float | None) -> int:
    """The word that would have told that more is to come may be the one that is wrong: "to my" as "to you"."""
    if confidence is None or text.count(" ") < _WORDS_TO_MISHEAR:
        return 0
    if words.MISHEARD_ARTICLE.search(text.lower().rstrip(" .?!")) and confidence < _CLEAR:
        return 2
    return (confidence < _UNCLEAR) + (confidence < _MISHEARD)


def ending(text: str, expected: Expected | None = None, language: str | None = None) -> Ending:
    if language not in (None, "en"):
        return local_ending(text, expected, language)
    kind = expected.kind if expected else "open"
    said = " ".join(dictation.spell_out(text, asked=kind == "spelling").lower().replace("’", "'").split())
    spoken = " ".join(re.findall(r"[^\W_]+(?:'[^\W_]+)*", said))
    if not spoken:
        # nothing to answer, so nothing is lost by waiting: an "um", or a piece of a dictation that was taken for noise
        return Ending.LISTING
    for rule in _RULES[kind]:
        found = rule(said, spoken, expected)
        if found is not None:
            return found
    return Ending.NEUTRAL


_Rule = Callable[[str, str, Expected | None], Ending | None]

_SURE: Final = 0.8
_UNSURE: Final = 0.5
# mean log-probabilities of the words; a short answer's may be lower
_CLEAR: Final = -0.1
_UNCLEAR: Final = -0.2
_MISHEARD: Final = -0.25
_WORDS_TO_MISHEAR: Final = 2
_SHORT_WORDS: Final = 2
_AGAIN: Final = 1.25
_PHONE_DIGITS: Final = 10  # a number with its area code; 7 without
_LOCAL_DIGITS: Final = 7


def _sounds_open(said: str, spoken: str, _: Expected | None) -> Ending | None:
    return Ending.TRAILING if words.FILLER.search(spoken) or words.SOUNDS_OPEN.search(said) else None


def _standing_in(said: str, spoken: str, expected: Expected | None) -> Ending | None:
    return standing_in(spoken, expected)


def _trailing(said: str, spoken: str, _: Expected | None) -> Ending | None:
    if words.YES_NO.match(spoken):
        return Ending.PAUSING if words.BARE_YES_NO.match(spoken) else Ending.FINISHED
    if words.SHORT_CLAUSE.match(spoken) and not words.IS_TO_COME.match(spoken):
        return Ending.FINISHED if spoken.split()[0] in words.SAYS_YES_OR_NO else Ending.NEUTRAL
    last = spoken.rsplit(maxsplit=1)[-1]
    if (
        last in words.JOINING | words.DETERMINERS
        or (last in words.HALF_SAID and not words.EMBEDDED_WH.search(spoken))
        or clauses.is_half_said(spoken)
        or clauses.lacks_verb(spoken)
        or questions.lacks_predicate(spoken)
        or words.HEAD_ALONE.match(said.rstrip(" .?!"))
    ):
        return Ending.NEUTRAL if spoken in {"so", "both"} else Ending.TRAILING
    if last in words.PREPOSITIONS and not questions.ends_on_gap(spoken):
        return None if words.PARTICLE.search(spoken) else Ending.TRAILING
    if last in words.AUXILIARIES:
        return Ending.NEUTRAL if words.EMBEDDED_WH.search(spoken) else Ending.TRAILING
    return None


def _hanging(said: str, spoken: str, _: Expected | None) -> Ending | None:
    if grammar.cannot_stand(spoken):
        return Ending.TRAILING
    if grammar.lacks_more(spoken) and not questions.asks_how_it_is(spoken):
        return Ending.HANGING
    if (
        questions.question_lacks_object(spoken)
        or clauses.lacks_main_verb(spoken)
        or clauses.lacks_rest(spoken)
    ):
        return Ending.HANGING
    if (
        questions.lets_object_go(spoken)
        or words.RELATIVE.search(spoken)
        or words.RELATIVE_NOUN.search(spoken)
    ):
        return None
    patterns = (words.BARE_INFINITIVE, words.LACKS_OBJECT, words.LACKS_SECOND)
    if any(pattern.search(spoken) for pattern in patterns) or grammar.lacks_object(spoken):
        return Ending.HANGING
    return None


def _open_clause(said: str, spoken: str, expected: Expected | None) -> Ending | None:
    """ "When I press the button": a clause that needs another one; not where a reason was asked for."""
    if not words.SUBORDINATE.match(spoken) or words.QUESTION.match(spoken):
        return None
    if time := words.TIME_ALONE.match(spoken):
        return Ending.NEUTRAL if time.end() == len(spoken) else None
    if expected is not None and words.REASON.match(spoken):
        return Ending.COMPLETE
    inner = re.sub(r"^(?:(?:so|well|and|but|yes|no|ok|okay)\W+)+", "", said.rstrip(" .?!"))
    clauses = len(
        re.findall(
            r"\b(?:i|you|we|he|she|it|they|there|nobody|somebody)\b(?:'\w+)? (?!\w+ing\b)[\w']+", spoken
        )
    )
    return (
        None
        if "," in inner or " then " in inner or clauses > 1 or len(spoken.split()) > 10
        else Ending.TRAILING
    )


def _whole(said: str, spoken: str, _: Expected | None) -> Ending | None:
    count = spoken.count(" ") + 1
    if words.YES_NO.match(spoken) or words.CLOSING.search(spoken):
        return Ending.FINISHED
    if (
        words.QUESTION.match(spoken)
        or words.QUESTION_LATER.search(said)
        or (said.endswith("?") and count > 1)
    ):
        return Ending.FINISHED
    if words.SUBORDINATE.match(spoken) and count > 4:
        return Ending.COMPLETE
    if (
        words.COMMAND.match(spoken)
        or (count > 2 and words.STATEMENT.search(spoken))
        or (words.NOUN_FIRST.match(spoken) and words.VERB.search(spoken))
    ):
        return Ending.COMPLETE
    return None


def _digits(said: str, spoken: str, expected: Expected | None) -> Ending | None:
    count = dictation.digits_said(said) or dictation.digits_misheard(said)
    if not count:
        return None
    wanted = expected.count if expected else None
    if wanted is None:
        return _phone_number(said, count) if count >= _PHONE_DIGITS else Ending.LISTING
    return Ending.ANSWERED if count >= wanted else Ending.LISTING


def _phone_number(said: str, count: int) -> Ending:
    """One that begins with 0 or 1 may have a digit more."""
    return Ending.PAUSING if count == _PHONE_DIGITS and dictation.has_prefix(said) else Ending.COMPLETE


def _yes_or_no(said: str, spoken: str, _: Expected | None) -> Ending | None:
    if not words.YES_NO.match(spoken) or words.SOUNDS_OPEN.search(said):
        return None
    return Ending.AGREED if words.BARE_YES_NO.match(spoken) else Ending.ANSWERED


def _digits_unasked(said: str, spoken: str, _: Expected | None) -> Ending | None:
    count = dictation.digits_dictated(said)
    if not count:
        return None
    if count >= _PHONE_DIGITS:
        return _phone_number(said, count)
    local = count == _LOCAL_DIGITS and not dictation.has_prefix(said)
    return Ending.NEUTRAL if local else Ending.LISTING


def _letters(said: str, spoken: str, expected: Expected | None) -> Ending | None:
    if dictation.is_letter_named(said):
        return Ending.LISTING
    letters = dictation.letters_spelled(said)
    if letters and dictation.is_said_before(letters, said):
        return Ending.FINISHED
    asked = expected is not None and expected.kind == "spelling"
    return Ending.LISTING if len(letters) > (0 if asked else 1) else None


def _not_dictated_yet(said: str, spoken: str, expected: Expected | None) -> Ending:
    return _whole(said, spoken, expected) or Ending.LISTING


def _email(said: str, spoken: str, expected: Expected | None) -> Ending | None:
    asked = expected is not None and expected.kind == "email"
    whole = dictation.is_email_whole(said)
    if not dictation.is_email_begun(said, asked=asked) and not (asked and whole):
        return None
    if whole:
        return Ending.COMPLETE
    return (
        Ending.TRAILING if re.search(r"\b(?:dot|at|is|underscore|dash|hyphen)\W*$", said) else Ending.LISTING
    )


def _date(said: str, spoken: str, _: Expected | None) -> Ending | None:
    return {"whole": Ending.PAUSING, "part": Ending.LISTING, "none": None}[dictation.date_said(spoken)]


def _born(said: str, spoken: str, _: Expected | None) -> Ending | None:
    return Ending.LISTING if "born" in spoken.split() and dictation.date_said(spoken) == "part" else None


_OPEN: Final[tuple[_Rule, ...]] = (
    _letters,
    _email,
    _digits_unasked,
    _sounds_open,
    _standing_in,
    _trailing,
    _hanging,
    _born,
    _open_clause,
    _whole,
)
_NOT_DICTATED: Final[tuple[_Rule, ...]] = (
    _sounds_open,
    _standing_in,
    _trailing,
    _hanging,
    _open_clause,
    _not_dictated_yet,
)
_RULES: Final[dict[Kind, tuple[_Rule, ...]]] = {
    "open": _OPEN,
    "yes_no": (_yes_or_no, *_OPEN),
    "digits": (_digits, *_NOT_DICTATED),
    "spelling": (_letters, *_NOT_DICTATED),
    "email": (_email, *_NOT_DICTATED),
    "date": (_sounds_open, _standing_in, _trailing, _date, *_OPEN),
}
