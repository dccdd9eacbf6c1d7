"""The text messages of Asterisk's chan_websocket: commands to bytes, events from text. Pure.

Source: channels/chan_websocket.c of Asterisk 22.8 and 22.10, with `f(json)`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from media_bridge.errors import MediaError

Command = Literal["PAUSE_MEDIA", "CONTINUE_MEDIA", "FLUSH_MEDIA", "GET_STATUS"]

MAX_EVENT_CHARS = 64 * 1024
"""MEDIA_START holds the channel's variables; the others are under 300."""

MAX_MARK = 10**12


class WebsocketMessageError(MediaError):
    """A text from Asterisk's media websocket is no event of it."""


@dataclass(frozen=True, slots=True)
class MediaStart:
    """The first of all. `frame_bytes` is 20 ms of `format`."""

    format: str
    frame_bytes: int


@dataclass(frozen=True, slots=True)
class Status:
    """`queued` frames of ours wait."""

    queued: int


@dataclass(frozen=True, slots=True)
class Xoff:
    """Asterisk's queue is nearly full."""


@dataclass(frozen=True, slots=True)
class Xon:
    """There is room again."""


@dataclass(frozen=True, slots=True)
class MarkProcessed:
    """Everything before the mark has been played."""

    number: int


@dataclass(frozen=True, slots=True)
class DtmfEnd:
    """The caller pressed a key."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A command was not taken."""

    text: str


@dataclass(frozen=True, slots=True)
class OtherEvent:
    """Nothing that concerns us."""

    name: str


WebsocketEvent = MediaStart | Status | Xoff | Xon | MarkProcessed | DtmfEnd | Complaint | OtherEvent


def command(name: Command) -> str:
    """The text of a command without arguments."""
    return f'{{"command":"{name}"}}'


def mark(number: int) -> str:
    """Ask for MarkProcessed(number) when what was sent before has been played."""
    return f'{{"command":"MARK_MEDIA","correlation_id":"{number}"}}'


def parse_event(text: str) -> WebsocketEvent:
    """Read one text message. Raises WebsocketMessageError, and nothing else."""
    if len(text) > MAX_EVENT_CHARS:
        raise WebsocketMessageError(f"{len(text)} characters, more than {MAX_EVENT_CHARS}")
    if text.startswith("MEDIA_START "):
        raise WebsocketMessageError(
            "this Asterisk speaks plain text on its media websocket: 22.8, 20.18, 23.2 or newer is needed"
        )
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WebsocketMessageError(f"not JSON: {type(error).__name__}") from error
    if not isinstance(fields, dict) or not isinstance(fields.get("event"), str):
        raise WebsocketMessageError("no object with an event")
    return _event(fields["event"], fields)


def _event(name: str, fields: Mapping[str, object]) -> WebsocketEvent:
    match name:
        case "MEDIA_START":
            return MediaStart(_text(fields, "format"), _number(fields, "optimal_frame_size"))
        case "STATUS":
            return Status(_number(fields, "queue_length"))
        case "MEDIA_XOFF":
            return Xoff()
        case "MEDIA_XON":
            return Xon()
        case "MEDIA_MARK_PROCESSED":
            return MarkProcessed(_mark_number(_text(fields, "correlation_id")))
        case "DTMF_END":
            return DtmfEnd()
        case "ERROR":
            return Complaint(_text(fields, "error_text"))
        case _:
            return OtherEvent(_unicode(name[:64]))


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise WebsocketMessageError(f"{name}: not a text")
    return _unicode(value)


def _unicode(text: str) -> str:
    """A lone surrogate is legal JSON and could not be logged: a question mark stands for it."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _number(fields: Mapping[str, object], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or not 0 <= value <= 1_000_000:
        raise WebsocketMessageError(f"{name}: no number from 0 to 1000000")
    return value


def _mark_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(MAX_MARK)):
        raise WebsocketMessageError("correlation_id: not a mark of ours")
    return int(text)
