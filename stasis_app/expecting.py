"""What kind of answer the caller is about to give: by the bot's last question, or as the profile says. Pure."""

import re

from media_bridge.turn_end_expected import Expected, expected_answer
from stasis_app.history import CUT_MARK, History
from stasis_app.sentences import SentenceChunker
from stasis_app.settings import Profile
from stasis_app.short_words import language_code

_ASKS = {
    "en": re.compile(
        r"^(?:(?:and|so|then|now|okay|ok|sure|great|thanks|thank you|of course|alright|well|first|next)\b[, ]*)*"
        r"(?:please|(?:tell|give|send|show) (?:me|us)|enter|type|key in|say|spell|go ahead and|just "
        r"|(?:i|we)(?:'ll| will)? (?:(?:just|also|still) )?need|let me have|(?:may|can|could) i have)",
        re.IGNORECASE,
    ),
    "de": re.compile(
        r"^(?:(?:und|also|dann|nun|jetzt|okay|ok|gut|gerne?|danke|vielen dank|natürlich|zuerst)\b[, ]*)*"
        r"(?:bitte|(?:sagen|nennen|geben|schicken|buchstabieren|tippen|wiederholen) sie|(?:ich|wir) (?:brauche|bräuchte"
        r"|benötige)n?)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"^(?:(?:et|alors|donc|ensuite|maintenant|d'accord|bien|très bien|merci|bien sûr|d'abord)\b[, ]*)*"
        r"(?:veuillez|(?:dites|donnez|indiquez|envoyez|épelez|tapez|saisissez|répétez)\b|merci de"
        r"|(?:il me faut|il me faudrait|j'ai besoin|j'aurais besoin|nous avons besoin))",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"^(?:(?:y|entonces|pues|ahora|bien|muy bien|vale|de acuerdo|gracias|claro|primero)\b[, ]*)*"
        r"(?:por favor|(?:dígame|indíqueme|deme|déme|deletree|deletréeme|introduzca|marque|escriba|repita|diga)\b"
        r"|(?:necesito|necesitamos|necesitaría)\b)",
        re.IGNORECASE,
    ),
}
_COUNT_WORDS = {
    "en": {
        "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
        "eleven": 11, "twelve": 12, "thirteen": 13, "sixteen": 16,
    },
    "de": {
        "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
        "elf": 11, "zwölf": 12, "dreizehn": 13, "sechzehn": 16,
    },
    "fr": {
        "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "six": 6, "sept": 7, "huit": 8, "neuf": 9, "dix": 10, "onze": 11,
        "douze": 12, "treize": 13, "seize": 16,
    },
    "es": {
        "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10,
        "once": 11, "doce": 12, "trece": 13, "dieciséis": 16,
    },
}  # fmt: skip
_DIGITS = {
    "en": r"(?:digits?|figures?)",
    "de": r"(?:ziffern?|stellen?|stellige[nrs]?)",
    "fr": r"(?:derniers |premiers )?chiffres?",
    "es": r"(?:últimos |primeros )?(?:dígitos?|cifras?)",
}
_COUNT = {
    language: re.compile(rf"\b(?:(\d{{1,2}})|({'|'.join(known)}))[ -]?{_DIGITS[language]}\b", re.IGNORECASE)
    for language, known in _COUNT_WORDS.items()
}
_PRESSED = {
    "en": "I pressed {} on my phone.",
    "de": "Ich habe {} auf meinem Telefon gedrückt.",
    "fr": "J'ai appuyé sur {} sur mon téléphone.",
    "es": "He pulsado {} en mi teléfono.",
}


def expecting(history: History, profile: Profile) -> Expected | None:
    """The kind of answer that is due; None where anything may come.

    The profile's `expect` is about the greeting. Questions are understood in English, German, French and Spanish.
    """
    if profile.expect and not history.caller_has_spoken:
        return Expected.parse(profile.expect)
    return asked_for(history.last_answer().removesuffix(CUT_MARK), profile.language)


def asked_for(answer: str, language: str | None = None) -> Expected | None:
    """What the last sentence of `answer` asks for, as a question or as a request; None where it asks for nothing.

    Always None in a language that is not known; one that is not given is English.
    """
    code = language_code(language) or "en"
    if not is_understood(code):
        return None
    last = last_sentence(answer, code)
    if not last.endswith("?"):
        if not _ASKS[code].match(last):
            return None
        last = last.rstrip(".! ") + "?"
    expected = expected_answer(last, code)
    count = _digits_in(last, code)
    if expected is None or expected.kind == "yes_no":
        return Expected("digits", count) if count else expected
    return Expected("digits", count) if expected.kind == "digits" else expected


def keyed_text(digits: str, expected: Expected | None, language: str | None) -> str:
    """What the language model is told of the keys the caller has pressed."""
    pressed = _PRESSED.get(language_code(language) or "en")
    if (expected is not None and expected.kind == "digits") or pressed is None:
        return digits
    return pressed.format(" ".join(digits))


def is_understood(language: str | None) -> bool:
    """Whether the bot's questions are; True for a language that is not given, too."""
    return (language_code(language) or "en") in _ASKS


def _digits_in(question: str, code: str) -> int | None:
    """ "your 8-digit customer number", "the last four digits"."""
    found = _COUNT[code].search(question)
    if not found:
        return None
    return int(found[1]) if found[1] else _COUNT_WORDS[code][found[2].lower()]


def last_sentence(text: str, code: str) -> str:
    """Empty where there is none. `code`: of its language."""
    chunker = SentenceChunker(first_chars=200, first_max_chars=200, language=code)
    whole = [*chunker.feed(text), *chunker.finish()]
    return whole[-1].strip() if whole else ""
