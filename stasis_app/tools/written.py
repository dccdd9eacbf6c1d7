"""Calls that a model writes into its text instead of making them: small models do. Pure.

What looks like a call is never speech. Whether it may be run is decided where all calls are judged.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_OPENERS: Final = ("<tool_call>", "<function", "[TOOL_CALLS]", "```", "{")
_ARGUMENTS: Final = ("arguments", "parameters")
_MAX_HELD: Final = 8192


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """`arguments` as the model wrote them, not checked; `name` is empty where neither could be made out."""

    name: str
    arguments: str = field(repr=False)


class WrittenCalls:
    """Parts the text of one answer into speech and calls. `names`: the tools there are; without any all is speech."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._waiting = ""  # may be the beginning of an opener
        self._held = ""  # from the first opener on

    def feed(self, delta: str) -> str:
        """What is speech for certain."""
        if not self._names:
            return delta
        if self._held:
            self._held = (self._held + delta)[:_MAX_HELD]
            return ""
        text = self._waiting + delta
        at = min((found for opener in _OPENERS if (found := text.find(opener)) >= 0), default=-1)
        if at >= 0:
            self._held, self._waiting = text[at:], ""
            return text[:at]
        keep = max((size for opener in _OPENERS for size in range(1, len(opener)) if text.endswith(opener[:size])),
                   default=0)  # fmt: skip
        self._waiting = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> tuple[str, list[WrittenCall]]:
        """The rest of the speech, and the calls. What a model wrote behind a call of its own is no speech either."""
        held, waiting = self._held, self._waiting
        self._held = self._waiting = ""
        if not held:
            return waiting, []
        calls = [call for one in _objects(held) if (call := self._call(one))]
        if calls:
            return "", calls
        if held.startswith(_OPENERS[:3]) or any(f'"{name}"' in held for name in self._names):
            return "", [WrittenCall("", held)]
        return held, []

    def _call(self, said: Mapping[str, Any]) -> WrittenCall | None:
        inner = said.get("function")
        if isinstance(inner, Mapping):
            said = inner
        name = said.get("name")
        arguments = next((said[key] for key in _ARGUMENTS if key in said), None)
        if not isinstance(name, str) or (arguments is None and name not in self._names):
            return None
        if isinstance(arguments, str):
            return WrittenCall(name, arguments)
        return WrittenCall(name, "{}" if arguments is None else json.dumps(arguments))


def _objects(text: str) -> list[Mapping[str, Any]]:
    """The outermost JSON objects in it."""
    decoder, found, at = json.JSONDecoder(), [], text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found
