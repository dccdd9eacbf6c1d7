"""Languages other than English: money, dates, times, units and phone numbers as words, by the CLDR data of Babel.

Numbers themselves stay digits, which every voice reads in its own language. What is rewritten is what a voice spells
out or takes for something else: "19,99 €", "3.12.2026", "14:30", "5 km", "0551 123456".
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache

from babel import Locale
from babel.dates import format_date, format_skeleton, get_date_format
from babel.numbers import get_currency_name, get_decimal_symbol
from babel.units import format_unit

from stasis_app import local_texts as local
from stasis_app.speakable_de import with_ordinals
from stasis_app.speakable_numbers import Replacement, codes, digit_by_digit, in_order, ratio, rule, signed
from stasis_app.stops import locale_of, months_of, short_names

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


@lru_cache(maxsize=16)
def words_of(language: str) -> Callable[[str], str] | None:
    """What rewrites a text of this language; None for a language that is not known."""
    locale = locale_of(language)
    return None if locale is None else _Words(locale).in_words


class _Words:
    def __init__(self, locale: Locale) -> None:
        self._locale = locale
        self._language = locale.language
        self._decimal = get_decimal_symbol(locale)
        self._to = local.TO.get(self._language, "–")
        self._short = _capitals_too(local.ABBREVIATIONS.get(self._language, {}))
        self._days = _capitals_too(short_names(locale, "days"))
        self._months = _capitals_too(short_names(locale, "months"))
        self._signs = local.SIGNS.get(self._language)
        self._rules = self._make_rules()

    def in_words(self, text: str) -> str:
        text = in_order(self._rules, text)
        if self._language == "de":
            days = {str(name).lower() for name in self._locale.days["format"]["wide"].values()}
            text = with_ordinals(text, local.AFTER_ORDINAL["de"], months_of(self._locale) | days)
        return text

    def _make_rules(self) -> tuple[tuple[re.Pattern[str], Replacement], ...]:
        """Order matters: dates and phone numbers look like ranges, money and times like units."""
        return (
            *self._days_and_months(),
            *self._dates(),
            *self._phones(),
            *(signed(self._signs) if self._signs else ()),
            *codes(),
            *self._money_rules(),
            *self._times(),
            rule(rf"(?<![\w.,])({_AMOUNT})\s?({_UNIT})(?![\w²³/])", lambda m: self._unit(m[1], m[2])),
            rule(r"(?<=[\d%])\s?[-–]\s?(?=\d)", f" {self._to} "),
            *self._abbreviations(),
            *self._told_one_by_one(),
        )

    def _days_and_months(self) -> list[tuple[re.Pattern[str], Replacement]]:
        if not self._days or not self._months:
            return []
        day, month = _one_of(self._days), _one_of(self._months)
        mark = local.HOUR_MARKS.get(self._language, "h")
        return [
            rule(rf"(?<!\w)({day})\.?\s?[-–]\s?({day})(?!\w)\.?", self._days_from_to),
            rule(rf"(?<!\w)({day})\.(?=:?\s?\d)", lambda m: self._days[m[1]]),
            # without a full stop "So 5-10" may well begin with the word "so"
            rule(
                rf"(?:^|(?<=[,;] ))({day})(?=:?\s\d{{1,2}}(?::\d\d|(?:\s?[-–]\s?\d{{1,2}})?\s?(?:{mark})\b))",
                lambda m: self._days[m[1]],
            ),
            rule(rf"(?<=\d\s)({month})\.(?=\s)", lambda m: self._months[m[1]]),
        ]

    def _dates(self) -> list[tuple[re.Pattern[str], Replacement]]:
        before = local.BEFORE_DATE.get(self._language)
        rules = [
            rule(
                r"\b(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?(?!\w)",
                lambda m: self._date(m, m[1], m[2], m[3]) + (f", {m[4]}" if m[4] else ""),
            ),
            rule(r"(?<![\d.,/-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-]|\.\d)", self._numeric_date),
        ]
        if "." in get_date_format("short", locale=self._locale).pattern:
            rules.append(rule(r"(?<![\d.,])(\d{1,2})\.(\d{1,2})\.(?!\d)", self._day_and_month))
        if before:
            rules.append(
                rule(rf"(?i)(?<!\w)({before}) (\d{{1,2}})/(\d{{1,2}})(?![\d/])", self._behind_article)
            )
        return rules

    def _phones(self) -> list[tuple[re.Pattern[str], Replacement]]:
        plus = self._signs.plus if self._signs else "plus"
        own = local.PHONES.get(self._language)
        return [
            rule(r"(?<![\w.,])\+\d[\d\s()/.-]{6,}\d\b", lambda m: digit_by_digit(m, plus)),
            *([rule(rf"(?<![\w.,])(?<!\d ){own}(?!\d| \d|[.,]\d)", digit_by_digit)] if own else []),
            rule(r"(?<![\w.,])(?<!\d )0\d{1,5}[ /-]\d[\d -]{3,}\d\b", digit_by_digit),
            rule(r"(?<![\w.,])(?<!\d )(?:0\d{2,}|\d{7,})\b(?![.,]\d)", digit_by_digit),
            rule(r"(?<![\d.,])(?<!\d )([1-9]\d{0,2}(?: \d{3})+)(?! ?\d)", lambda m: m[1].replace(" ", "")),
        ]

    def _money_rules(self) -> list[tuple[re.Pattern[str], Replacement]]:
        per = local.PER.get(self._language)
        return [
            *(
                [
                    rule(
                        rf"((?:{_SIGN})\s?(?:{_AMOUNT})|(?<=\d)\s?(?:{_SIGN}))\s?/\s?(?=[^\W\d_])",
                        rf"\1 {per} ",
                    )
                ]
                if per
                else []
            ),
            rule(rf"(?<!\w)({_SIGN})\s?({_AMOUNT})", lambda m: self._money(m[2], m[1])),
            rule(rf"(?<![\w.,])({_AMOUNT})\s?({_SIGN})(?!\w)", lambda m: self._money(m[1], m[2])),
        ]

    def _times(self) -> list[tuple[re.Pattern[str], Replacement]]:
        mark = local.HOUR_MARKS.get(self._language, "h")
        half = local.HALF_DAYS.get(self._language)
        time = r"(?<![\d:.,])\d{1,2}(?::\d{2}|\s?h(?:\d{2})?)"
        return [
            *(
                [rule(r"(?<![\d:.,])(\d{1,2})(?::(\d{2}))?\s?([apAP])\.?\s?[mM]\b\.?", self._half_day)]
                if half
                else []
            ),
            rule(rf"({time})\s?[-–]\s?(?=\d{{1,2}}(?::\d{{2}}|\s?h))", rf"\1 {self._to} "),
            rule(rf"(?<![\d:.,])(\d{{1,2}}):(\d{{2}})(?![\d:])(?:\s?(?:{mark})\b)?", self._clock),
            rule(rf"(?<![\d:.,])(\d{{1,2}})\.(\d{{2}})\s?(?:{mark})\b", self._clock),
            rule(rf"(?<![\d:.,])(\d{{1,2}})\s?(?:{mark})(?:\s?(\d{{2}}))?(?![\w:])", self._clock),
            *(ratio(self._signs) if self._signs else ()),
        ]

    def _abbreviations(self) -> list[tuple[re.Pattern[str], Replacement]]:
        if not self._short:
            return []
        known = "|".join(sorted(map(re.escape, self._short), key=len, reverse=True))
        rules = [rule(rf"(?<!\w)({known})(?!\w)", self._abbreviation)]
        if self._language == "de":
            rules.insert(0, rule(r"(?<=[a-zäöüß])str\.(?=\s?\d)", "straße"))
        return rules

    def _told_one_by_one(self) -> list[tuple[re.Pattern[str], Replacement]]:
        words, is_word = (table.get(self._language) for table in (local.CODE_WORDS, local.IS))
        if not words:
            return []
        return [
            rule(rf"(?i)(?<!\w)({words})((?::|\s(?:{is_word}))?\s)(\d{{4,}})(?!\w|[.,-]\d)", spelled_number)
        ]

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
        if self._language not in local.HOUR:
            return found.group() if not minute else f"{hour} {minute:02d}"
        return self._hour(hour, minute)

    def _hour(self, hour: int, minute: int) -> str:
        one, other, minutes = local.HOUR[self._language]
        if minute and self._language in local.MINUTES_WITHOUT_HOUR_WORD:
            return f"{hour}{minutes.format(minute)}"
        return (one if hour == 1 else other.format(hour)) + (minutes.format(minute) if minute else "")

    def _half_day(self, found: re.Match[str]) -> str:
        hour, minute = int(found[1]), int(found[2] or 0)
        if not 1 <= hour <= 12 or minute > 59:
            return found.group()
        morning, afternoon, evening = local.HALF_DAYS[self._language]
        half = morning if found[3].lower() == "a" else evening if 8 <= hour < 12 else afternoon
        minutes = local.HOUR[self._language][2].format(minute) if minute else ""
        end = "." if found.group().endswith(".") and not found.string[found.end() :].strip() else ""
        return f"{hour}{minutes} {half}{end}"

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

    def _behind_article(self, found: re.Match[str]) -> str:
        try:
            named = date(2000, int(found[3]), int(found[2]))
        except ValueError:
            return found.group()
        return f"{found[1]} {format_skeleton('MMMMd', named, locale=self._locale)}"

    def _date(self, found: re.Match[str], year: str, month: str, day: str) -> str:
        try:
            named = date(int(year), int(month), int(day))
        except ValueError:
            return found.group()
        return str(format_date(named, "long", locale=self._locale))


def spelled_number(found: re.Match[str]) -> str:
    """What a word like "number" introduces, figure by figure."""
    return f"{found[1]}{found[2]}{' '.join(found[3])}"


def _one_of(names: Mapping[str, str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


def _capitals_too(short: Mapping[str, str]) -> dict[str, str]:
    """Each abbreviation also as it begins a sentence."""
    return {
        short[:1].upper() + short[1:]: said[:1].upper() + said[1:] for short, said in short.items()
    } | dict(short)
