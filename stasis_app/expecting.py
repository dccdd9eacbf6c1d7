"""What kind of answer the caller is about to give: by the bot's last question, or as the profile says. Pure."""

import re

from media_bridge.turn_end_expected import Expected, expected_answer
from stasis_app.history import CUT_MARK, History
from stasis_app.sentences import SentenceChunker
from stasis_app.settings import Profile

_ASKS = re.compile(
    r"^(?:(?:and|so|then|now|okay|ok|sure|great|thanks|thank you|of course|alright|well|first|next)\b[, ]*)*"
    r"(?:please|(?:tell|give|send|show) (?:me|us)|enter|type|key in|say|spell|go ahead and|just "
    r"|(?:i|we)(?:'ll| will)? (?:(?:just|also|still) )?need|let me have|(?:may|can|could) i have)",
    re.IGNORECASE,
)
_COUNT_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "sixteen": 16,
}  # fmt: skip
_COUNT = re.compile(rf"\b(?:(\d{{1,2}})|({'|'.join(_COUNT_WORDS)}))[ -](?:digits?|figures?)\b", re.IGNORECASE)


def expecting(history: History, profile: Profile) -> Expected | None:
    """The kind of answer that is due; None where anything may come.

    The profile's `expect` is about the greeting. Questions are understood in English only.
    """
    if profile.expect and not history.caller_has_spoken:
        return Expected.parse(profile.expect)
    if not is_english(profile.language):
        return None
    return asked_for(history.last_answer().removesuffix(CUT_MARK))


def asked_for(answer: str) -> Expected | None:
    """What the last sentence of `answer` asks for, as a question or as a request; None where it asks for nothing."""
    last = last_sentence(answer)
    if not last.endswith("?"):
        if not _ASKS.match(last):
            return None
        last = last.rstrip(".! ") + "?"
    expected = expected_answer(last)
    if expected is None or expected.kind == "yes_no":
        return Expected("digits", _digits_in(last)) if _digits_in(last) else expected
    return Expected("digits", _digits_in(last)) if expected.kind == "digits" else expected


def keyed_text(digits: str, expected: Expected | None, language: str | None) -> str:
    """What the language model is told of the keys the caller has pressed."""
    if (expected is not None and expected.kind == "digits") or not is_english(language):
        return digits
    return f"I pressed {' '.join(digits)} on my phone."


def is_english(language: str | None) -> bool:
    """True for a language that is not given, too."""
    return language is None or language.lower().startswith("en")


def _digits_in(question: str) -> int | None:
    """ "your 8-digit customer number", "the last four digits"."""
    found = _COUNT.search(question)
    if not found:
        return None
    return int(found[1]) if found[1] else _COUNT_WORDS[found[2].lower()]


def last_sentence(text: str) -> str:
    """Empty where there is none."""
    chunker = SentenceChunker(first_chars=200, first_max_chars=200)
    whole = [*chunker.feed(text), *chunker.finish()]
    return whole[-1].strip() if whole else ""
