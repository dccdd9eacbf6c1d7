"""What may be asked of `POST /v1/chat/completions`, and what of it the engine is told. Pure.

Source: the OpenAI API reference, "Create chat completion". What would change the answer and is not served here is
refused by name; what only a hosted service needs (`user`, `store`, ...) is dropped, and so is every word that only the
engine knows (`grammar`, `id_slot`, ...): it is not for clients to reach.
"""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gpu_workers.errors import RequestError

_MAX_MODEL: Final = 1000
_MAX_MESSAGES: Final = 4096
_MAX_TOOLS: Final = 64
_MAX_TOOLS_BYTES: Final = 64 * 1024
_MAX_DEPTH: Final = 16
_MAX_STOPS: Final = 16
_MAX_PROPERTIES: Final = 256
_SEEDS: Final = 1 << 32
# more characters than that a token never has on average; a million tokens take llama.cpp 17 s to count
_MOST_CHARACTERS: Final = 32


def _truth(given: object) -> object:
    """0 equals False, and Literal takes what is equal."""
    if not isinstance(given, bool):
        raise ValueError("must be true or false")  # noqa: TRY004 - pydantic turns it into a 400
    return given


No = Annotated[Literal[False], BeforeValidator(_truth)]
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9_-]+$")]
Id = Annotated[str, Field(min_length=1, max_length=200)]
Stop = Annotated[str, Field(min_length=1, max_length=200)]
Penalty = Annotated[float, Field(ge=-2, le=2)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class TextPart(_Part):
    type: Literal["text"]
    text: str


Content = str | Annotated[list[TextPart], Field(min_length=1, max_length=_MAX_MESSAGES)]


class CalledFunction(_Part):
    name: Name
    arguments: str


class Called(_Part):
    """A call that the model made earlier."""

    id: Id
    type: Literal["function"]
    function: CalledFunction


class Prompting(_Part):
    role: Literal["system", "developer", "user"]
    content: Content


class Assistant(_Part):
    role: Literal["assistant"]
    content: Content | None = None
    tool_calls: Annotated[list[Called], Field(max_length=_MAX_TOOLS)] | None = None


class ToolResult(_Part):
    role: Literal["tool"]
    content: Content
    tool_call_id: Id


Said = Annotated[Prompting | Assistant | ToolResult, Field(discriminator="role")]


class Function(_Part):
    name: Name
    description: Annotated[str, Field(max_length=4096)] | None = None
    parameters: dict[str, Any] | None = Field(None, description="A JSON schema")
    strict: bool | None = None


class Tool(_Part):
    type: Literal["function"]
    function: Function


class NamedFunction(_Part):
    name: Name


class NamedTool(_Part):
    type: Literal["function"]
    function: NamedFunction


class StreamOptions(_Part):
    include_usage: bool | None = None


class PlainText(_Part):
    type: Literal["text"]


class ChatRequest(_Part):
    """Fields of the OpenAI API that are not here are ignored."""

    messages: Annotated[list[Said], Field(min_length=1, max_length=_MAX_MESSAGES)]
    model: Annotated[str, Field(max_length=_MAX_MODEL)] | None = None
    max_tokens: Annotated[int, Field(ge=0, le=1 << 24, description="0: read, write nothing")] | None = None
    max_completion_tokens: Annotated[int, Field(ge=0, le=1 << 24)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    seed: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=_MAX_STOPS)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[Tool], Field(min_length=1, max_length=_MAX_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    response_format: PlainText | None = None
    n: Annotated[int, Field(ge=1, le=1, description="One answer a request")] | None = None
    logprobs: No | None = None
    logit_bias: Annotated[dict[str, float], Field(max_length=0)] | None = None
    functions: None = Field(None, description="Not served: use `tools`")
    function_call: None = Field(None, description="Not served: use `tool_choice`")
    audio: None = None
    modalities: list[Literal["text"]] | None = None
    cache_prompt: bool | None = Field(None, description="llama.cpp: keep what was read; true if not given")

    @model_validator(mode="before")
    @classmethod
    def _no_engine_words(cls, given: Any) -> Any:
        """These would change the answer, so they are not dropped in silence."""
        for name in ("grammar", "json_schema"):
            if isinstance(given, dict) and given.get(name) is not None:
                raise ValueError(f"{name} is not served here")
        return given

    @property
    def streamed(self) -> bool:
        return bool(self.stream)

    @property
    def usage_wanted(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def most_tokens(self) -> int | None:
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens


def check(asked: ChatRequest, context_tokens: int) -> None:
    """Raises RequestError 400 for what no schema can say."""
    most = asked.most_tokens
    if most is not None and most > context_tokens:
        field = "max_tokens" if asked.max_completion_tokens is None else "max_completion_tokens"
        raise _invalid(field, f"at most {context_tokens}, the longest conversation of this model")
    characters = sum(len(_text(message.content)) for message in asked.messages)
    if characters > context_tokens * _MOST_CHARACTERS:
        raise RequestError(
            400, f"messages: {characters} characters are more than {context_tokens} tokens, the longest conversation "
            "of this model", code="context_length_exceeded", param="messages",
        )  # fmt: skip
    names = [tool.function.name for tool in asked.tools or ()]
    if len(set(names)) < len(names):
        raise _invalid("tools", "each needs a name of its own")
    if isinstance(asked.tool_choice, NamedTool) and asked.tool_choice.function.name not in names:
        raise _invalid("tool_choice", f"no tool is named {asked.tool_choice.function.name!r}")
    if asked.tool_choice == "required" and not names:
        raise _invalid("tool_choice", "there are no tools")
    for message in asked.messages:
        if isinstance(message, Assistant) and message.content is None and not message.tool_calls:
            raise _invalid("messages", "what an assistant said has content or tool_calls")
    _check_tools(asked.tools or [])
    try:
        json.dumps(engine_request(asked), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise _invalid("messages", "half a surrogate pair is no character") from error


def engine_request(asked: ChatRequest) -> dict[str, Any]:
    """In the engine's words: always streamed and with its progress, which is how it notices that nobody listens."""
    said: dict[str, Any] = {
        name: value
        for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty", "stop",
                     "parallel_tool_calls", "cache_prompt")
        if (value := getattr(asked, name)) is not None
    }  # fmt: skip
    if asked.most_tokens is not None:
        said["max_tokens"] = asked.most_tokens
    if asked.seed is not None:
        said["seed"] = asked.seed % _SEEDS
    tools = [] if isinstance(asked.tool_choice, str) and asked.tool_choice == "none" else asked.tools or []
    choice = asked.tool_choice
    if isinstance(choice, NamedTool):
        # the engine knows no named one: it is the only one there is, and must be called
        tools = [tool for tool in tools if tool.function.name == choice.function.name]
        choice = "required"
    if tools:
        said["tools"] = [
            _without_patterns(tool.model_dump(exclude_none=True, exclude={"function": {"strict"}}))
            for tool in tools
        ]
        said["tool_choice"] = choice or "auto"
    return {
        **said,
        "messages": [_message(message) for message in asked.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }


def _message(message: Prompting | Assistant | ToolResult) -> dict[str, Any]:
    content = message.content
    text = content if isinstance(content, str) else "".join(part.text for part in content or ())
    said: dict[str, Any] = {
        "role": "system" if message.role == "developer" else message.role,
        "content": text,
    }
    if isinstance(message, Assistant) and message.tool_calls:
        said["tool_calls"] = [call.model_dump() for call in message.tool_calls]
    if isinstance(message, ToolResult):
        said["tool_call_id"] = message.tool_call_id
    return said


def _text(content: Content | None) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content or ())


def _check_tools(tools: list[Tool]) -> None:
    """The engine makes a grammar of the parameters; it checks their form itself, but not how much work they are."""
    if _depth([tool.function.parameters for tool in tools]) > _MAX_DEPTH:
        raise _invalid("tools", f"parameters are nested more than {_MAX_DEPTH} deep")
    if len(json.dumps([tool.model_dump() for tool in tools])) > _MAX_TOOLS_BYTES:
        raise _invalid("tools", f"longer than {_MAX_TOOLS_BYTES} bytes in all")
    if sum(_properties(tool.function.parameters) for tool in tools) > _MAX_PROPERTIES:
        raise _invalid("tools", f"more than {_MAX_PROPERTIES} parameters in all")


def _properties(schema: Any) -> int:
    if isinstance(schema, list):
        return sum(map(_properties, schema))
    if not isinstance(schema, dict):
        return 0
    own = schema.get("properties")
    return (len(own) if isinstance(own, dict) else 0) + sum(map(_properties, schema.values()))


def _without_patterns(schema: Any) -> Any:
    """A pattern of 160 characters can take the engine 20 s; whoever reads the arguments checks them against it."""
    if isinstance(schema, list):
        return [_without_patterns(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_patterns(one)
        for name, one in schema.items()
        if name != "pattern" or not isinstance(one, str)  # else it is a property of that name
    }


def _depth(value: Any) -> int:
    """Levels of nesting; counted without recursion, as it is what bounds recursion."""
    level, deepest = [value], 0
    while level and deepest <= _MAX_DEPTH + 2:
        deepest += 1
        level = [
            inner
            for outer in level
            for inner in (
                outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
            )
            if isinstance(inner, dict | list)
        ]
    return deepest - 1


def _invalid(param: str, message: str) -> RequestError:
    return RequestError(400, f"{param}: {message}", code="invalid_value", param=param)
