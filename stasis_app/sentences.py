"""A stream of tokens, cut into chunks that a voice can say one by one.

The first chunk closes early, at a clause,
so that sound starts early; later chunks are whole sentences. Every decision
depends on the characters so far and nothing else,
so the same text gives the same chunks however it was split into
tokens. The exceptions are `close_sentence`, `close_first`, `close_phrase` and `close_opener`, which the caller's timer
asks for.

What a full stop means is decided one character after the space behind it ("$29." or "$29. Next"), and one word after it
where the word before is an abbreviation that can also end a sentence ("at 9 p.m. Please", "at 9 p.m. Monday").

Pure: no clock, no I/O.
"""

import re
import unicodedata
from typing import Final

from stasis_app import sentence_words as words
from stasis_app.full_stops import (
    CLOSERS,
    FINALS,
    QUOTES_AND_BRACKETS,
    WIDE_FINALS,
    full_stop_ends,
    sounds_ended,
)
from stasis_app.speakable import spoken_characters
from stasis_app.stops import Stops, stops
from stasis_app.wide_letters import is_wide, weight

_ENDS: Final = frozenset(FINALS + WIDE_FINALS + ".…")
_WIDE_CLAUSES: Final = "，、；：،"
_CLAUSES: Final = ",;:—–"
_OPENER: Final = re.compile(r"(\w[\w’' ]*),\s?\S*$")
_LIST_MARK: Final = re.compile(r"[\s*_#>|+•‣⁃◦-]*(?:(\d{1,2})(?:\.\)|[.)])|[a-z]\))?[\s*_`~|+-]*$")

_MIN_WORDS: Final = 3


class SentenceChunker:
    """`feed` tokens, get chunks; `finish` gives the rest. One chunker per answer.

    A chunk closes early at a clause while fewer than `first_chars` characters are out; then it is at least that long
    itself and at most `first_max_chars`. No chunk is longer than `max_chars`. Chunks keep all that was written, markup
    too, but for characters that cannot be spoken and blanks at their ends.
    """

    def __init__(
        self,
        *,
        first_chars: int = 25,
        first_max_chars: int = 80,
        max_chars: int = 200,
        language: str | None = None,
    ) -> None:
        if not 0 < first_chars <= first_max_chars <= max_chars:
            raise ValueError("0 < first_chars <= first_max_chars <= max_chars must hold")
        self._first_chars = first_chars
        self._first_max_chars = first_max_chars
        self._max_chars = max_chars
        self._stops = stops(language)
        self._open = ""
        self._said = 0
        self._list_number = 0
        self._whole = False  # a sentence is out
        self._undecided: tuple[int, int] | None = (
            None  # end of a possible sentence, start of the word behind it
        )

    def feed(self, delta: str) -> list[str]:
        chunks: list[str] = []
        for char in spoken_characters(delta):
            self._take(char, chunks)
        return chunks

    def finish(self, *, cut_off: bool = False) -> list[str]:
        """`cut_off`: the text stops in the middle; what is open is left out, unless it is all there is."""
        if cut_off and not sounds_ended(self._open.rstrip(), self._stops):
            end = self._undecided[0] if self._undecided else 0
            if end or self._whole:
                self._open, self._undecided = self._open[:end], None
        chunks = self.feed("\n")
        rest, self._open = self._open.strip(), ""
        return [*chunks, rest] if rest else chunks

    def close_sentence(self) -> list[str]:
        """The open chunk if it looks like a whole sentence, since what would show that it is one is late."""
        text = self._open.rstrip()
        chunks: list[str] = []
        if not self._is_list_mark(len(text)) and not _in_link(text) and sounds_ended(text, self._stops):
            self._cut(len(text), chunks)
        return chunks

    def close_first(self) -> list[str]:
        """What can be said of an open first chunk now, since waiting any longer would be heard; often nothing."""
        if not self._early or _in_link(self._open):
            return []
        if _words(self._open) <= _MIN_WORDS:
            return self.close_sentence()
        cut = _soft_break(self._open, len(self._open.rstrip()), 1, self._stops)
        chunks: list[str] = []
        if _words(self._open[:cut]) >= _MIN_WORDS:
            self._cut(cut, chunks)
        return chunks

    def close_phrase(self) -> list[str]:
        """What stands before the newest phrase of an open first chunk: a voice may pause there; often nothing."""
        chunks: list[str] = []
        if self._early and not _in_link(self._open):
            for blank in reversed([match.start() for match in re.finditer(r"\s(?=\S+\s)", self._open)]):
                opening = self._open[blank:].split(maxsplit=1)[0].lower()
                before = self._open[:blank]
                if opening in words.OPENING and _words(before) >= _MIN_WORDS and _takes_a_breath(before):
                    self._cut(blank, chunks)
                    break
        return chunks

    def close_opener(self) -> list[str]:
        """The "Yes," of an answer that has got no further: a voice may pause behind it; often nothing."""
        found = _OPENER.match(self._open)
        chunks: list[str] = []
        if found and not self._said and found[1].lower().replace("’", "'") in words.OPENERS:
            self._cut(found.end(1) + 1, chunks)
            self._said = 0  # what follows is still to begin early
        return chunks

    @property
    def opening(self) -> bool:
        """Whether so little is out that what is open should be cut as early as it can."""
        return self._early

    @property
    def _early(self) -> bool:
        return self._said < self._first_chars

    def _take(self, char: str, chunks: list[str]) -> None:
        if char.isspace() and (not self._open or self._open[-1].isspace()):
            if not self._open or char != "\n":
                return
            self._open = self._open[:-1]
        self._open += char
        cut = self._sentence_end(char) or self._early_end(char) or self._length_end(char)
        if cut:
            self._cut(cut, chunks)

    def _cut(self, cut: int, chunks: list[str]) -> None:
        chunk, rest = self._open[:cut].strip(), self._open[cut:]
        self._open, self._undecided = "", None
        self._said += weight(chunk)
        self._whole = self._whole or chunk.rstrip(CLOSERS)[-1:] in _ENDS
        chunks.append(chunk)
        for char in rest:
            self._take(char, chunks)

    def _sentence_end(self, char: str) -> int:
        """Where the sentence ended that `char`, the newest character, shows to have ended; 0: nowhere."""
        text, last = self._open, len(self._open) - 1
        if self._undecided and not (char.isalnum() or char in "'’-."):
            end, word_start = self._undecided
            self._undecided = None
            if self._ends(end, text[word_start:last]):
                return end
        if char == "\n":
            return 0 if self._is_list_mark(last) else last
        if char.isspace():
            return last if text[last - 1] in FINALS else 0
        if text[last - 1 : last].isspace():
            return self._after_space(last)
        body = text[:last].rstrip(CLOSERS)
        return last if body and body[-1] in WIDE_FINALS and char not in CLOSERS + WIDE_FINALS + FINALS else 0

    def _after_space(self, last: int) -> int:
        end = last - 1
        mark = self._open[:end].rstrip(CLOSERS)[-1:]
        if mark in set(FINALS + WIDE_FINALS):
            return 0 if self._open[last].islower() else end
        if mark not in {".", "…"}:
            return 0
        ends = self._ends(end, self._open[last], word_is_whole=False)
        if ends is None:
            self._undecided = (end, last)
        return end if ends else 0

    def _ends(self, end: int, after: str, *, word_is_whole: bool = True) -> bool | None:
        if self._is_list_mark(end):
            return False
        before = self._open[:end].rstrip(CLOSERS)
        quoted = not set(QUOTES_AND_BRACKETS).isdisjoint(self._open[len(before) : end])
        if quoted and after[:1].islower():
            return False  # the sentence around it goes on: "We are closed." she said.
        return full_stop_ends(before, after, word_is_whole=word_is_whole, stops=self._stops)

    def _is_list_mark(self, end: int) -> bool:
        """Whether the line up to `end` is nothing but "1." or "-", or goes on counting: "1. red 2. blue"."""
        line = self._open[:end].rsplit("\n", 1)[-1]
        found = _LIST_MARK.match(line)
        if found:
            self._list_number = int(found[1] or self._list_number)
            return True
        inline = re.search(r"(?:^|\s)(\d{1,2})(?:\.\)|[.)])$", line)
        if not inline:
            return False
        before = line[: inline.start()].rstrip()
        counts_on = self._list_number > 0 and int(inline[1]) == self._list_number + 1
        if counts_on or before.endswith(":"):
            self._list_number = int(inline[1])
            return True
        return False

    def _early_end(self, char: str) -> int:
        if not self._early or len(self._open) < 2 or _in_link(self._open):
            return 0
        cut = _clause_end(self._open, char, self._first_chars)
        return cut if cut and _words(self._open[:cut]) >= _MIN_WORDS else 0

    def _length_end(self, char: str) -> int:
        limit = self._first_max_chars if self._early else self._max_chars
        if char.isspace() or len(self._open) <= limit:
            return 0
        least = min(self._first_chars, limit) if self._early else limit // 2
        return _soft_break(self._open, limit, least, self._stops)


def _clause_end(text: str, char: str, first_chars: int) -> int:
    """Where a clause of `first_chars` or more ends, as `char`, the newest character, shows; 0: nowhere."""
    last = len(text) - 1
    if char.isspace():
        word = text[:last].rsplit(maxsplit=1)[-1].lower()
        start = last - len(word)
        enough = (
            first_chars if word in words.JOINING else first_chars * 8 // 5 if word in {"and", "or"} else 0
        )
        return start if enough and weight(text[:start].rstrip()) >= enough else 0
    before = text[:last].rstrip()
    if weight(before) < first_chars:
        return 0
    if before[-1] in _WIDE_CLAUSES and char not in CLOSERS:
        return len(before)
    if len(before) == last:
        return last if before[-1] == "—" and char.isalpha() else 0
    closed = before.rstrip(CLOSERS)
    if closed[-1:] in set(_CLAUSES) or before.endswith(" -"):
        return 0 if char.isdigit() else len(before)
    return 0


def _soft_break(text: str, limit: int, least: int, stops: Stops) -> int:
    """The best place to cut `text` at or before `limit`: a clause, a joining word, a blank, else `limit` itself."""
    blanks = [at for at in range(limit, 0, -1) if text[at : at + 1].isspace() and text[at - 1] not in "$€£#"]
    blanks = [at for at in blanks if not _in_range(text, at)] or blanks
    for at in blanks:
        if at >= least and text[at - 1] in _CLAUSES + FINALS + ".…" and not text[at + 1 : at + 2].isdigit():
            word = text[:at].rsplit(maxsplit=1)[-1].lower().rstrip(".")
            short = word in words.TITLES | words.TITLES_OR_STREETS | words.BEFORE_NUMBER
            if not short and len(word) > 1 and not stops.ends_nothing(word, before_number=True):
                return at
    for at in blanks:
        if (
            at >= least
            and re.match(r"\s\w+\s", text[at:])
            and text[at + 1 :].split(maxsplit=1)[0] in words.JOINING | words.LATE_JOINING
        ):
            return at
    for at in range(limit, least, -1):
        if text[at - 1] in _WIDE_CLAUSES + WIDE_FINALS:
            return at
    if blanks:
        return next((at for at in blanks if at >= least and _takes_a_breath(text[:at])), blanks[0])
    cut = limit
    while cut > 1 and unicodedata.category(text[cut : cut + 1] or "x").startswith("M"):
        cut -= 1
    return cut


def _in_range(text: str, at: int) -> bool:
    """Whether the blank stands beside the dash of "9 AM – 6 PM", which is no dash between clauses."""
    return bool(
        re.match(r"\s[-–—](?:\s?\d|\s?$)", text[at:])
        or (re.search(r"\s[-–—]$", text[:at]) and re.match(r"\s\d", text[at:]))
    )


def _takes_a_breath(before: str) -> bool:
    return not before[-1].isdigit() and before[-1] != "." and before.split()[-1].lower() not in words.CLINGING


def _in_link(text: str) -> bool:
    return text.rfind("[") > text.rfind("]") or text.rfind("](") > text.rfind(")")


def _words(text: str) -> int:
    """How many words; wide characters have no blanks between words and count as one each."""
    return sum(any(char.isalnum() for char in word) for word in text.split()) + sum(map(is_wide, text))
