"""Languages other than English: money, dates, times, units and phone numbers as words, by the CLDR data of Babel.

Numbers themselves stay digits, which every voice reads in its own language. What is rewritten is what a voice spells
out or takes for something else: "19,99 €", "3.12.2026", "14:30", "5 km", "0551 123456".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton, get_date_format
from babel.numbers import get_currency_name, get_decimal_symbol
from babel.units import format_unit

from stasis_app.local_texts import ABBREVIATIONS, AFTER_ORDINAL, HOUR, HOUR_MARKS, TO
from stasis_app.speakable_en import digit_by_digit

_CURRENCIES = {
    "€": "EUR", "EUR": "EUR", "$": "USD", "US$": "USD", "USD": "USD", "£": "GBP", "GBP": "GBP", "₹": "INR", "¥": "JPY",
    "CHF": "CHF", "zł": "PLN", "PLN": "PLN", "Kč": "CZK", "CZK": "CZK", "₽": "RUB", "₩": "KRW", "SEK": "SEK",
    "DKK": "DKK", "NOK": "NOK", "R$": "BRL",
}  # fmt: skip
_UNITS = {
    "km/h": "speed-kilometer-per-hour", "km": "length-kilometer", "m": "length-meter", "cm": "length-centimeter",
    "mm": "length-millimeter", "kg": "mass-kilogram", "g": "mass-gram", "mg": "mass-milligram", "l": "volume-liter",
    "L": "volume-liter", "ml": "volume-milliliter", "°C": "temperature-celsius", "℃": "temperature-celsius",
    "°F": "temperature-fahrenheit", "m²": "area-square-meter", "kWh": "energy-kilowatt-hour", "kW": "power-kilowatt",
    "W": "power-watt", "GB": "digital-gigabyte", "MB": "digital-megabyte", "TB": "digital-terabyte",
    "min": "duration-minute", "Min.": "duration-minute", "Std.": "duration-hour",
}  # fmt: skip

_SIGN = "|".join(sorted(map(re.escape, _CURRENCIES), key=len, reverse=True))
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_AMOUNT = r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d+)?"


@dataclass(frozen=True, slots=True)
class Stops:
    """What a full stop does not end a sentence behind, and (`after_ordinal`) between a number and what."""

    abbreviations: frozenset[str] = frozenset()
    after_ordinal: frozenset[str] = frozenset()


NO_STOPS = Stops()


def stops(language: str | None) -> Stops:
    """In lower case and without the full stop at the end. None where the language has no own data."""
    locale = _locale(language)
    if locale is None:
        return NO_STOPS
    months = {str(name).lower() for name in locale.months["format"]["wide"].values()}
    known = ABBREVIATIONS.get(locale.language, {})
    return Stops(
        frozenset(short.lower().rstrip(".").rsplit(maxsplit=1)[-1] for short in known),
        frozenset(months | AFTER_ORDINAL.get(locale.language, frozenset())),
    )


@lru_cache(maxsize=16)
def words_of(language: str) -> Callable[[str], str] | None:
    """What rewrites a text of this language; None for a language that is not known."""
    locale = _locale(language)
    return None if locale is None else _Words(locale).in_words


def _locale(language: str | None) -> Locale | None:
    if language is None:
        return None
    try:
        return Locale.parse(language.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return None


class _Words:
    def __init__(self, locale: Locale) -> None:
        self._locale = locale
        self._language = locale.language
        self._decimal = get_decimal_symbol(locale)
        self._to = TO.get(self._language, "–")
        self._short = ABBREVIATIONS.get(self._language, {})
        self._days = self._day_names()
        self._rules = [(re.compile(pattern), said) for pattern, said in self._make_rules()]

    def in_words(self, text: str) -> str:
        for pattern, said in self._rules:
            text = pattern.sub(said, text)
        return text

    def _make_rules(self) -> list[tuple[str, Callable[[re.Match[str]], str]]]:
        """Order matters: dates and phone numbers look like ranges, money and times like units."""
        mark = HOUR_MARKS.get(self._language, "h")
        day = "|".join(map(re.escape, self._days))
        rules: list[tuple[str, Callable[[re.Match[str]], str]]] = [
            (r"\b(\d{4})-(\d{2})-(\d{2})\b", lambda m: self._date(m, m[1], m[2], m[3])),
            (r"(?<![\d.,/-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])", self._numeric_date),
            (r"(?<![\w.,])\+\d[\d\s()/.-]{6,}\d\b", digit_by_digit),
            (r"(?<![\w.,])0\d{1,5}[ /-]\d[\d -]{3,}\d\b", digit_by_digit),
            (r"(?<![\w.,])(?:0\d{2,}|\d{7,})\b(?![.,]\d)", digit_by_digit),
            (rf"(?<!\w)({_SIGN})\s?({_AMOUNT})", lambda m: self._money(m[2], m[1])),
            (rf"(?<![\w.,])({_AMOUNT})\s?({_SIGN})(?!\w)", lambda m: self._money(m[1], m[2])),
            (rf"(?<![\d:.,])(\d{{1,2}}):(\d{{2}})(?![\d:])(?:\s?(?:{mark})\b)?", self._clock),
            (rf"(?<![\d:.,])(\d{{1,2}})\s?(?:{mark})(?:\s?(\d{{2}}))?(?![\w:])", self._clock),
            (rf"(?<![\w.,])({_AMOUNT})\s?({_UNIT})(?![\w²³/])", lambda m: self._unit(m[1], m[2])),
            (r"(?<=\d)\s?[-–]\s?(?=\d)", lambda _: f" {self._to} "),
        ]
        if "." in get_date_format("short", locale=self._locale).pattern:
            rules.insert(2, (r"(?<![\d.,])(\d{1,2})\.(\d{1,2})\.(?!\d)", self._day_and_month))
        if day:
            rules.insert(0, (rf"\b({day})\.?\s?[-–]\s?({day})\b\.?", self._days_from_to))
        if self._short:
            known = "|".join(sorted(map(re.escape, self._short), key=len, reverse=True))
            rules.append((rf"(?<!\w)({known})(?!\w)", self._abbreviation))
        return rules

    def _day_names(self) -> dict[str, str]:
        """ "Mo" to "Montag"."""
        days = self._locale.days["format"]
        return {
            str(short).rstrip("."): str(days["wide"][number]) for number, short in days["abbreviated"].items()
        }

    def _days_from_to(self, found: re.Match[str]) -> str:
        return f"{self._days[found[1]]} {self._to} {self._days[found[2]]}"

    def _abbreviation(self, found: re.Match[str]) -> str:
        end = "." if found[1].endswith(".") and not found.string[found.end() :].strip() else ""
        return self._short[found[1]] + end

    def _number(self, written: str) -> Decimal:
        """A number as it is written here, or as in English where that is what it must be ("19.99")."""
        at = max(written.rfind("."), written.rfind(","))
        whole, rest = (written[:at], written[at + 1 :]) if at >= 0 else (written, "")
        if len(rest) == 3 and written[at] != self._decimal:
            whole, rest = whole + rest, ""
        return Decimal(re.sub(r"\D", "", whole) + (f".{rest}" if rest else ""))

    def _money(self, written: str, sign: str) -> str:
        amount = self._number(written)
        whole = int(amount)
        cents = int((amount - whole) * 100)
        name = get_currency_name(_CURRENCIES[sign], count=whole, locale=self._locale)
        return f"{whole} {name} {cents:02d}" if cents else f"{whole} {name}"

    def _unit(self, written: str, unit: str) -> str:
        return format_unit(self._number(written), _UNITS[unit], length="long", locale=self._locale)

    def _clock(self, found: re.Match[str]) -> str:
        hour, minute = int(found[1]), int(found[2] or 0)
        if hour > 24 or minute > 59:
            return found.group()
        word = HOUR.get(self._language)
        if word is None:
            return found.group() if not minute else f"{hour} {minute:02d}"
        return f"{hour} {word} {minute}" if minute else f"{hour} {word}"

    def _numeric_date(self, found: re.Match[str]) -> str:
        pattern = get_date_format("short", locale=self._locale).pattern.lower()
        first, second = (
            (found[1], found[3]) if pattern.find("d") < pattern.find("m") else (found[3], found[1])
        )
        year = found[4] if len(found[4]) == 4 else f"20{found[4]}"
        return self._date(found, year, second, first)

    def _day_and_month(self, found: re.Match[str]) -> str:
        try:
            named = date(2000, int(found[2]), int(found[1]))
        except ValueError:
            return found.group()
        end = "." if not found.string[found.end() :].strip() else ""
        return str(format_skeleton("MMMMd", named, locale=self._locale)) + end

    def _date(self, found: re.Match[str], year: str, month: str, day: str) -> str:
        try:
            named = date(int(year), int(month), int(day))
        except ValueError:
            return found.group()
        return str(format_date(named, "long", locale=self._locale))
