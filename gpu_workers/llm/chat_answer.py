"""The engine's events as they go on to the client, and the whole answer for one that wants no stream. Pure."""

import json
from collections.abc import Mapping
from typing import Any, Final

from gpu_workers.errors import RequestError

DONE: Final = "[DONE]"
_TOO_LONG: Final = "exceed_context_size_error"
_REASON: Final = 500


def event_of(data: str) -> Mapping[str, Any] | None:
    """The data of an event, parsed; None for the one that ends the stream. Raises RequestError when it is no event."""
    if data.strip() == DONE:
        return None
    try:
        event = json.loads(data)
    except ValueError as error:
        raise _broken("its event is no JSON") from error
    if not isinstance(event, dict):
        raise _broken("its event is no object")
    return event


def is_progress(event: Mapping[str, Any]) -> bool:
    """Tells only how much of the prompt was read: nobody asked."""
    return "prompt_progress" in event


def is_usage(event: Mapping[str, Any]) -> bool:
    return not event.get("choices") and "usage" in event


def failure_of(status: int, body: bytes) -> RequestError:
    """What the client gets when the engine answers with `status`."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    error = said.get("error") if isinstance(said, dict) else None
    if not isinstance(error, dict):
        return _broken(f"status {status} without a reason")
    message = str(error.get("message", ""))[:_REASON]
    if error.get("type") == _TOO_LONG:
        return RequestError(400, message, code="context_length_exceeded", param="messages")
    if 400 <= status < 500:
        return RequestError(400, message, code="invalid_request")
    if status == 503:
        return RequestError(503, message, code="loading", retry_after_s=1)
    return _broken(message)


def event_failure(event: Mapping[str, Any]) -> RequestError | None:
    """The error that an event tells of, if it does."""
    error = event.get("error")
    if error is None:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    return failure_of(code if isinstance(code, int) else 500, json.dumps(event).encode())


def _broken(what: str) -> RequestError:
    return RequestError(500, f"llama.cpp failed: {what}", code="engine_failed")


class Completion:
    """Puts the events of a stream together to the answer that a client without `stream` gets."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
        self._calls: dict[int, dict[str, Any]] = {}
        self._reason: str | None = None
        self._more: dict[str, Any] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        for name in ("id", "created", "model"):
            self._head.setdefault(name, event.get(name))
        self._more.update({name: event[name] for name in ("usage", "timings") if event.get(name)})
        for choice in event.get("choices") or ():
            self._reason = choice.get("finish_reason") or self._reason
            delta = choice.get("delta") or {}
            for name, pieces in self._texts.items():
                pieces.append(delta.get(name) or "")
            for part in delta.get("tool_calls") or ():
                self._add_call(part)

    def _add_call(self, part: Mapping[str, Any]) -> None:
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self._calls.setdefault(part.get("index", 0), empty)
        call["id"] = part.get("id") or call["id"]
        function = part.get("function") or {}
        call["function"]["name"] = function.get("name") or call["function"]["name"]
        call["function"]["arguments"] += function.get("arguments") or ""

    def body(self) -> Mapping[str, Any]:
        """Raises RequestError when the stream ended before its end."""
        if self._reason is None:
            raise _broken("its answer stopped before its end")
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        message: dict[str, Any] = {"role": "assistant", "content": texts["content"]}
        if texts["reasoning_content"]:
            message["reasoning_content"] = texts["reasoning_content"]
        if self._calls:
            message["tool_calls"] = [call for _, call in sorted(self._calls.items())]
            message["content"] = texts["content"] or None
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason}
        return {"object": "chat.completion", **self._head, "choices": [choice], **self._more}
