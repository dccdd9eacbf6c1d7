"""What a profile lets its model do beside talking: the `tools:` part of a profile in voicebot.yaml."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator

from media_bridge.settings import Settings
from stasis_app.tools.backtracking import is_slow

TRANSFER: Final = "transfer"
HANG_UP: Final = "hang_up"
TARGET: Final = "target"
LONGEST_S: Final = 30.0
"""The most that `timeout_s` of a request may be."""

ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""What the model calls a thing by. It also goes into a channel variable, so it holds no dialplan syntax."""

DialplanName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9*#+.-][A-Za-z0-9_*#+.-]{0,79}$")]

PLACEHOLDER: Final = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
NOT_IN_A_PATH: Final = re.compile(r"[/\\%]")
"""What the value of a parameter in the path of a url may not have: it would reach another path."""
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,80}")
_NOT_TO_BE_SET: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})


class Target(Settings):
    """A place of the dialplan. `front_desk: "2000"` is short for `front_desk: {extension: "2000"}`."""

    extension: DialplanName = Field(description='The extension the caller is sent to, e.g. "2000".')
    context: DialplanName = Field("voicebot-transfer", description="The context it stands in.")
    priority: int = Field(1, ge=1, le=999, description="The step of it the caller goes on at.")
    description: str = Field("", description="What the model is told it is for; empty: nothing.")
    spoken: str | None = Field(
        None, min_length=1, description="How the bot names it to the caller; null: 'the' and its name here."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_an_extension(cls, value: object) -> object:
        # a number becomes one too, so that the message is about the quotes it lacks
        return {"extension": value} if isinstance(value, str | int | float) else value


class Transfer(Settings):
    """Callers may be put through to these places and to no other."""

    targets: dict[ToolName, Target] = Field(
        min_length=1, description="Where callers may be put through to, by name."
    )
    description: str = Field(
        "Connects the caller to a person. Call it when the caller wants to speak to somebody.",
        min_length=1,
        description="What the model is told of it.",
    )
    confirm: bool = Field(False, description="Nobody is put through who has not said yes to being asked.")
    question: str = Field(
        "Shall I put you through to {target}?",
        min_length=1,
        description="Asked with `confirm`; {target} becomes the target's `spoken`.",
    )
    announcement: str = Field(
        "One moment, I am putting you through.",
        description="Said if the model says nothing itself; empty: nothing.",
    )
    per_hour: int = Field(20, ge=1, le=100_000, description="Most transfers of one process in any hour.")

    @model_validator(mode="after")
    def _questions_differ(self) -> "Transfer":
        asked: dict[tuple[str, ...], str] = {}
        for target in self.targets if self.confirm else ():
            words = tuple(re.findall(r"\w+", self.asks(target).lower()))
            if not words:
                raise ValueError("question has no words: the caller has to be asked something")
            if words in asked:
                raise ValueError(
                    f"question is the same for {asked[words]} and {target}, so a yes could mean either:"
                    " write {target} into it, and give each another `spoken`"
                )
            asked[words] = target
        return self

    def spoken(self, target: str) -> str:
        """What the caller is told of a target."""
        return self.targets[target].spoken or f"the {target.replace('_', ' ')}"

    def asks(self, target: str) -> str:
        """The question before it."""
        return self.question.replace("{target}", self.spoken(target))


class Parameter(Settings):
    """One argument of a request: its type and its bounds. What is outside them is never sent."""

    type: Literal["string", "integer", "number", "boolean"] = Field(
        "string", description="string, integer, number or boolean."
    )
    description: str = Field("", description="What the model is told of it; empty: nothing.")
    required: bool = Field(True, description="The model has to give it.")
    choices: tuple[str, ...] = Field((), description="Of a string: the only values there are.")
    pattern: str | None = Field(
        None, min_length=1, description="Of a string: a regular expression that all of it must match."
    )
    max_length: int = Field(100, ge=1, le=1000, description="Of a string: most characters.")
    minimum: float | None = Field(None, description="Of a number: the least.")
    maximum: float | None = Field(None, description="Of a number: the most.")

    @field_validator("pattern")
    @classmethod
    def _is_an_expression(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(f"is no regular expression: {error}") from error
        return pattern

    def _refuses(self, choice: str) -> str:
        """Why a value is never taken, as stasis_app.tools.arguments judges it; "" where it is."""
        if not choice or choice != choice.strip() or not choice.isprintable():
            return "it is empty, or has a blank at an end or a control character"
        if len(choice) > self.max_length:
            return f"max_length is {self.max_length}"
        if self.pattern is not None and not re.fullmatch(self.pattern, choice):
            return "pattern does not match it"
        return ""

    @model_validator(mode="after")
    def _bounds_fit(self) -> "Parameter":
        numeric = self.type in ("integer", "number")
        if not numeric and (self.minimum is not None or self.maximum is not None):
            raise ValueError(f"minimum and maximum are for numbers, and the type is {self.type}")
        if self.type != "string" and (self.choices or self.pattern is not None):
            raise ValueError(f"choices and pattern are for strings, and the type is {self.type}")
        if self.pattern is not None and is_slow(self.pattern, self.max_length):
            raise ValueError(
                f"pattern can be tried in too many ways on {self.max_length} characters, and calls would wait for it:"
                " lower max_length, write {1,8} for + and *, and no repetition inside another"
            )
        for choice in self.choices:
            if why := self._refuses(choice):
                raise ValueError(f"choices has `{choice[:40]}`, which can never be given: {why}")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum:g} is more than maximum {self.maximum:g}")
        return self


class HttpRequest(Settings):
    """A request to a server of the admin's, whose answer the model may use."""

    description: str = Field(
        min_length=1, max_length=1000, description="What the model is told of it: what for, and when."
    )
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = Field(
        "GET", description="GET, POST, PUT, PATCH or DELETE."
    )
    url: str = Field(min_length=1, description="Its address; {name} becomes the value of that parameter.")
    parameters: dict[ToolName, Parameter] = Field(
        {}, max_length=20, description="What the model has to give, by name."
    )
    headers: dict[str, SecretStr] = Field(
        {}, description="Sent with it; ${NAME} takes a secret from outside."
    )
    reads: bool = Field(
        False, description="It changes nothing: it may be begun before the caller has finished."
    )
    timeout_s: float = Field(5.0, gt=0, le=LONGEST_S, description="No whole answer within this: it failed.")
    max_answer_bytes: int = Field(65_536, ge=1, le=1_048_576, description="A longer answer is not read.")
    max_answer_chars: int = Field(1500, ge=20, le=20_000, description="The model sees no more of it.")

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        # never shown: it may hold a secret
        try:
            parts = urlsplit(url)
            place = f"{parts.scheme}{parts.netloc}"
            whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            whole, place, parts = False, "", urlsplit("")
        if not whole or not url.isprintable() or " " in url:
            raise ValueError("is no address: write it like https://shop.example/orders/{number}")
        if "{" in place or "}" in place:
            raise ValueError("must name its server: a parameter may stand behind that only")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must not hold a name or password: send them under `headers`")
        if parts.fragment:
            raise ValueError("must not have a `#`: nothing behind it is ever sent")
        if "{" in (rest := PLACEHOLDER.sub("", url)) or "}" in rest:
            raise ValueError("has a `{` or `}` that is no parameter's name in braces")
        return url

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"has `{name[:40]}`, which is no name of a header")
            if name.lower() in _NOT_TO_BE_SET:
                raise ValueError(f"has {name}, which the request sets itself: take it out")
            text = value.get_secret_value()
            if not text.isprintable() or not text.isascii():
                raise ValueError(f"has a control or other special character in {name}: take it out")
        return headers

    @model_validator(mode="after")
    def _names_what_is_declared(self) -> "HttpRequest":
        for name in self.in_url:
            if name not in self.parameters:
                raise ValueError(f"url has {{{name}}}: declare it under parameters, or take it out")
            if not self.parameters[name].required:
                raise ValueError(f"parameters.{name} stands in url, so it must be required")
        for name in PLACEHOLDER.findall(self.url.partition("?")[0]):
            for choice in self.parameters[name].choices:
                if NOT_IN_A_PATH.search(choice):
                    raise ValueError(
                        f"parameters.{name}: choices has `{choice[:40]}`, which cannot stand in the path of url:"
                        f" put {{{name}}} behind a `?`"
                    )
        return self

    @property
    def in_url(self) -> list[str]:
        return PLACEHOLDER.findall(self.url)


class Tools(Settings):
    """The `tools:` part of a profile. Nothing is offered to the model that does not stand here."""

    transfer: Transfer | None = Field(None, description="Putting callers through.")
    hang_up: bool = Field(False, description="The model may end the call.")
    http: dict[ToolName, HttpRequest] = Field({}, max_length=20, description="Requests to servers, by name.")

    @field_validator("http")
    @classmethod
    def _has_names_of_its_own(cls, requests: Mapping[str, HttpRequest]) -> Mapping[str, HttpRequest]:
        for taken in (TRANSFER, HANG_UP):
            if taken in requests:
                raise ValueError(f"has `{taken}`, which is the name of another tool: choose another")
        return requests

    def names(self) -> Iterator[str]:
        if self.transfer is not None:
            yield TRANSFER
        if self.hang_up:
            yield HANG_UP
        yield from self.http
