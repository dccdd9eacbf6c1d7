"""English: prices, times, numbers and abbreviations as words, where the voice would read them wrong.

What espeak (Piper's front end) reads right stays as it is: years, ordinals, decimals,
10,000 and 50%. Measured wrong and
so rewritten: "$19" ("dollar nineteen"), "9:00" ("nine zero zero"), "9-6" ("nine dash six"),
"5 km" ("five kay em"),
"Dr. Smith" and "No. 5" (a full stop in the middle), "and/or" ("slash").
"""

import re
from collections.abc import Callable
from typing import Final

_MONEY: Final = {
    "$": ("dollar", "cent"),
    "€": ("euro", "cent"),
    "£": ("pound", "pence"),
    "₹": ("rupee", "paisa"),
    "¥": ("yen", ""),
}
_AMOUNT: Final = r"\d+(?:,\d{3})*(?:\.\d+)?"
_SCALE: Final = {"k": "thousand", "m": "million", "bn": "billion"}
_PER: Final = r"(?:month|week|day|night|hour|year|person|item|piece|mo|yr|hr)"
_PER_WORD: Final = {"mo": "month", "yr": "year", "hr": "hour"}

_DAYS: Final = {
    "mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "thu": "Thursday",
    "thur": "Thursday",
    "thurs": "Thursday", "fri": "Friday", "sat": "Saturday", "sun": "Sunday",
}  # fmt: skip
_DAY: Final = r"(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November",
    "December",
)  # fmt: skip
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
    "min": "minute", "mins": "minute", "hr": "hour", "hrs": "hour", "sec": "second", "secs": "second",
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
_FRACTIONS: Final = {
    "½": "half", "¼": "quarter", "¾": "three quarters", "⅓": "third", "⅔": "two thirds", "1/2": "half",
    "1/4": "quarter",
    "3/4": "three quarters", "1/3": "third", "2/3": "two thirds",
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


def in_words(text: str) -> str:
    """`text` with everything rewritten that an English voice reads wrong."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def _plural(amount: str, noun: str) -> str:
    """ "1 dollar", "2 dollars", "5 feet", "5 miles per hour", "2 degrees Celsius"."""
    if amount == "1":
        return f"{amount} {noun}"
    head, *rest = noun.split(" ")
    if head == "square":
        return f"{amount} square {_plural('2', rest[0]).split(' ', 1)[1]}"
    if head == "kilowatt" and rest:
        return f"{amount} kilowatt hours"
    many = {"foot": "feet", "yen": "yen", "pence": "pence", "paisa": "paise"}.get(head, head + "s")
    return " ".join([amount, many, *rest])


def _money(found: re.Match[str]) -> str:
    major, minor = _MONEY[found["sign"]]
    amount, scale = found["amount"], found["scale"]
    low = found["low"]
    before = ("minus " if found["minus"] else "") + (f"{low} to " if low else "")
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


def digit_by_digit(found: re.Match[str]) -> str:
    """Digit by digit, a comma where the writer had a mark, so that the voice breathes there."""
    groups = re.findall(r"\d+", found.group())
    plus = "plus " if found.group().startswith("+") else ""
    return plus + ", ".join(" ".join(group) for group in groups)


def _iso_date(found: re.Match[str]) -> str:
    month = int(found[2])
    return f"{_MONTHS[month - 1]} {int(found[3])}, {found[1]}" if 1 <= month <= 12 else found.group()


def _month(short: str) -> str:
    return next(name for name in _MONTHS if name.startswith(short[:3]))


def _day(short: str) -> str:
    return _DAYS[short.lower()]


def _fraction(found: re.Match[str]) -> str:
    words = _FRACTIONS[found["part"]]
    if not found["whole"]:
        return words if " " in words else f"one {words}"
    return f"{found['whole']} and {words if ' ' in words else 'a ' + words}"


def _abbreviation(found: re.Match[str]) -> str:
    end = "." if not found.string[found.end() :].strip() else ""
    return _ABBREVIATIONS[found[1]] + end


def _initials(found: re.Match[str]) -> str:
    end = "." if not found.string[found.end() :].strip() else ""
    return " ".join(found.group().replace(".", "")) + end


def _slash(found: re.Match[str]) -> str:
    left, right = found[1], found[2]
    if (
        left.isalpha()
        and right.isalpha()
        and min(len(left), len(right)) > 1
        and "and" not in (left.lower(), right.lower())
    ):
        return f"{left} or {right}"
    return f"{left} {right}"


_Replacement = str | Callable[[re.Match[str]], str]


def _rule(pattern: str, replacement: _Replacement) -> tuple[re.Pattern[str], _Replacement]:
    return re.compile(pattern), replacement


# Order matters: what looks like a range (a phone number, a date) goes before ranges,
# ranges before money and times.
_RULES: Final = (
    _rule(r"\b(\d{4})-(\d{2})-(\d{2})\b", _iso_date),
    _rule(r"(?<![\w.,$€£])\+\d[\d\s().-]{6,}\d\b", digit_by_digit),
    _rule(r"(?<![\w.,$€£-])(?:1[-. ])?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}\b(?!-\d)", digit_by_digit),
    _rule(r"(?<![\w.,$€£-])\d{3}-\d{4}\b(?!-\d)", digit_by_digit),
    _rule(r"(?<![\w.,$€£])0\d{2,}(?: \d{3,})+\b", digit_by_digit),
    _rule(r"(?<![\w.,$€£])(?:0\d{2,}|\d{7,})\b(?![.,]\d)", digit_by_digit),
    _rule(rf"\b({_DAY})\.?\s?[-–—]\s?({_DAY})\b\.?(?=\W|$)", lambda m: f"{_day(m[1])} to {_day(m[2])}"),
    _rule(r"\b(Mon|Tues?|Wed|Thu(?:rs?)?|Fri)\b\.?(?=[\s,:;)]|$)", lambda m: _day(m[1])),
    _rule(r"\b(Sat|Sun)\.?(?=:?\s\d|:\s)", lambda m: _day(m[1])),
    _rule(rf"\b{_MONTH}\.?(?=\s\d)", lambda m: _month(m[1])),
    _rule(rf"(?<=\d\s){_MONTH}\b\.?", lambda m: _month(m[1])),
    _rule(
        rf"(?P<minus>(?<![\w\d])-)?(?:US|CA"
        rf"|AU)?(?P<sign>[$€£¥₹])\s?(?:(?P<low>{_AMOUNT})\s?[-–—]\s?(?:(?P=sign))?)?"
        rf"(?P<amount>{_AMOUNT})(?:\s?(?P<scale>[kKmM]|bn|thousand|million"
        rf"|billion)\b)?(?:\s?/\s?(?P<per>{_PER})\b)?",
        _money,
    ),
    _rule(r"\b([Aa]n? \d[\d,]*) dollars (?=[a-z])(?!(?:and|per|for|to|or|a|an|off)\b)", r"\1 dollar "),
    _rule(rf"\b({_AMOUNT})\s?(?:USD|US dollars)\b", r"\1 dollars"),
    _rule(rf"\b({_AMOUNT})\s?(?:EUR|€)(?!\w)", r"\1 euros"),
    _rule(
        r"(?<=[\dMm.%])(?<!\s\.)\s?[–—]\s?(?=\d)|(?<=\d)-(?=\d)|(?<=[ap]m)\s?-\s?(?=\d)"
        r"|(?<=[AP]M)\s?-\s?(?=\d)"
        r"|(?<=[apAP]\.[mM]\.)\s?-\s?(?=\d)|(?<=:\d\d)\s-\s(?=\d)|(?<=\d(?:st|nd|rd|th))-(?=\d)",
        " to ",
    ),
    _rule(
        r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d{2})(?![\d:])(?:\s?(?P<half>[aApP]\.?[mM]\b\.?))?", _clock
    ),
    _rule(r"\b(?P<hour>1[0-2]|[1-9])\s?(?P<half>[aApP]\.?[mM]\b\.?)", _hour),
    _rule(r"(?:(?<![\d/])(?P<whole>\d+) ?)?(?P<part>[½¼¾⅓⅔])", _fraction),
    _rule(r"(?<![\d/])(?:(?P<whole>\d+) )?(?P<part>1/2|1/4|3/4|1/3|2/3)(?![\d/])", _fraction),
    _rule(r"\b(1[0-9]|20)([1-9])0s\b", lambda m: f"{m[1]} {_DECADES[int(m[2])]}"),
    _rule(rf"(?<![\w.,])({_AMOUNT})[\s-]?({_UNIT})(?![\w²³/])", lambda m: _plural(m[1], _UNITS[m[2]])),
    _rule(r"(?<=\d)\s?/\s?(month|week|day|night|hour|year|person)\b", r" per \1"),
    _rule(r"(?:\b[Nn]os?\.\s?|#\s?)(?=\d)", "number "),
    _rule(r"\be\.g\.,?", "for example"),
    _rule(r"\bi\.e\.,?", "that is"),
    _rule(r"\bSt\.(?=\s+[A-Z])(?<![a-z] St\.)", "Saint"),
    _rule(r"(?<=[a-z] )St\.(?=\s+[A-Z][a-z]+'s)", "Saint"),
    _rule(r"(?<=[a-z] )St(?:\.|\b)(?=[\s,.]|$)", "Street"),
    _rule(rf"\b({'|'.join(_ABBREVIATIONS)})\.(?!\w)", _abbreviation),
    _rule(r"\b(?:[A-Z]\.){2,}(?!\w)", _initials),
    _rule(r"\b([A-Z])\.(?=\s[A-Z])", r"\1"),
    _rule(r"\b(\w+)\s?/\s?(\w+)\b", _slash),
    _rule(r"(?<=\d)\s?<\s?(?=\d)|<\s?(?=\d)", " less than "),
    _rule(r"(?<=\d)\s?>\s?(?=\d)|>\s?(?=\d)", " more than "),
    _rule("[" + "".join(_SYMBOLS) + "]", lambda m: _SYMBOLS[m.group()]),
)
