"""What the bot has just asked for: how the end of the caller's answer is known.

Pure; the questions are English.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, Self, get_args

Kind = Literal["open", "yes_no", "digits", "spelling", "email", "date"]

_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_MOST_DIGITS: Final = 40


@dataclass(frozen=True)
class Expected:
    """An answer of this kind; `count` is the number of digits, where it is known.

    yes_no, and digits with a count, end the turn as soon as they are there. While digits, letters or an
    address are on their way, the caller has twice as long for each pause. `open` is any answer.
    """

    kind: Kind
    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `open`, `yes_no`, `digits`, `digits:10`, `spelling`, `email` or `date`. Raises ValueError."""
        name, colon, number = text.strip().partition(":")
        kind = next((known for known in _KINDS if known == name), None)
        if kind is None:
            known = ", ".join((*_KINDS, "digits:N"))
            raise ValueError(f"{text!r} is no kind of answer; use one of {known}")
        if not colon:
            return cls(kind)
        if kind != "digits" or not number.isdecimal() or not 1 <= int(number) <= _MOST_DIGITS:
            raise ValueError(
                f"{text!r}: only digits take a number, from 1 to {_MOST_DIGITS}, as in digits:10"
            )
        return cls(kind, int(number))


def expected_answer(question: str) -> Expected | None:
    """What the bot's last sentence asks for; None where it asks nothing of a known kind."""
    asked = question.lower()
    return next((expected for pattern, expected in _QUESTIONS if re.search(pattern, asked)), None)


_QUESTIONS: Final = (
    (r"e-?mail", Expected("email")),
    (r"\bspell", Expected("spelling")),
    (
        r"(?:date of birth|born|birthday|what (?:date|day)|which (?:date|day)|when would you like"
        r"|for when)\b.*\?",
        Expected("date"),
    ),
    (
        r"(?:phone|telephone|mobile|callback|call you back|account|order|reference|card|customer|zip"
        r"|postal)\W+(?:number|code)\b.*\?|\bpin\b.*\?",
        Expected("digits"),
    ),
    (
        r"(?:^|[.!?,;] )(?:is|are|do|does|did|can|could|will|would|should|shall|have|has"
        r"|may) (?!you (?:tell|give|say|spell|repeat)\b)[^.!?]*\?\s*$",
        Expected("yes_no"),
    ),
)
