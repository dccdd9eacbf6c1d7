"""The session description: what we offer, and what we understood of theirs (RFC 8866, RFC 3264). Pure."""

import re
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address

from caller_phone.errors import SipError


class Direction(Enum):
    """Who may send, seen from the one who wrote it (RFC 8866 section 6.7)."""

    BOTH = "sendrecv"
    SEND = "sendonly"
    RECEIVE = "recvonly"
    NONE = "inactive"

    def mirrored(self) -> "Direction":
        return {Direction.SEND: Direction.RECEIVE, Direction.RECEIVE: Direction.SEND}.get(self, self)


class Codec(Enum):
    """The two codecs of the telephone; the value is the static payload type of RFC 3551."""

    PCMU = 0
    PCMA = 8


@dataclass(frozen=True, slots=True)
class Media:
    """The one audio stream of a session description. `events` is their telephone-event payload type, if any."""

    host: str
    port: int
    codecs: tuple[Codec, ...]
    events: int | None = 101
    direction: Direction = Direction.BOTH


def describe(media: Media, session_id: int, version: int = 1) -> bytes:
    """The session description of our side, 20 ms packets."""
    family = "IP6" if ":" in media.host else "IP4"
    types = [str(codec.value) for codec in media.codecs]
    maps = [f"a=rtpmap:{codec.value} {codec.name}/8000" for codec in media.codecs]
    if media.events is not None:
        types.append(str(media.events))
        maps += [f"a=rtpmap:{media.events} telephone-event/8000", f"a=fmtp:{media.events} 0-15"]
    lines = [
        "v=0",
        f"o=caller-phone {session_id} {version} IN {family} {media.host}",
        "s=call",
        f"c=IN {family} {media.host}",
        "t=0 0",
        f"m=audio {media.port} RTP/AVP {' '.join(types)}",
        *maps,
        "a=ptime:20",
        f"a={media.direction.value}",
    ]
    return ("\r\n".join(lines) + "\r\n").encode()


def understand(body: bytes) -> Media:
    """Their audio stream, codecs in their order. SipError if there is none that we can use."""
    try:
        lines = [line.partition("=")[::2] for line in body.decode("utf-8").splitlines() if line]
    except UnicodeDecodeError as error:
        raise SipError("a session description that is not UTF-8") from error
    session_host, media_host = "", ""
    audio: list[str] = []
    attributes: list[str] = []
    section = "session"
    for kind, value in lines:
        if kind == "m":
            words = value.split()
            # only the first audio stream is ours, others are left alone
            section = "audio" if words[:1] == ["audio"] and not audio else "other"
            audio = words if section == "audio" else audio
        elif kind == "c" and section == "session":
            session_host = _host(value)
        elif kind == "c" and section == "audio":
            media_host = _host(value)
        elif kind == "a" and section != "other":
            attributes.append(value)
    if len(audio) < 4 or audio[2] != "RTP/AVP" or not re.fullmatch(r"[0-9]{1,5}", audio[1]):
        raise SipError("a session description without a plain RTP audio stream")
    port = int(audio[1])
    if not 1 <= port <= 65535:
        raise SipError("the far end refused the audio stream (port 0)")
    return _media(media_host or session_host, port, audio[3:], attributes)


def _media(host: str, port: int, types: list[str], attributes: list[str]) -> Media:
    if not host:
        raise SipError("a session description without a connection address")
    codecs = tuple(codec for kind in types for codec in Codec if kind == str(codec.value))
    if not codecs:
        raise SipError("no codec in common: want PCMU or PCMA")
    events = next(
        (
            int(match[1])
            for value in attributes
            if (match := re.fullmatch(r"rtpmap:([0-9]{1,3}) telephone-event/8000(?:/1)?", value, re.I))
            and match[1] in types
            and int(match[1]) < 128
        ),
        None,
    )
    said = [value for value in attributes if value in {direction.value for direction in Direction}]
    direction = Direction(said[-1]) if said else Direction.BOTH
    # the old way to put a call on hold (RFC 3264 section 8.4)
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - an address read, not one bound
        direction = Direction.NONE
    return Media(host, port, codecs, events, direction)


def _host(value: str) -> str:
    words = value.split()
    if len(words) != 3 or words[0] != "IN":
        raise SipError("a malformed connection line")
    host = words[2].split("/")[0]
    try:
        ip_address(host)
    except ValueError as error:
        raise SipError("a connection address that is not an IP address") from error
    return host
