"""What a full stop means: the end of a sentence, or of an abbreviation, an initial, a number.

Pure.
"""

import re
from typing import Final

from stasis_app import sentence_words as words
from stasis_app.stops import NO_STOPS, Stops

QUOTES_AND_BRACKETS: Final = "\"'”’»)]}」』）】》"
CLOSERS: Final = QUOTES_AND_BRACKETS + "*_`~"
FINALS: Final = "!?‽؟"
WIDE_FINALS: Final = "。！？｡।॥۔።。"
_NUMBER: Final = re.compile(r"[$€£#(]*[\d.,:/-]*\d$")
_LETTERS_WITH_DOTS: Final = re.compile(r"(?:\w\.)+\w$")


def full_stop_ends(before: str, after: str, *, word_is_whole: bool, stops: Stops = NO_STOPS) -> bool | None:
    """Whether the "." or "…" at the end of `before` ends a sentence; None: the whole next word is needed to know.

    `after` is the next word, or its first character while `word_is_whole` is false.
    """
    if after.startswith("."):
        return False  # dots with blanks between them
    word = before.rsplit(maxsplit=1)[-1] if before.strip() else ""
    if word.endswith(("..", "…")):
        return not after[:1].islower()
    word = word.lstrip("\"'“‘([{*_`~«").rstrip(".")
    lower = word.rpartition("/")[2].lower().replace("’", "'")
    if after[:1].isdigit():
        return not (
            lower in words.BEFORE_NUMBER | words.MAYBE_ENDS | words.TITLES
            or stops.ends_nothing(lower, before_number=True)
            or _NUMBER.match(word)
            or len(lower) < 2
        )
    if lower in words.TITLES or stops.ends_nothing(lower):
        return False
    if after[:1].islower():
        return _is_plain_word(lower)
    if stops.after_ordinal and re.fullmatch(r"\d{1,2}", lower):
        return after.rstrip(".").lower() not in stops.after_ordinal if word_is_whole else None
    if (
        lower in words.TITLES_OR_STREETS
        or (len(lower) == 1 and not lower.isdigit())
        or _LETTERS_WITH_DOTS.match(lower)
        or lower in words.MAYBE_ENDS
    ):
        if not word_is_whole:
            return None
        return _opens_sentence(lower, after.rstrip(".").lower().replace("’", "'"))
    return True


def sounds_ended(text: str, stops: Stops) -> bool:
    """Whether a sentence ends with `text`, by what is there: no number, which may go on, and no abbreviation."""
    closed = text.rstrip(CLOSERS)
    if not any(char.isalnum() for char in closed):
        return False
    if closed.endswith((*FINALS, *WIDE_FINALS, "..", "…")):
        return True
    last = closed.rsplit(maxsplit=1)[-1].rstrip(".")
    if (
        not closed.endswith(".")
        or _NUMBER.match(last)
        or stops.ends_nothing(last.lower(), before_number=True)
    ):
        return False
    return full_stop_ends(closed, "x", word_is_whole=True, stops=stops) is True


def _opens_sentence(before: str, after: str) -> bool:
    if before in words.TITLES_OR_STREETS or (
        before not in words.MAYBE_ENDS and (len(before) == 1 or "." in before)
    ):
        return after in words.STARTERS
    return after not in words.GOES_ON


def _is_plain_word(word: str) -> bool:
    """Whether `word` can end a sentence that is followed by a small letter: no abbreviation of any kind."""
    if (
        len(word) == 1
        or "." in word
        or word in words.MAYBE_ENDS
        or word in words.TITLES_OR_STREETS
        or word in words.BEFORE_NUMBER - {"no", "sec", "art", "mar"}
    ):
        return False
    if _NUMBER.match(word) or not word.isascii():
        return not _NUMBER.match(word)
    return len(word) > 4 or any(vowel in word for vowel in "aeiouy")
