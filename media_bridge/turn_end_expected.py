"""What the bot has just asked for: how the end of the caller's answer is known.

Questions in English, German, French and Spanish. Pure.
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


def expected_answer(question: str, language: str = "en") -> Expected | None:
    """What the bot's last sentence asks for; None where it asks nothing of a known kind. `language`: two letters."""
    asked = question.lower().replace("’", "'")
    return next(
        (expected for pattern, expected in _QUESTIONS.get(language, ()) if re.search(pattern, asked)), None
    )


# in these three a question without a question word, and without a choice, is one for yes or no
_WITHOUT: Final = r"(?:^|[.!?,;:¿] ?)(?!.*\b(?:{words})\b)[^.!?]*\?\s*$"
_QUESTIONS: Final = {
    "en": (
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
            r"(?:^|[.!?,;] )(?:is|are|do|does|did|can|could|will|would|should|shall|may|have|has"
            r"|may) (?!you (?:tell|give|say|spell|repeat)\b)[^.!?]*\?\s*$",
            Expected("yes_no"),
        ),
    ),
    "de": (
        (r"e-?mail", Expected("email")),
        (r"\bbuchstabier", Expected("spelling")),
        (
            r"(?:geburtsdatum|geburtstag|geboren|welche[mnrs]? (?:tag|datum)|wann (?:möchten|wollen|passt|soll)"
            r"|für wann)\b.*\?",
            Expected("date"),
        ),
        (
            r"(?:telefon|handy|mobil|rückruf|konto|kunden|bestell|auftrags|karten|vertrags|rechnungs|kennziffer"
            r"|postleit)"
            r"\w*(?:nummer|zahl)\b.*\?|\b(?:pin|nummer|postleitzahl)\b.*\?",
            Expected("digits"),
        ),
        (
            _WITHOUT.format(
                words="wer|was|wann|wo|warum|wieso|weshalb|wie|welche[mnrs]?|wem|wen|wessen|woher|wohin|womit|wofür"
                "|worum|wieviele?|oder|sagen|nennen|geben"
            ),
            Expected("yes_no"),
        ),
    ),
    "fr": (
        (r"e-?mail|courriel|adresse électronique", Expected("email")),
        (r"\bépel", Expected("spelling")),
        (
            r"(?:date de naissance|né|née|anniversaire|quel jour|quelle date|quand (?:voulez|souhaitez|désirez)"
            r"|pour quand)\b.*\?",
            Expected("date"),
        ),
        (
            r"\bnuméro (?:de (?:téléphone|portable|mobile|compte|client|commande|carte|contrat|dossier|référence"
            r"|rappel)"
            r"|client)\b.*\?|\bcode (?:postal|pin|client)\b.*\?",
            Expected("digits"),
        ),
        (
            _WITHOUT.format(
                words="qui|que|quoi|quand|où|pourquoi|comment|combien|quel|quelle|quels|quelles|lequel|laquelle|ou|dire"
                "|donner|indiquer|qu"
            ),
            Expected("yes_no"),
        ),
        (r"(?:^|[.!?,;:] )est-ce que (?!.*\bou\b)[^.!?]*\?\s*$", Expected("yes_no")),
    ),
    "es": (
        (r"e-?mail|correo", Expected("email")),
        (r"\bdeletr", Expected("spelling")),
        (
            r"(?:fecha de nacimiento|nació|cumpleaños|qué día|qué fecha|cuándo (?:quiere|desea|le|prefiere)"
            r"|para cuándo)\b.*\?",
            Expected("date"),
        ),
        (
            r"\b(?:número de (?:teléfono|móvil|celular|cuenta|cliente|pedido|tarjeta|contrato|referencia|contacto)"
            r"|código postal|pin|teléfono)\b.*\?",
            Expected("digits"),
        ),
        (
            _WITHOUT.format(
                words="qué|quién|quiénes|cuándo|dónde|cómo|cuánto|cuánta|cuántos|cuántas|cuál|cuáles|o|decirme|darme|decir"
                "|indicarme"
            ),
            Expected("yes_no"),
        ),
    ),
}
