"""English: prices, times, numbers and abbreviations as words, where the voice would read them wrong.

What espeak (Piper's front end) reads right stays as it is: years, ordinals, decimals,
10,000 and 50%. Measured wrong and
so rewritten: "$19" ("dollar nineteen"), "9:00" ("nine zero zero"), "9-6" ("nine dash six"),
"5 km" ("five kay em"),
"Dr. Smith" and "No. 5" (a full stop in the middle), "and/or" ("slash").
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from babel import Locale, UnknownLocaleError
from babel.dates import get_date_format

from stasis_app.local_texts import SIGNS
from stasis_app.speakable_en_dates import MONTHS, date_rules, slash_rules
from stasis_app.speakable_en_numbers import NUMBERS
from stasis_app.speakable_numbers import Rules, codes, in_order, ratio, rule, signed

_MONEY: Final = {
    "$": ("dollar", "cent"),
    "€": ("euro", "cent"),
    "£": ("pound", "pence"),
    "₹": ("rupee", "paisa"),
    "¥": ("yen", ""),
}
_AMOUNT: Final = r"\d+(?:,\d{3})*(?:\.\d+)?"
_SCALE: Final = {"k": "thousand", "m": "million", "bn": "billion"}
_PER: Final = r"(?:[a-z]{3,}|mo|yr|hr|lb|kg|mi|km)"
_PER_WORD: Final = {
    "mo": "month", "yr": "year", "hr": "hour", "min": "minute", "lb": "pound", "kg": "kilogram", "mi": "mile",
    "km": "kilometer",
}  # fmt: skip

_DAYS: Final = {
    "mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "thu": "Thursday",
    "thur": "Thursday",
    "thurs": "Thursday", "fri": "Friday", "sat": "Saturday", "sun": "Sunday",
}  # fmt: skip
_DAY: Final = r"(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
_MONTH: Final = r"(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"

_UNITS: Final = {
    "km/h": "kilometer per hour", "kmh": "kilometer per hour", "mph": "mile per hour", "km": "kilometer",
    "cm": "centimeter",
    "mm": "millimeter", "m": "meter", "mi": "mile", "ft": "foot", "yd": "yard", "kg": "kilogram",
    "g": "gram", "mg": "milligram",
    "lb": "pound", "lbs": "pound", "oz": "ounce", "ml": "milliliter", "l": "liter", "L": "liter",
    "GB": "gigabyte",
    "MB": "megabyte", "TB": "terabyte", "Mbps": "megabit per second", "kWh": "kilowatt hour",
    "kW": "kilowatt", "W": "watt",
    "min": "minute", "mins": "minute", "hr": "hour", "hrs": "hour", "h": "hour", "sec": "second", "secs": "second",
    "ms": "millisecond",
    "°C": "degree Celsius", "℃": "degree Celsius", "°F": "degree Fahrenheit", "℉": "degree Fahrenheit",
    "°": "degree",
    "m²": "square meter", "sq ft": "square foot", "sq. ft.": "square foot",
}  # fmt: skip
_UNIT: Final = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))

_ABBREVIATIONS: Final = {
    "Dr": "Doctor", "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor", "Gen": "General",
    "Capt": "Captain",
    "Lt": "Lieutenant", "Sgt": "Sergeant", "Rev": "Reverend", "Sen": "Senator", "Gov": "Governor",
    "Mt": "Mount", "Ft": "Fort",
    "vs": "versus", "approx": "approximately", "dept": "department", "Dept": "Department", "apt": "apartment",
    "Apt": "Apartment", "ext": "extension", "Ext": "Extension", "tel": "telephone", "Tel": "Telephone",
    "incl": "including",
    "min": "minimum", "max": "maximum", "Jr": "Junior", "Sr": "Senior", "Inc": "Incorporated",
    "Ltd": "Limited",
    "Corp": "Corporation", "Co": "Company", "Rd": "Road", "Ave": "Avenue", "Blvd": "Boulevard",
    "Ln": "Lane", "Hwy": "Highway",
    "Sq": "Square", "Bros": "Brothers", "etc": "et cetera", "fig": "figure", "Fig": "Figure",
    "vol": "volume", "Vol": "Volume",
}  # fmt: skip
_DECADES: Final = (
    "",
    "tens",
    "twenties",
    "thirties",
    "forties",
    "fifties",
    "sixties",
    "seventies",
    "eighties",
    "nineties",
)
_SYMBOLS: Final = {
    "~": " about ", "≈": " about ", "≤": " at most ", "≥": " at least ", "→": " to ", "×": " times ",
    "÷": " divided by ",
    "±": " plus or minus ", "©": " ", "®": " ", "™": " ", "¢": " cents ", "№": " number ",
}  # fmt: skip


@lru_cache(maxsize=16)
def words_of(language: str | None) -> Callable[[str], str]:
    """What rewrites a text with everything that an English voice reads wrong; dates as this country writes them."""
    rules = _rules(day_first=_day_first(language))
    return lambda text: in_order(rules, text)


def _day_first(language: str | None) -> bool:
    try:
        pattern = get_date_format("short", locale=Locale.parse((language or "en").replace("-", "_"))).pattern
    except (UnknownLocaleError, ValueError):
        return False
    return pattern.find("d") < pattern.lower().find("m")


def _plural(amount: str, noun: str) -> str:
    """ "1 dollar", "2 dollars", "5 feet", "5 miles per hour", "2 degrees Celsius"."""
    if amount == "1":
        return f"{amount} {noun}"
    head, *rest = noun.split(" ")
    if head == "square":
        return f"{amount} square {_plural('2', rest[0]).split(' ', 1)[1]}"
    if head == "kilowatt" and rest:
        return f"{amount} kilowatt hours"
    many = {"foot": "feet", "inch": "inches", "yen": "yen", "pence": "pence", "paisa": "paise"}.get(
        head, head + "s"
    )
    return " ".join([amount, many, *rest])


def _money(found: re.Match[str]) -> str:
    major, minor = _MONEY[found["sign"]]
    amount, scale = found["amount"], found["scale"]
    low = found["low"]
    before = f"{low} to " if low else ""
    if scale:
        return f"{before}{amount} {_SCALE.get(scale.lower(), scale.lower())} {major}s" + _per(found["per"])
    whole, _, cents = amount.partition(".")
    if len(cents) != 2 or low or not minor:
        words = _plural(amount, major)
    elif int(cents) == 0:
        words = _plural(whole, major)
    elif int(whole.replace(",", "")) == 0:
        words = _plural(str(int(cents)), minor)
    else:
        words = f"{_plural(whole, major)} and {_plural(str(int(cents)), minor)}"
    return before + words + _per(found["per"])


def _per(unit: str | None) -> str:
    return f" per {_PER_WORD.get(unit, unit)}" if unit else ""


def _meridiem(letter: str, dots: str, end: str) -> str:
    """AM or PM; the full stop of "p.m." stays where it also ends the sentence."""
    return f"{letter.upper()}M" + ("." if "." in dots and end == "" else "")


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found["hour"]), found["minute"]
    if hour > 23 or int(minute) > 59:
        return found.group()
    spoken_minute = {"00": "", "0": ""}.get(minute, f"oh {minute[1]}" if minute[0] == "0" else minute)
    half = found["half"]
    if half:
        tail = _meridiem(half[0], half, found.string[found.end() :])
    elif hour == 0 or hour > 12:
        hour, tail = (hour - 12 or 12) if hour else 12, "PM" if found["hour"].lstrip("0") else "AM"
    else:
        tail = "" if spoken_minute else "o'clock"
    return " ".join(part for part in (str(hour), spoken_minute, tail) if part)


def _hour(found: re.Match[str]) -> str:
    half = found["half"]
    return f"{found['hour']} {_meridiem(half[0], half, found.string[found.end() :])}"


def _month(short: str) -> str:
    return next(name for name in MONTHS if name.startswith(short[:3]))


def _day(short: str) -> str:
    return _DAYS[short.lower()]


def _abbreviation(found: re.Match[str]) -> str:
    end = "." if not found.string[found.end() :].strip() else ""
    return _ABBREVIATIONS[found[1]] + end


def _initials(found: re.Match[str]) -> str:
    end = "." if not found.string[found.end() :].strip() else ""
    return " ".join(found.group().replace(".", "")) + end


def _slash(found: re.Match[str]) -> str:
    words = re.split(r"\s?/\s?", found.group())
    if len(words) > 2:
        return ", ".join(words)
    left, right = words
    if (
        left.isalpha()
        and right.isalpha()
        and min(len(left), len(right)) > 1
        and "and" not in (left.lower(), right.lower())
    ):
        return f"{left} or {right}"
    return f"{left} {right}"


def _times(found: re.Match[str]) -> str:
    """The sides of a room or box are "by" each other, whatever sign was taken."""
    return re.sub(r"\s?[x×]\s?", " by ", found.group())


def _rules(*, day_first: bool) -> Rules:
    """Order matters: what looks like a range (a phone number, a date) goes before ranges, ranges before money and
    times.
    """
    signs = SIGNS["en"]
    return (
        *date_rules(day_first=day_first),
        *NUMBERS,
        *signed(signs),
        *codes(),
        *_DAYS_AND_MONTHS,
        *_MONEY_RULES,
        *_RANGES,
        *_CLOCKS,
        *ratio(signs),
        *slash_rules(),
        *_UNIT_RULES,
        *_WORDS,
    )


_DAYS_AND_MONTHS: Final = (
    rule(rf"\b({_DAY})\.?\s?[-–—]\s?({_DAY})\b\.?(?=\W|$)", lambda m: f"{_day(m[1])} to {_day(m[2])}"),
    rule(r"\b(Mon|Tues?|Wed|Thu(?:rs?)?|Fri)\b\.?(?=[\s,:;)/]|$)", lambda m: _day(m[1])),
    rule(r"\b(Sat|Sun)\.?(?=:?\s\d|:\s|\s(?:closed|&)|/)", lambda m: _day(m[1])),
    rule(rf"\b{_MONTH}\.?(?=\s\d)", lambda m: _month(m[1])),
    rule(rf"(?<=\d\s){_MONTH}\b\.?", lambda m: _month(m[1])),
)
_MONEY_RULES: Final = (
    rule(
        rf"(?:US|CA|AU)?(?P<sign>[$€£¥₹])\s?(?:(?P<low>{_AMOUNT})\s?[-–—]\s?(?:(?P=sign))?)?"
        rf"(?P<amount>{_AMOUNT})(?:\s?(?P<scale>[kKmM]|bn|thousand|million"
        rf"|billion)\b)?(?:\s?/\s?(?P<per>{_PER})\b(?:\.(?=\s[a-z]))?)?",
        _money,
    ),
    rule(r"\b([Aa]n? \d[\d,]*) dollars (?=[a-z])(?!(?:and|per|for|to|or|a|an|off)\b)", r"\1 dollar "),
    rule(rf"\b({_AMOUNT})\s?(?:USD|US dollars)\b", r"\1 dollars"),
    rule(rf"\b({_AMOUNT})\s?(?:EUR|€)(?!\w)", r"\1 euros"),
    rule(
        r"(?<![\w.,])(?!(?:4|8|401)[kK])(\d{1,3}|\d+\.\d)[kK](?=\s(?!run|race|walk)[a-z]|[.,;!?]|$)",
        r"\1 thousand",
    ),
)
_RANGES: Final = (
    rule(
        r"(?<=[\dMm.%])(?<!\s\.)\s?[–—]\s?(?=\d)|(?<=\d)(?<![A-Za-z]\d)(?<![A-Za-z]\d\d)-(?=\d)|(?<=[ap]m)\s?-\s?(?=\d)"
        r"|(?<=%)\s?-\s?(?=\d)"
        r"|(?<=[AP]M)\s?-\s?(?=\d)"
        r"|(?<=[apAP]\.[mM]\.)\s?-\s?(?=\d)|(?<=:\d\d)\s-\s(?=\d)|(?<=\d(?:st|nd|rd|th))\s?[-–—]\s?(?=\d)",
        " to ",
    ),
)
_CLOCKS: Final = (
    rule(
        r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d{2})(?![\d:])(?:\s?(?P<half>[aApP]\.?[mM]\b\.?))?", _clock
    ),
    rule(r"\b(?P<hour>1[0-2]|[1-9])\s?(?P<half>[aApP]\.?[mM]\b\.?)", _hour),
    rule(
        r"\b(\d{1,2})\s?h\s?(\d{1,2})\s?m(?:in)?\b",
        lambda m: f"{_plural(m[1], 'hour')} {_plural(m[2], 'minute')}",
    ),
    rule(r"\b(1[0-9]|20)([1-9])0s\b", lambda m: f"{m[1]} {_DECADES[int(m[2])]}"),
)
_UNIT_RULES: Final = (
    rule(r"(?<!\d)(\d)['′]\s?(\d{1,2})(?:[\"″]|'')", lambda m: f"{_plural(m[1], 'foot')} {m[2]}"),
    rule(rf"(?<![\w.,/])\d[\d.,]*(?:\s?[x×]\s?\d[\d.,]*)+(?=\s?(?:{_UNIT})(?!\w))|\b\d+x\d+\b", _times),
    rule(r"(?<=\bft )(\d{1,2}) in\b|(?<=\bfeet )(\d{1,2}) in\b", lambda m: _plural(m[1] or m[2], "inch")),
    rule(
        r"(?<![\w.,])(\d+) W\.?(?=\s(?:\d+(?:st|nd|rd|th)|[A-Z][a-z]+)\s(?:St|Ave|Blvd|Rd|Dr|Ln)\w*)",
        r"\1 West",
    ),
    rule(
        rf"(?<![\w.,])({_AMOUNT})[\s-]?({_UNIT})(?:\s?/\s?(?=\d))",
        lambda m: f"{_plural(m[1], _UNITS[m[2]])} per ",
    ),
    rule(
        rf"(?<![\w.,])({_AMOUNT})[\s-]?({_UNIT})(?![\w²³/])(?:\.(?=\s[a-z]))?",
        lambda m: _plural(m[1], _UNITS[m[2]]),
    ),
    rule(r"(?<=\d)\s?/\s?(month|week|day|night|hour|year|person)\b", r" per \1"),
    rule(r"(?<=[\w)])²|(?<=\w)\^2\b", " squared"),
    rule(r"(?<=[\w)])³|(?<=\w)\^3\b", " cubed"),
    rule(r"\b[vV](?=\d+\.\d)", "version "),
)
_WORDS: Final = (
    rule(r"(?:\b[Nn]os?\.\s?|#\s?)(?=\d)", "number "),
    rule(r"\b[Pp]p\.\s?(?=\d)", "pages "),
    rule(r"\b[Pp]\.\s?(?=\d)", "page "),
    rule(r"\b[Cc]h\.\s?(?=\d)", "chapter "),
    rule(r"\bPh\.D(?:\.(?=\s*$)|\.?)", "PhD"),
    rule(r"(?<!\w)w/o\b", "without"),
    rule(r"(?<!\w)w/(?=\s?\w)\s?", "with "),
    rule(r"\be\.g\.,?", "for example"),
    rule(r"\bi\.e\.,?", "that is"),
    rule(r"\bSt\.(?=\s+[A-Z])(?<![a-z] St\.)", "Saint"),
    rule(r"(?<=[a-z] )St\.(?=\s+[A-Z][a-z]+'s)", "Saint"),
    rule(r"(?<=[a-z] )St(?:\.|\b)(?=[\s,.]|$)", "Street"),
    rule(r"(?<=[a-z] )(Ave|Blvd|Rd)\b(?!\.)(?=[\s,]|$)", lambda m: _ABBREVIATIONS[m[1]]),
    rule(rf"\b({'|'.join(_ABBREVIATIONS)})\.(?!\w)", _abbreviation),
    rule(r"\b(?:[A-Z]\.){2,}(?!\w)", _initials),
    rule(r"\b([A-Z])\.(?=\s[A-Z])", r"\1"),
    rule(r"\b\w+(?:(?:/| / )\w+)+\b", _slash),
    rule(r"<=", " at most "),
    rule(r">=", " at least "),
    rule(r"[-=]+>", " to "),
    rule(r"(?<=\d)\s?<\s?(?=\d)|<\s?(?=\d)", " less than "),
    rule(r"(?<=\d)\s?>\s?(?=\d)|>\s?(?=\d)", " more than "),
    rule("[" + "".join(_SYMBOLS) + "]", lambda m: _SYMBOLS[m.group()]),
)
