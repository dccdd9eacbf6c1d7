"""What a language model writes, as a voice can say it.

Order: `sentences` first, then this. A whole chunk shows where a price, a link or an abbreviation ends, so nothing here
has to guess what the next token brings. What outlives a chunk (a code block, a model's hidden reasoning) is the state
of `Speakable`. Only `spoken_characters` works before the split: it looks at single characters.

Pure: no clock, no I/O. A language that neither `speakable_en` nor `speakable_locale` knows gets the markup rules only.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from stasis_app import speakable_en
from stasis_app.local_texts import ADDRESS_MARKS
from stasis_app.pronunciations import NONE, Pronunciations
from stasis_app.short_words import language_code
from stasis_app.speakable_locale import words_of
from stasis_app.stops import Stops, stops

_KEPT_SYMBOLS: Final = frozenset("°№℃℉™®©+=<>|~^`$€£¥₹₩₽¢×÷±≤≥≈→½")
_NEVER_SPOKEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_JOINERS: Final = re.compile("[\ufe00-\ufe0f\u20e3]")
_SPACES: Final = re.compile(r"[^\S\n]+")

_FENCE: Final = re.compile(r"```|~~~")
_THINK: Final = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_TAG: Final = re.compile(r"<(?:[/!?]?[A-Za-z][^<>\n]*)>")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^()\s]*(?:\s[^()]*)?\)|\[[^\[\]\n]*\])")
_LINK_TAIL: Final = re.compile(r"\]\([^()\s]*\)?")
_AUTOLINK: Final = re.compile(r"<((?:https?://|mailto:)[^<>\s]+|[^<>\s@]+@[^<>\s@]+)>")
_RULE_LINE: Final = re.compile(r"[\s|:*_=+-]*$")
_LINE_MARK: Final = re.compile(r"\s*(?:>\s?)*(?:#{1,6}\s+|[-*+•‣◦▪]\s+(?:\[[ xX]\]\s+)?)?")
_NUMBERED: Final = re.compile(r"(\d{1,2})[.)]\s+(?=\S)")
_STARS: Final = re.compile(r"(?<=\d)\s*\*\s*(?=-?\d)")
_EMPHASIS: Final = re.compile(r"\*+|~~|`+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")

_EMAIL: Final = re.compile(r"(?:mailto:)?\b([\w.+-]+)@([\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_URL: Final = re.compile(
    r"\b(?:https?://|www\.)[^\s<>()\[\]\"']+"
    r"|\b(?:[a-z0-9-]+\.)+(?:com|org|net|io|edu|gov|info|biz|shop|store|app|dev|co\.uk|ca|de|fr|eu"
    r"|us)\b(?:/[^\s<>()\[\]\"']*)?",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(f"(?:{_EMAIL.pattern})|(?:{_URL.pattern})", re.IGNORECASE)
_SENTENCE_MARKS: Final = ".,;:!?"
_LONGEST_PATH: Final = 30
_DASHES: Final = {**dict.fromkeys("‐‑‒−﹣－", "-"), "―": "—", "﹘": "—"}
"""U+2010 to U+2012, the minus sign and the small and wide hyphens; the horizontal bar."""
_ORDINAL_SIGNS: Final = re.compile("([ºª])")

_SPOKEN_CATEGORIES: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "No", "Sc"})
_SPOKEN_MARKS: Final = frozenset(" .,;:?!'’‘\"“”«»()-–—…%&+=/°@#。！？，、；：「」『』।॥؟،۔¿¡・～·")


def spoken_characters(text: str) -> str:
    """`text` without what no voice can say; every character is judged alone, so any split of a stream gives the same.

    Control, format (ZWJ, RTL marks, BOM),
    surrogate and private characters vanish; emoji and pictures become a space;
    every other blank is a plain space, every line end a newline, every hyphen and minus sign "-".
    """
    return "".join(_spoken_character(char) for char in text)


def _spoken_character(char: str) -> str:
    if char in "\n\r\u2028\u2029\x0b\x0c\x85":
        return "\n"
    if char.isspace():
        return " "
    if char in _DASHES:
        return _DASHES[char]
    category = unicodedata.category(char)
    if category in _NEVER_SPOKEN or _JOINERS.match(char):
        return ""
    if category in {"So", "Sk", "Sm"} and char not in _KEPT_SYMBOLS:
        return " "
    return char


class Speakable:
    """Turns the chunks of one answer into what the voice is given, in order.

    `feed` returns "" for a chunk with nothing to say: code, a table's ruler, a lone emoji.
    """

    def __init__(self, language: str | None = "en", pronounced: Pronunciations = NONE) -> None:
        code = language_code(language) or "en"
        self._pronounced = pronounced
        self._in_words = speakable_en.words_of(language) if code == "en" else words_of(language or "")
        self._stops = stops(language)
        self._address_marks = ADDRESS_MARKS.get(code, ADDRESS_MARKS["en"])
        self._in_code = False
        self._in_thought = False

    def feed(self, chunk: str) -> str:
        text = self._without(_THINK, spoken_characters(chunk))
        text = self._without(_FENCE, text)
        text = _AUTOLINK.sub(r" \1 ", text)
        text = _TAG.sub(" ", text)
        text = _LINK.sub(r"\1", text)
        text = _LINK_TAIL.sub(" ", text)
        text = " ".join(plain for line in text.split("\n") if (plain := _plain_line(line, self._stops)))
        text = self._addresses_in_words(text)
        if self._in_words:
            text = self._in_words(text)
        return _tidy(_composed(text))

    def _addresses_in_words(self, text: str) -> str:
        """Mail and web addresses as they are read out, and all words as the profile says them, each once."""
        said, at = [], 0
        for found in _ADDRESS.finditer(text):
            address = found.group()
            body = address.rstrip(_SENTENCE_MARKS)
            own = self._pronounced.of(body)
            in_words = _URL.sub(self._url_words, _EMAIL.sub(self._email_words, address))
            said += [
                self._pronounced.said(text[at : found.start()]),
                self._pronounced.said(in_words) if own is None else own + address[len(body) :],
            ]
            at = found.end()
        return "".join([*said, self._pronounced.said(text[at:])])

    def _email_words(self, found: re.Match[str]) -> str:
        return (
            f" {self._marks_in_words(found[1])} {self._address_marks['@']} {self._marks_in_words(found[2])} "
        )

    def _url_words(self, found: re.Match[str]) -> str:
        url = found.group()
        body = url.rstrip(_SENTENCE_MARKS)
        tail = url[len(body) :]
        body = re.sub(r"^(?:https?://)?(?:www\.)?", "", body, flags=re.IGNORECASE)
        host, _, path = re.split(r"[?#]", body, maxsplit=1)[0].partition("/")
        path = path.strip("/")
        spoken = (
            host if not path or len(path) > _LONGEST_PATH or re.search(r"\d{3}|%", path) else f"{host}/{path}"
        )
        return f" {self._marks_in_words(spoken)}{tail} "

    def _marks_in_words(self, text: str) -> str:
        marks = self._address_marks
        return "".join(f" {marks[char]} " if char in marks else char for char in text).strip()

    def _without(self, marker: re.Pattern[str], text: str) -> str:
        """`text` outside of what `marker` opens and closes, which may have been opened by an earlier chunk."""
        kept, at = [], 0
        for found in marker.finditer(text):
            if not self._inside(marker):
                kept.append(text[at : found.start()])
            self._turn(marker, found.group())
            at = found.end()
        if not self._inside(marker):
            kept.append(text[at:])
        return " ".join(kept)

    def _inside(self, marker: re.Pattern[str]) -> bool:
        return self._in_thought if marker is _THINK else self._in_code

    def _turn(self, marker: re.Pattern[str], found: str) -> None:
        if marker is _THINK:
            self._in_thought = not found.startswith("</")
        else:
            self._in_code = not self._in_code


def speakable(text: str, language: str | None = "en", pronounced: Pronunciations = NONE) -> str:
    """One text that stands alone, e.g. a greeting of the profile."""
    return Speakable(language, pronounced).feed(text)


def _composed(text: str) -> str:
    """NFKC, but for the signs that make an ordinal in Spanish, Portuguese and Italian: "2.º" is no "2 o"."""
    return "".join(
        part if part in ("º", "ª") else unicodedata.normalize("NFKC", part)
        for part in _ORDINAL_SIGNS.split(text)
    )


def _plain_line(line: str, stops: Stops) -> str:
    """One line of markdown without its marks; it ends like a sentence or clause."""
    if _RULE_LINE.match(line):
        return ""
    found = _LINE_MARK.match(line)
    mark = found.group() if found else ""
    text = line[len(mark) :].strip()
    is_row = text.startswith("|") or text.endswith("|")
    if is_row:
        text = ", ".join(cell.strip() for cell in text.strip("|").split("|") if cell.strip())
    numbered = _NUMBERED.match(text)
    if numbered and not stops.is_ordinal(numbered.group().rstrip(), text[numbered.end() :]):
        text = f"{numbered[1]}, {text[numbered.end() :]}"
    text = _EMPHASIS.sub("", _STARS.sub(" × ", text)).strip()
    if (mark.strip() or is_row) and text and (text[-1].isalnum() or text[-1] == ")"):
        text += "."
    return text


def _spoken_or_blank(char: str) -> str:
    if unicodedata.category(char) in _SPOKEN_CATEGORIES or char in _SPOKEN_MARKS:
        return char
    return " "


_TIDY: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"\(\s*\)"), " "),
    (re.compile(r"\s+(?=[,.;:?!…)])"), ""),
    (re.compile(r"([,;:])(?:\s*[,;:])+"), r"\1"),
    (re.compile(r"[,;:]+(?=[.?!])"), ""),
    (re.compile(r"\.\.+"), "…"),
    (re.compile(r"([!?])[!?]*"), r"\1"),
    (re.compile(r"^(?:[\s,.;:…)–—]|-(?!\d))+"), ""),
    (re.compile(r"\s+[-–—]+$"), ","),
    (re.compile(r"\s+"), " "),
)


def _tidy(text: str) -> str:
    text = "".join(map(_spoken_or_blank, text))
    for pattern, replacement in _TIDY:
        text = pattern.sub(replacement, text)
    text = text.strip()
    return text if any(char.isalnum() for char in text) else ""
