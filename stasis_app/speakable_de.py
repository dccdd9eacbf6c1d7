"""German ordinals as words: "am 3. Dezember" is read "drei. Dezember" by a voice that takes the full stop for one.

Pure.
"""

import re
from collections.abc import Set as AbstractSet
from typing import Final

_UNITS: Final = (
    "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
)  # fmt: skip
_TENS: Final = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
_IRREGULAR: Final = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}
_WITH_E: Final = frozenset("die das jede jedes diese dieses".split())
_STRONG: Final = frozenset("ein kein mein dein sein ihr unser euer".split())
_WITH_N: Final = frozenset(
    "am im vom zum zur beim dem den des einem einen einer eines jedem jeden bis ab seit nach vor zu mit von".split()
)
_DASH: Final = re.compile(r"\s?[-–]\s?")
_AND: Final = r"(?:,|,? und|,? oder|,? bis(?: zum)?|\s?[-–])"


def with_ordinals(text: str, nouns: AbstractSet[str], masculine: AbstractSet[str]) -> str:
    """`text` with the ordinals before one of `nouns` or `masculine` ones (all in lower case) as words.

    The ending is that which the word before asks for: "der dritte Mai", "am dritten Mai", "Sonntag, dritter Mai"; one
    behind "und" has that of the one before.
    """
    behind = "|".join(sorted(map(re.escape, nouns | masculine), key=len, reverse=True))
    ordinals = re.compile(
        rf"(?<![\d.,])(?P<numbers>\d{{1,2}}\.(?:{_AND}\s*\d{{1,2}}\.)*)\s+(?P<noun>{behind})\b", re.IGNORECASE
    )

    ending = ""

    def said(found: re.Match[str]) -> str:
        nonlocal ending
        before = found.string[: found.start()].lower().split()[-2:]
        if not ending or before[-1:] not in (["und"], ["oder"]):
            ending = _ending(before, masculine=found["noun"].lower() in masculine)
        numbers = re.sub(r"(\d{1,2})\.", lambda m: ordinal(int(m[1])) + ending, found["numbers"])
        return f"{_DASH.sub(' bis ', numbers)} {found['noun']}"

    return ordinals.sub(said, text)


def ordinal(number: int) -> str:
    """Of 0 to 99, without its ending: "dritt", "vierundzwanzigst"."""
    if number in _IRREGULAR:
        return _IRREGULAR[number]
    if number < len(_UNITS):
        return f"{_UNITS[number]}t"
    tens, units = divmod(number, 10)
    return f"{_UNITS[units]}und{_TENS[tens - 2]}st" if units else f"{_TENS[tens - 2]}st"


def _ending(before: list[str], *, masculine: bool) -> str:
    last = before[-1].strip("(\"„“'") if before else ""
    if last == "der":
        # "der 3. Mai", but "in der 3. Etage"
        return "e" if masculine or before[:-1] in ([], ["ist"], ["war"], ["wird"]) else "en"
    if last in _WITH_E:
        return "e"
    day_of_week = last.rstrip(",").endswith(("tag", "mittwoch", "abend"))
    if last in _WITH_N or (day_of_week and before[0] in _WITH_N):
        return "en"
    return "er" if masculine or last in _STRONG else "e"
