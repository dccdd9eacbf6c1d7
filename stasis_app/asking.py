"""The talk in the form in which the language model is asked."""

from collections.abc import Iterable

from gpu_workers.client import Message, ToolCall
from stasis_app import history


def as_asked(talk: Iterable[history.Message]) -> list[Message]:
    """`talk` as messages of the OpenAI API."""
    return [_message(one) for one in talk]


def _message(one: history.Message) -> Message:
    if one.use is None:
        return Message(one.role, one.text)
    if one.role == "tool":
        return Message("tool", one.text, tool_call_id=one.use.id)
    return Message(one.role, one.text, tool_calls=(ToolCall(one.use.id, one.use.name, one.use.arguments),))
