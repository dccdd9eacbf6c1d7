"""A worker's error message without what it quotes of the request: that is what callers said. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

LEFT_OUT: Final = "[...]"

_RUN: Final = 3
"""So many words of the request in a row are a quotation."""

_DIGITS: Final = 3
"""So is a number of so many digits, and whatever is written in quotation marks."""

_WORD: Final = re.compile(r"\w+")
# an apostrophe inside a word begins none, and the last one may have been cut
_QUOTED: Final = re.compile(r"(?<!\w)(['\"`])((?:\\.|(?!\1).)+)(?:\1|\Z)|“([^”]+)”", re.DOTALL)


def without_quotes(message: str, sent: Iterable[str]) -> str:
    """`message` on one line, with [...] for each word or run of words that it has from the texts `sent`."""
    runs: set[tuple[str, ...]] = set()
    words: set[str] = set()
    for text in sent:
        found = [match.group().casefold() for match in _WORD.finditer(text)]
        words.update(found)
        runs.update(zip(*(found[at:] for at in range(_RUN)), strict=False))
    gaps = _merged([*_numbers(message, words), *_in_marks(message, words), *_runs(message, runs)])
    for start, end in reversed(gaps):
        message = message[:start] + LEFT_OUT + message[end:]
    return " ".join(message.split())


def texts_of(body: Mapping[str, Any]) -> Iterator[str]:
    """What people and prompts say in a request's JSON; names of models and the like are no such thing."""
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, Mapping):
            if isinstance(message.get("content"), str):
                yield message["content"]
            yield from _arguments(message.get("tool_calls"))
    for name in ("input", "prompt"):
        if isinstance(body.get(name), str):
            yield body[name]


def _arguments(calls: object) -> Iterator[str]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        written = function.get("arguments") if isinstance(function, Mapping) else None
        if isinstance(written, str):
            yield from as_quoted(written)


def as_quoted(arguments: str) -> Iterator[str]:
    """The arguments of a tool call as they were written, and as they read without their escapes."""
    yield arguments
    with suppress(ValueError, RecursionError):
        yield json.dumps(json.loads(arguments), ensure_ascii=False)


def _numbers(message: str, words: set[str]) -> Iterator[tuple[int, int]]:
    for found in _WORD.finditer(message):
        digits = sum(char.isdigit() for char in found.group())
        if digits >= _DIGITS and found.group().casefold() in words:
            yield found.span()


def _in_marks(message: str, words: set[str]) -> Iterator[tuple[int, int]]:
    for found in _QUOTED.finditer(message):
        inside = [word.group().casefold() for word in _WORD.finditer(found[2] or found[3])]
        if inside and words.issuperset(inside):
            yield found.span()


def _runs(message: str, runs: set[tuple[str, ...]]) -> Iterator[tuple[int, int]]:
    found = list(_WORD.finditer(message))
    for at in range(len(found) - _RUN + 1):
        part = found[at : at + _RUN]
        if tuple(word.group().casefold() for word in part) in runs:
            yield part[0].start(), part[-1].end()


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
