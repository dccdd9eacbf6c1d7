"""What was said in a call, as the language model is to remember it: only what was heard."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from stasis_app.settings import Example, Profile
from stasis_app.tools.offered import offered

_TOKEN_BYTES: Final = 3
"""That make a token of a talk, about; 4 in English, fewer in other languages. A fuller window than this leaves would
end the call."""
_FIXED_BYTES: Final = 4
"""The same of a prompt: one that is near the limit is refused with the configuration, by this measure."""
_MESSAGE_TOKENS: Final = 8
"""What a chat template writes around a message."""

Role = Literal["system", "user", "assistant", "tool"]

CUT_MARK = " ..."
"""Ends an answer that the caller cut short, so that the model knows its rest was not heard."""

_EXCHANGE: Final = 3
"""A question, a tool and what was said of its result."""

MOST_WHOLE = 3
"""Results of tools that are kept as they were: they are long, and the model's window is not."""

OLD_RESULT = '{"note": "no longer kept: what was said of it stands below"}'
"""What stands for an older one. It is JSON, as every result is."""

PICKED_UP = "Hello."
"""What stands for the caller's silence before a greeting."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that was run for the model: what was asked (JSON) and what came of it."""

    id: str
    name: str
    arguments: str = field(repr=False)
    result: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """`use`: what an assistant's message asked for without a word, or what a tool's message answers."""

    role: Role
    text: str
    use: ToolUse | None = None


@dataclass(slots=True)
class History:
    """The prompt and the examples first and never changed (the model's prefix cache lives on that), then the talk.

    `room`: about so many tokens of talk are shown to the model; None: nobody knows how large its window is.
    """

    prompt: str
    examples: Sequence[Example] = ()
    max_messages: int = 40
    room: int | None = None
    _messages: list[Message | ToolUse] = field(default_factory=list)
    _left_behind: int = 0
    """So many of `_messages` had no room any more."""

    @classmethod
    def of(cls, profile: Profile, context_tokens: int | None) -> Self:
        """The talk of one call of `profile`, with a model whose window has so many tokens, if that is known."""
        room = None if context_tokens is None else max(0, room_for_talk(profile, context_tokens))
        return cls(profile.instructions, profile.examples, room=room)

    def caller_said(self, text: str) -> None:
        """A turn of the caller was released; two in a row without an answer between them are one message."""
        self._messages.append(Message("user", self._joined("user", text)))

    def tool_used(self, use: ToolUse) -> None:
        """A tool has ended. Nothing is said of it before that, so none is ever in progress here."""
        self._messages.append(use)

    def bot_said(self, text: str, *, cut: bool) -> None:
        """`text` is what was heard of a turn of the bot; nothing heard, nothing stored."""
        if not text:
            return
        heard = text + CUT_MARK if cut else text
        self._messages.append(Message("assistant", self._joined("assistant", heard)))

    def _joined(self, role: Role, text: str) -> str:
        """`text` behind the last message, taken out, if that is of the same role."""
        last = self._messages[-1] if self._messages else None
        if isinstance(last, Message) and last.role == role:
            self._messages.pop()
            return f"{last.text} {text}"
        return text

    def messages(self, asked: str = "") -> Sequence[Message]:
        """The talk so far for the model, with `asked` as the caller's next words without remembering them."""
        old = self._old_results()
        talk = [message for one in self._recent() for message in _as_messages(one, old)]
        if asked:
            before = f"{talk.pop().text} " if talk and talk[-1].role == "user" else ""
            talk.append(Message("user", before + asked))
        if talk and talk[0].role == "assistant":
            # many chat templates insist that the user speaks first
            talk.insert(0, Message("user", PICKED_UP))
        shown: list[Message] = []
        for example in self.examples:
            shown += [Message("user", example.caller), Message("assistant", example.bot)]
        return (Message("system", self.prompt), *shown, *talk)

    @property
    def caller_has_spoken(self) -> bool:
        """False while there is nothing but a greeting."""
        return any(m.role == "user" for m in self._said())

    def unanswered(self) -> str:
        """The caller's newest words, if nothing was heard of an answer to them; else ""."""
        said = self._said()
        return said[-1].text if said and said[-1].role == "user" else ""

    def last_answer(self) -> str:
        return next((m.text for m in reversed(self._said()) if m.role == "assistant"), "")

    def answered_with(self, said: str) -> str:
        """The answer that `said`, the caller's newest words, follows; "" where other words of theirs stand between."""
        before = self._said()
        if before and before[-1] == Message("user", said):
            before = before[:-1]
        return before[-1].text if before and before[-1].role == "assistant" else ""

    def _said(self) -> Sequence[Message]:
        return [one for one in self._messages if isinstance(one, Message)]

    def _recent(self) -> Sequence[Message | ToolUse]:
        """Old messages are dropped half a window at a time, so that the prefix stays the same for many turns."""
        first = max(self._left_behind, _passed(len(self._messages), self.max_messages))
        if self.room is not None and _tokens(self._messages[first:]) > self.room:
            first = self._left_behind = self._half_of_room(first, self.room)
        return self._messages[first:]

    def _half_of_room(self, first: int, room: int) -> int:
        """Where half of the room is left behind; the newest exchange goes only where it fits in no way."""
        while first < len(self._messages) - 1:
            needed, shown = _tokens(self._messages[first:]), len(self._messages) - first
            if needed <= room and (needed <= room // 2 or shown <= _EXCHANGE):
                break
            first += 1
        return first

    def _old_results(self) -> frozenset[str]:
        """The ids of the uses whose results are no longer shown, for the same reason in steps too."""
        ids = [one.id for one in self._messages if isinstance(one, ToolUse)]
        return frozenset(ids[: _passed(len(ids), MOST_WHOLE)])


def fixed_tokens(profile: Profile) -> int:
    """What the prompt, the examples and the descriptions of the tools take of the model's window, about."""
    shown = "".join(example.caller + example.bot for example in profile.examples)
    tools = offered(profile.tools)
    fixed = profile.instructions + shown + (json.dumps(tools) if tools else "")
    return -(-len(fixed.encode()) // _FIXED_BYTES)


def room_for_talk(profile: Profile, context_tokens: int) -> int:
    """What that and an answer leave of it; less than 0 where even they do not fit."""
    return context_tokens - profile.max_tokens - fixed_tokens(profile)


def _tokens(messages: Iterable[Message | ToolUse]) -> int:
    """About. Results of tools count as if all of them were shown."""
    texts = (
        one.text if isinstance(one, Message) else f"{one.name} {one.arguments} {one.result}"
        for one in messages
    )
    return sum(-(-len(text.encode()) // _TOKEN_BYTES) + _MESSAGE_TOKENS for text in texts)


def _passed(count: int, most: int) -> int:
    """How many of `count` are left behind, half of `most` at a time."""
    half = (most + 1) // 2
    return max(0, -(-(count - most) // half) * half)


def _as_messages(one: Message | ToolUse, old: frozenset[str]) -> Sequence[Message]:
    """The use of a tool is two messages that are never parted."""
    if isinstance(one, Message):
        return (one,)
    result = OLD_RESULT if one.id in old and len(one.result) > len(OLD_RESULT) else one.result
    return Message("assistant", "", one), Message("tool", result, one)
