"""What a full stop does not end a sentence behind, by the CLDR data of Babel and local_texts.

Pure.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from babel import Locale, UnknownLocaleError

from stasis_app.local_texts import ABBREVIATED_ENDINGS, ABBREVIATIONS, AFTER_ORDINAL
from stasis_app.short_words import language_code


@dataclass(frozen=True, slots=True)
class Stops:
    """What a full stop does not end a sentence behind, `before_number` (and words with such `endings`) only where one
    follows, and (`after_ordinal`) between a number and what.
    """

    abbreviations: frozenset[str] = frozenset()
    before_number: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    after_ordinal: frozenset[str] = frozenset()

    def ends_nothing(self, word: str, *, before_number: bool = False) -> bool:
        """Whether a full stop behind `word` (lower case) is that of an abbreviation."""
        return word in self.abbreviations or (
            before_number and (word in self.before_number or word.endswith(self.endings or "."))
        )

    def is_ordinal(self, number: str, after: str) -> bool:
        """Whether `number` ("24.") counts what `after` names, or is the first of several that do."""
        if not self.after_ordinal or not number.endswith("."):
            return False
        words = re.findall(r"[^\W\d_]+", after)
        several = re.match(r"(?:,|[-–]|[^\W\d_]{1,4}(?: zum)?)\s*\d{1,2}\.(?=\s)", after)
        return any(word.lower() in self.after_ordinal for word in (words[:3] if several else words[:1]))


NO_STOPS = Stops()


@lru_cache(maxsize=16)
def stops(language: str | None) -> Stops:
    """In lower case and without the full stop at the end. None where the language has no own data."""
    locale = locale_of(language)
    if locale is None:
        return NO_STOPS
    known = ABBREVIATIONS.get(locale.language, {})
    return Stops(
        frozenset(short.lower().rstrip(".").rsplit(maxsplit=1)[-1] for short in known),
        frozenset(map(str.lower, (*short_names(locale, "days"), *short_names(locale, "months")))),
        ABBREVIATED_ENDINGS.get(locale.language, ()),
        months_of(locale) | AFTER_ORDINAL.get(locale.language, frozenset()),
    )


def months_of(locale: Locale) -> frozenset[str]:
    """Their names where dates are written like "3. Mai"; elsewhere a full stop before "May" is one."""
    if not re.search(r"d\. M|M d\.", str(locale.date_formats["long"].pattern)):
        return frozenset()
    return frozenset(str(name).lower() for name in locale.months["format"]["wide"].values())


def short_names(locale: Locale, of: Literal["days", "months"]) -> dict[str, str]:
    """ "Mo" to "Montag", "déc" to "décembre"; what has no shorter name is left out."""
    names = (locale.days if of == "days" else locale.months)["format"]
    both = [(str(short), str(names["wide"][number])) for number, short in names["abbreviated"].items()]
    return {short.rstrip("."): wide for short, wide in both if short.rstrip(".") != wide}


def locale_of(language: str | None) -> Locale | None:
    code = language_code(language)
    if not language or not code:
        return None
    written = language.replace("-", "_")
    try:
        return Locale.parse(written if "_" in written else code)
    except (UnknownLocaleError, ValueError):
        return None
