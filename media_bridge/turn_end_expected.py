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


@dataclass(frozen=True)
class _Questions:
    """Patterns of one language, for a question in small letters.

    `yes_no`: begins as one for yes or no, whatever nouns follow. `requests`: asks for the thing itself all the same
    ("Could you tell me your number?"). `choice`: takes none of both for an answer. `kinds`: by what is asked for.
    `last`: questions for yes or no that only the absence of everything else tells.
    """

    yes_no: str
    requests: str
    choice: str
    kinds: tuple[tuple[str, Expected], ...]
    last: str = r"(?!)"


def expected_answer(question: str, language: str = "en") -> Expected | None:
    """What the bot's last sentence asks for; None where it asks nothing of a known kind. `language`: two letters."""
    known = _QUESTIONS.get(language)
    if known is None:
        return None
    asked = question.lower().replace("’", "'")
    if re.search(known.yes_no, asked) and not re.search(known.requests, asked):
        return None if re.search(known.choice, asked) else Expected("yes_no")
    found = next((expected for pattern, expected in known.kinds if re.search(pattern, asked)), None)
    return found or (Expected("yes_no") if re.search(known.last, asked) else None)


# without a question word, and without a choice
_WITHOUT: Final = r"(?:^|[.!?,;:¿] ?)(?!.*\b(?:{words})\b)[^.!?]*\?\s*$"
_QUESTIONS: Final = {
    "en": _Questions(
        yes_no=r"(?:^|[.!?,;] )(?:(?:and|so|then|but|okay|ok|great|now|also),? )*(?:is|are|was|were|do|does"
        r"|did|can|could|will|would"
        r"|should|shall|may|have|has|isn't|aren't|wasn't|don't|doesn't|didn't|haven't|hasn't|won't"
        r"|can't) [^.!?]*\?\s*$",
        requests=r"\b(?:can|could|may|might|will|would) (?:you|i|we)(?: (?:please|also|just|maybe|kindly"
        r"|quickly|then|perhaps))*"
        r" (?:(?:tell|give|say|spell|repeat|provide|enter|read|type|key|share|verify|confirm(?! (?:that|if"
        r"|whether|it|this)\b)"
        r"|let (?:me|us) have|mind \w+ing)\b|(?:have|get|take|ask|note|write down)\b.*\b(?:number|code"
        r"|e-?mail|pin|birth"
        r"|address|name|date|spelling|digits?)\b)"
        r"|\b(?:do you (?:happen to )?(?:have|know|remember)|have you got|is there)(?: an?| your| the| any| another)+"
        r"(?: (?!with\b|about\b|in\b)\w+){0,2} (?:number|code|e-?mail|pin)\b",
        choice=r"\bor\b(?! (?:not|is|are|do|does|would|can|could|should|something|anything|so)\b)",
        kinds=(
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
            # its answer may be a clause that stands nowhere else: "Because it is broken"
            (r"(?:\bwhy|how come|what for|what made|\breasons?)\b.*\?", Expected("open")),
        ),
    ),
    "de": _Questions(
        yes_no=r"(?:^|[.!?,;:] )(?:(?:und|also|dann|gut|okay|nun),? )*(?:soll|sollen|darf|dürfen|dürfte|kann"
        r"|können|könnten|könnte"
        r"|möchten|wollen|würden|werden|haben|hat|hätten|ist|sind|war|waren|wurde|stimmt|passt|wäre|brauchen"
        r"|bekommen|gilt|geht"
        r"|wünschen|mögen|nutzen|erreichen|gibt|bleibt|wissen|kennen) [^.!?]*\?\s*$",
        requests=r"\b(?:sie|du|ihr)\b.*\b(?:sagen|nennen|geben|durchgeben|angeben|buchstabieren|mitteilen"
        r"|wiederholen|verraten"
        r"|eingeben|bestätigen)\b|\b(?:kann|könnte|darf|dürfte|dürfen|können) (?:ich|wir)\b.*\b(?:haben"
        r"|bekommen|wissen|notieren"
        r"|aufnehmen)\b|\b(?:haben|wissen|kennen) sie(?: (?:noch|auch|vielleicht|zufällig))*(?: (?:eine?|ihre"
        r"|die))(?: \w+)?"
        r" [\w-]*(?:nummer|zahl|mail|adresse|pin)\W*$|\bgibt es eine\b.*(?:nummer|mail|adresse)",
        choice=r"\boder\b(?! (?:nicht|so)\b)",
        kinds=(
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
        ),
        last=_WITHOUT.format(
            words="wer|was|wann|wo|warum|wieso|weshalb|wie|welche[mnrs]?|wem|wen|wessen|woher|wohin|womit|wofür"
            "|worum|wieviele?|oder|sagen|nennen|geben"
        ),
    ),
    "fr": _Questions(
        yes_no=r"(?:^|[.!?,;:] ?)(?!(?:.*[ ,])?(?:qui|que|quoi|quand|où|pourquoi|comment|combien"
        r"|quel(?:le)?s?|à quelle)\b)(?:[^.!?]*"
        r"\w-(?:t-)?(?:vous|je|on|il|elle|ils|elles|nous|ce)\b|vous |je |on |c'est )[^.!?]*\?\s*$"
        r"|(?:^|[.!?,;:] ?)(?:et |alors |bien |donc )*est-ce (?:que |qu')[^.!?]*\?\s*$",
        requests=r"\b(?:pouvez|pourriez|voulez|voudriez|peux|pourrais)\b.*\b(?:dire|donner|indiquer|épeler"
        r"|communiquer|préciser"
        r"|répéter|laisser|rappeler|confirmer|taper|saisir)\b|\b(?:puis-je|pourrais-je|pouvons-nous"
        r"|je peux)(?: \w+)? (?:avoir"
        r"|noter|prendre|connaître)\b|\bavez(?:-vous)? (?:un|une|votre|le|l'|vos|encore)\b(?: (?:autre"
        r"|nouvelle?|bonne?))?"
        r" ?(?:numéro|e-?mail|adresse|courriel|code)\b",
        choice=r"\bou\b(?! (?:non|pas)\b)",
        kinds=(
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
        ),
        last=_WITHOUT.format(
            words="qui|que|quoi|quand|où|pourquoi|comment|combien|quel|quelle|quels|quelles|lequel|laquelle|ou|dire"
            "|donner|indiquer|qu"
        ),
    ),
    "es": _Questions(
        yes_no=r"(?:^|[.!?,;:¿] ?)(?:(?:y|entonces|pues|bien|vale),? )*(?:(?:le|les|lo|la|los|las|se|me|nos"
        r"|ya|no) )*(?:ha|han|es|está"
        r"|están|son|era|fue|tiene|tienen|quiere|quieren|desea|prefiere|puedo|podemos|puede|pueden|podría"
        r"|recibió|llegó|hay"
        r"|necesita|debo|sigue|sirve|funciona|parece|gustaría|va|viene|vale|sabe|recuerda|confirmo|envío"
        r"|mando|llamo|enviamos"
        r"|mandamos|llamamos|reservo|cambio|apunto|paso) [^.!?¿]*\?\s*$",
        requests=r"\b(?:puede|podría|pueden|podrían)\b.*\b(?:decir|dar|deletrear|indicar|repetir|facilitar"
        r"|confirmar|dejar|dictar)"
        r"(?:me|nos|lo|la)*\b|\bme (?:da|dice|deja|deletrea|repite|indica|facilita|confirma|dicta)\b"
        r"|\b(?:tiene|sabe|recuerda|hay)"
        r" (?:un|una|su|el|la|algún|alguna|otro)(?: \w+)? ?(?:número|correo|e-?mail|código|teléfono|pin)\b"
        r"|\b(?:puedo|podría|podemos) (?:tener|tomar|anotar|saber)\b",
        choice=r"\b[ou]\b(?! no\b)",
        kinds=(
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
        ),
        last=_WITHOUT.format(
            words="qué|quién|quiénes|cuándo|dónde|cómo|cuánto|cuánta|cuántos|cuántas|cuál|cuáles|o|decirme|darme|decir"
            "|indicarme"
        ),
    ),
}
