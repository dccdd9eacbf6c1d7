"""The words of `/v1/chat/completions`: what is asked, and the pieces of a streamed answer.

Pure; source: the OpenAI API reference, "Chat completions, streaming".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from gpu_workers.client.answer import AnswerError, json_object
from gpu_workers.client.quoting import as_quoted
from gpu_workers.errors import WorkerError

_MAX_CALLS: Final = 32
_MAX_ARGUMENTS: Final = 64 * 1024


@dataclass(frozen=True)
class ToolCall:
    """The model wants `name` run; `arguments` is JSON as the model wrote it, not checked."""

    id: str
    name: str
    arguments: str = field(repr=False)


@dataclass(frozen=True)
class Message:
    """One turn of the conversation. A tool's result has role "tool" and names its call."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = field(repr=False)
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            said["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in self.tool_calls
            ]
        if self.tool_call_id is not None:
            said["tool_call_id"] = self.tool_call_id
        return said


class ChatDeltas:
    """Turns the data of the events into text pieces and, at their end, whole tool calls.

    `finish_reason` is None until the server has given one: "stop", "length" (cut at max_tokens),
    "tool_calls", ...
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.done = False
        self._calls: dict[int, _OpenCall] = {}
        self._said: list[str] = []

    def said(self) -> Iterator[str]:
        """All that the model has written so far, arguments too: an error may quote it."""
        yield "".join(self._said)
        for call in self._calls.values():
            yield from as_quoted(call.arguments)

    def feed(self, data: str) -> list[str | ToolCall]:
        """Raises WorkerError when the event is an error, or none of this API."""
        if data.strip() == "[DONE]":
            self.done = True
            return []
        try:
            event = json_object(data)
        except AnswerError as error:
            raise WorkerError(f"the answer stream holds an event that is {error}", retryable=True) from error
        if "error" in event or event.get("object") == "error":
            raise _error(event)
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return []  # usage, prompt filter results
        choice: Mapping[str, Any] = choices[0]
        delta = choice.get("delta")
        pieces = self._pieces(delta) if isinstance(delta, Mapping) else []
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            self.finish_reason = reason
            pieces += self._whole_calls() if reason != "length" else []
        return pieces

    def _pieces(self, delta: Mapping[str, Any]) -> list[str | ToolCall]:
        parts = delta.get("tool_calls")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping):
                self._call(part)
        text = delta.get("content")
        if not isinstance(text, str) or not text:
            return []
        self._said.append(text)
        return [text]

    def _call(self, part: Mapping[str, Any]) -> None:
        index = part.get("index", 0)
        if not isinstance(index, int) or not 0 <= index < _MAX_CALLS:
            raise WorkerError(
                f"the model asked for tool call number {index!r}; at most {_MAX_CALLS} are taken"
            )
        call = self._calls.setdefault(index, _OpenCall())
        function, new_id = part.get("function"), _text(part, "id")
        name = _text(function, "name") if isinstance(function, Mapping) else ""
        if name and call.name and new_id not in ("", call.id):
            # some servers number none of them, or all alike
            call = self._one_more(index)
        call.id = new_id or call.id
        if isinstance(function, Mapping):
            call.name = name or call.name
            call.arguments += _text(function, "arguments")
        if len(call.arguments) > _MAX_ARGUMENTS:
            raise WorkerError(f"the arguments of a tool call are longer than {_MAX_ARGUMENTS} characters")

    def _one_more(self, index: int) -> "_OpenCall":
        """The call that stands at `index` is whole: it makes room for another."""
        if len(self._calls) >= _MAX_CALLS:
            raise WorkerError(f"the model asked for more than {_MAX_CALLS} tool calls at once")
        before = [self._calls[key] for key in sorted(self._calls)]
        self._calls = dict(enumerate(before, start=-len(before)))
        return self._calls.setdefault(index, _OpenCall())

    def _whole_calls(self) -> list[str | ToolCall]:
        calls = [
            ToolCall(call.id or f"call_{number}", call.name, call.arguments)
            for number, (_, call) in enumerate(sorted(self._calls.items()))
            if call.name
        ]
        self._said += [call.arguments for call in calls if isinstance(call, ToolCall)]
        self._calls = {}
        return list(calls)


@dataclass
class _OpenCall:
    id: str = ""
    name: str = ""
    arguments: str = ""


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _error(event: Mapping[str, Any]) -> WorkerError:
    """vLLM, llama.cpp and OpenAI put `{"error": {"message", "code"}}` into the stream, older vLLM the error itself."""
    error = event.get("error")
    body = error if isinstance(error, Mapping) else event
    code = body.get("code")
    status = code if isinstance(code, int) else None
    message = body.get("message") if isinstance(body.get("message"), str) else str(error)
    retryable = status is None or status in {408, 429} or status >= 500
    return WorkerError(f"error inside the answer stream: {str(message)[:300]}", retryable, status)
