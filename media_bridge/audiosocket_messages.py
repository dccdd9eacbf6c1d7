"""AudioSocket's messages: bytes from Asterisk to messages, pcm to bytes. Pure.

Source: res/res_audiosocket.c and include/asterisk/res_audiosocket.h of Asterisk 22. A message is one byte of
kind, two of length (big-endian) and the payload.
"""

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from uuid import UUID

from media_bridge.errors import MediaError

_HEADER = struct.Struct("!BH")
_UUID_BYTES = 16
IDENTITY_BYTES = _HEADER.size + _UUID_BYTES
"""The length of the first message, which says whose call it is."""


class _Kind(IntEnum):
    HANG_UP = 0x00
    IDENTITY = 0x01
    DIGIT = 0x03
    SLIN = 0x10
    SLIN16 = 0x12
    ERROR = 0xFF


_AUDIO = {8000: _Kind.SLIN, 16_000: _Kind.SLIN16}
_AUDIO_OF_ANY_RATE = range(0x10, 0x20)


class AudioSocketError(MediaError):
    """The bytes are no AudioSocket stream, or not the one that was agreed."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The first message: the call's UUID."""

    uuid: UUID


@dataclass(frozen=True, slots=True)
class Audio:
    """What the caller said."""

    pcm: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Digit:
    """The caller pressed a key."""


@dataclass(frozen=True, slots=True)
class HangUp:
    """Asterisk ends the connection."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Asterisk reports an error."""


@dataclass(frozen=True, slots=True)
class OtherMessage:
    """Of a kind not known here."""

    kind: int


Message = Identity | Audio | Digit | HangUp | Failure | OtherMessage


class AudioSocketParser:
    """One connection's bytes, in pieces of any size, to messages. `rate` is that of the sound agreed.

    Between two pieces it holds less than one message, so at most 64 KiB. After an error it is of no further
    use.
    """

    def __init__(self, rate: int) -> None:
        self._audio = _AUDIO[rate]
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now. Raises AudioSocketError, and nothing else."""
        data = self._rest + data
        messages: list[Message] = []
        at = 0
        while len(data) - at >= _HEADER.size:
            kind, length = _HEADER.unpack_from(data, at)
            end = at + _HEADER.size + length
            if end > len(data):
                break
            messages.append(self._message(kind, data[at + _HEADER.size : end]))
            at = end
        self._rest = data[at:]
        return messages

    def _message(self, kind: int, payload: bytes) -> Message:
        if kind == self._audio:
            return Audio(payload)
        if kind in _AUDIO_OF_ANY_RATE:
            raise AudioSocketError(f"sound of kind 0x{kind:02x} instead of 0x{self._audio:02x}")
        match kind:
            case _Kind.HANG_UP:
                return HangUp()
            case _Kind.IDENTITY:
                return _identity(payload)
            case _Kind.DIGIT:
                return Digit()
            case _Kind.ERROR:
                return Failure()
            case _:
                return OtherMessage(kind)


def parse_identity(data: bytes) -> Identity:
    """The first message, whole. Raises AudioSocketError, and nothing else."""
    if len(data) < _HEADER.size or data[0] != _Kind.IDENTITY:
        raise AudioSocketError("it does not begin with a UUID")
    return _identity(data[_HEADER.size :])


def _identity(payload: bytes) -> Identity:
    if len(payload) != _UUID_BYTES:
        raise AudioSocketError(f"a UUID of {len(payload)} bytes")
    return Identity(UUID(bytes=payload))


def audio_message(pcm: bytes, rate: int) -> bytes:
    """What carries `pcm`, at most 65,535 bytes of it."""
    return _HEADER.pack(_AUDIO[rate], len(pcm)) + pcm
