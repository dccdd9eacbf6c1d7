"""ARI events as frozen dataclasses, and the parser that makes them. Pure.

Source: rest-api/api-docs/events.json and channels.json of Asterisk 22. Only what the bot uses is kept:
unknown types become UnknownEvent and unknown fields are left out, so that a newer Asterisk changes nothing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from .errors import AriEventError

MAX_EVENT_CHARS = 256 * 1024
"""The biggest event seen is under 4 KiB; one with many channel variables may be some tens."""

MAX_ID_CHARS = 256
"""Asterisk's own limit is 149 (AST_MAX_PUBLIC_UNIQUEID)."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as Asterisk describes it. Names, numbers and dialplan arguments are kept out of the repr."""

    id: str
    name: str = field(default="", repr=False)
    """Its technology and endpoint, which may be a number."""
    state: str = ""
    """Down, Rsrvd, OffHook, Dialing, Ring, Ringing, Up, Busy, ..."""
    caller_number: str = field(default="", repr=False)
    context: str = ""
    exten: str = field(default="", repr=False)
    app_name: str = ""
    """The dialplan application the channel is in: Stasis while it is ours."""
    app_data: str = field(default="", repr=False)
    """That application's arguments, comma separated; the first one of Stasis is the ARI app."""

    @property
    def app_args(self) -> tuple[str, ...]:
        """What the dialplan gave to Stasis() after the app's name, as its StasisStart tells it."""
        return tuple(self.app_data.split(",")[1:])

    def in_app(self, app: str) -> bool:
        """Whether the channel is in the Stasis application `app`."""
        return self.app_name == "Stasis" and self.app_data.partition(",")[0].strip() == app


@dataclass(frozen=True, slots=True)
class Bridge:
    id: str
    channel_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChannelEvent:
    channel: Channel

    @property
    def channel_id(self) -> str:
        return self.channel.id


@dataclass(frozen=True, slots=True)
class StasisStart(ChannelEvent):
    """A channel entered the app. `args`: what the dialplan gave to Stasis() after the app's name."""

    args: tuple[str, ...] = field(default=(), repr=False)
    at: datetime | None = None
    """Asterisk's clock; None where it sent no readable time."""


@dataclass(frozen=True, slots=True)
class StasisEnd(ChannelEvent):
    """The channel left the app: hung up, or handed back to the dialplan. The last event of most channels."""


@dataclass(frozen=True, slots=True)
class ChannelGone(ChannelEvent):
    """Made by the bot: the channel ended while the event socket was down, its StasisEnd was not heard."""


@dataclass(frozen=True, slots=True)
class ChannelDestroyed(ChannelEvent):
    cause: int = 0
    """Q.850."""


@dataclass(frozen=True, slots=True)
class ChannelHangupRequest(ChannelEvent):
    cause: int = 0


@dataclass(frozen=True, slots=True)
class ChannelDtmfReceived(ChannelEvent):
    digit: str = field(default="", repr=False)
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class ChannelHold(ChannelEvent):
    pass


@dataclass(frozen=True, slots=True)
class ChannelUnhold(ChannelEvent):
    pass


@dataclass(frozen=True, slots=True)
class PlaybackFinished:
    playback_id: str
    channel_id: str
    """Where it was played; empty for a playback to a bridge."""
    state: str
    """done or failed."""


@dataclass(frozen=True, slots=True)
class ApplicationReplaced:
    app: str


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    type: str


AriEvent = ChannelEvent | PlaybackFinished | ApplicationReplaced | UnknownEvent

ENDINGS = (StasisEnd, ChannelGone, ChannelDestroyed, ChannelHangupRequest)
"""What tells that a channel is over or about to be."""


def parse_event(text: str) -> AriEvent:
    """Read one text message of the event socket.

    Raises AriEventError, and nothing else, for whatever is not an event.
    """
    if len(text) > MAX_EVENT_CHARS:
        raise AriEventError(f"{len(text)} characters, more than {MAX_EVENT_CHARS}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AriEventError(f"not JSON: {type(error).__name__}") from error
    message = _object(body, "event")
    kind = _text(message, "type")
    parse = _PARSERS.get(kind)
    return UnknownEvent(kind[:MAX_ID_CHARS]) if parse is None else parse(message)


def parse_channel(body: object) -> Channel:
    """Read a Channel model. Raises AriEventError when it has no usable id; other missing fields are empty."""
    fields = _object(body, "channel")
    dialplan = _mapping(fields.get("dialplan"))
    return Channel(
        id=_id(fields),
        name=_soft_text(fields, "name"),
        state=_soft_text(fields, "state"),
        caller_number=_soft_text(_mapping(fields.get("caller")), "number"),
        context=_soft_text(dialplan, "context"),
        exten=_soft_text(dialplan, "exten"),
        app_name=_soft_text(dialplan, "app_name"),
        app_data=_soft_text(dialplan, "app_data"),
    )


def parse_bridge(body: object) -> Bridge:
    """Read a Bridge model. Raises AriEventError when it has no usable id."""
    fields = _object(body, "bridge")
    return Bridge(_id(fields), _texts(fields.get("channels", []), "channels"))


def _stasis_start(message: Mapping[str, object]) -> AriEvent:
    args = _texts(message.get("args", []), "args")
    return StasisStart(_channel(message), args, _time(message.get("timestamp")))


def _destroyed(message: Mapping[str, object]) -> AriEvent:
    return ChannelDestroyed(_channel(message), _number(message, "cause"))


def _hangup_request(message: Mapping[str, object]) -> AriEvent:
    return ChannelHangupRequest(_channel(message), _number(message, "cause"))


def _dtmf(message: Mapping[str, object]) -> AriEvent:
    digit = _text(message, "digit")
    if len(digit) != 1:
        raise AriEventError("digit: not one character")
    return ChannelDtmfReceived(_channel(message), digit, _number(message, "duration_ms"))


def _playback_finished(message: Mapping[str, object]) -> AriEvent:
    playback = _object(message.get("playback"), "playback")
    kind, _, target = _soft_text(playback, "target_uri").partition(":")
    channel_id = target if kind == "channel" and len(target) <= MAX_ID_CHARS else ""
    return PlaybackFinished(_id(playback), channel_id, _soft_text(playback, "state"))


def _replaced(message: Mapping[str, object]) -> AriEvent:
    return ApplicationReplaced(_soft_text(message, "application"))


_PARSERS: Mapping[str, Callable[[Mapping[str, object]], AriEvent]] = MappingProxyType(
    {
        "StasisStart": _stasis_start,
        "StasisEnd": lambda message: StasisEnd(_channel(message)),
        "ChannelDestroyed": _destroyed,
        "ChannelHangupRequest": _hangup_request,
        "ChannelDtmfReceived": _dtmf,
        "ChannelHold": lambda message: ChannelHold(_channel(message)),
        "ChannelUnhold": lambda message: ChannelUnhold(_channel(message)),
        "PlaybackFinished": _playback_finished,
        "ApplicationReplaced": _replaced,
    }
)


def _channel(message: Mapping[str, object]) -> Channel:
    return parse_channel(message.get("channel"))


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise AriEventError(f"{what}: not an object")
    return value


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise AriEventError(f"{name}: not a text")
    return _unicode(value)


def _soft_text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return _unicode(value) if isinstance(value, str) else ""


def _unicode(text: str) -> str:
    """A lone surrogate is legal JSON and could be sent, logged or stored nowhere: a question mark stands for it."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _texts(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise AriEventError(f"{what}: not a list of texts")
    return tuple(map(_unicode, value))


def _number(fields: Mapping[str, object], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0


def _id(fields: Mapping[str, object]) -> str:
    value = fields.get("id")
    if not isinstance(value, str):
        raise AriEventError("id: not a text")
    # with a question mark in it, it would be the id of something else
    if not 0 < len(value) <= MAX_ID_CHARS or _unicode(value) != value:
        raise AriEventError("id: empty, too long or not Unicode")
    return value


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
