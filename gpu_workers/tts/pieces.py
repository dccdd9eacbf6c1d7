"""Text in pieces that take a voice a second at most: an endless sentence would hold up all other callers. Pure."""

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 250
"""Characters: 16 s of speech, which a core makes in about a second."""

_BREAKS: Final = (
    re.compile(r"[.!?…。！？][\"'”’)]*(?=\s|$)|[。！？]"),
    re.compile(r"[,;:，、；：](?=\s|$)|[，、；：]|\s[–—-](?=\s)"),
    re.compile(r"(?=\s)"),
)


def pieces(text: str) -> Iterator[str]:
    """`text` without its outer blanks, in order; cut where a sentence, else a clause, else a word ends."""
    rest = text.strip()
    while len(rest) > LONGEST:
        cut = _cut(rest[:LONGEST])
        yield rest[:cut].rstrip()
        rest = rest[cut:].lstrip()
    if rest:
        yield rest


def _cut(head: str) -> int:
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(head) if found.end()]
        if ends:
            return ends[-1]
    return len(head)
