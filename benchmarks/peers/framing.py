"""AudioSocket and chan_websocket as Asterisk speaks them to a bot: the bytes that the peers' callers send and read.

Pure. Both carry `slin` at 8 kHz, 320 bytes each 20 ms from the caller. A medium's `unpack` takes whole messages from
the front of what has come and gives the bot's sound in them and what else must be answered.
"""

import base64
import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

FRAME_BYTES = 320
# Asterisk's res_audiosocket: kind, length
_AUDIOSOCKET = struct.Struct("!BH")
_AUDIOSOCKET_UUID, _AUDIOSOCKET_SLIN = 0x01, 0x10
# RFC 6455 section 5.2: FIN with the opcode; the client's length has the mask bit
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_FIN, _MASKED = 0x80, 0x80
# a mask of zeros leaves the payload as it is
_NO_MASK = bytes(4)
_KEY = base64.b64encode(bytes(16)).decode()
# RFC 6455 section 4.2.2
_ACCEPT = base64.b64encode(
    hashlib.sha1(_KEY.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11", usedforsecurity=False).digest()
).decode()


class FramingError(Exception):
    """The bot sent what the medium does not know."""


@dataclass(slots=True)
class Unpacked:
    """The bot's sound, bytes to send back at once, how many bytes of the input were used."""

    sound: list[bytes]
    answer: bytes = b""
    used: int = 0


@dataclass(frozen=True, slots=True)
class Medium:
    """How a call is opened, how 20 ms of the caller are sent, how the bot's bytes are read."""

    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], Unpacked]
    greeting: Callable[[int], bytes]
    # an HTTP answer comes before the medium's own messages
    upgrade: Callable[[int, str], bytes] | None = None


def audiosocket_greeting(number: int) -> bytes:
    """The UUID message: call `number` is number + 1 (a UUID of zeros is none)."""
    return _AUDIOSOCKET.pack(_AUDIOSOCKET_UUID, 16) + UUID(int=number + 1).bytes


def audiosocket_pack(pcm: bytes) -> bytes:
    return _AUDIOSOCKET.pack(_AUDIOSOCKET_SLIN, len(pcm)) + pcm


def audiosocket_unpack(data: bytes) -> Unpacked:
    """Raises FramingError for anything but sound."""
    unpacked = Unpacked([])
    while len(data) - unpacked.used >= _AUDIOSOCKET.size:
        kind, length = _AUDIOSOCKET.unpack_from(data, unpacked.used)
        end = unpacked.used + _AUDIOSOCKET.size + length
        if end > len(data):
            break
        if kind != _AUDIOSOCKET_SLIN:
            raise FramingError(f"AudioSocket message of kind {kind:#04x}")
        unpacked.sound.append(data[unpacked.used + _AUDIOSOCKET.size : end])
        unpacked.used = end
    return unpacked


def websocket_upgrade(number: int, host: str) -> bytes:
    """The request with which Asterisk dials the bot's call `number`."""
    lines = (
        f"GET /call/{number} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {_KEY}",
        "Sec-WebSocket-Protocol: media",
    )
    return "\r\n".join([*lines, "", ""]).encode()


def check_upgrade(answer: bytes) -> None:
    """Raises FramingError if the bot's HTTP answer is no switch to websocket."""
    head = answer.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    if " 101 " not in head[0] or fields.get("sec-websocket-accept") != _ACCEPT:
        raise FramingError(f"the bot refused the websocket: {head[0]!r}")


def websocket_greeting(number: int) -> bytes:
    """MEDIA_START, in the form of `control_message_format = json`."""
    start = {
        "event": "MEDIA_START",
        "connection_id": f"call-{number}",
        "channel": f"WebSocket/call/{number}",
        "channel_id": f"call-{number}",
        "format": "slin",
        "optimal_frame_size": FRAME_BYTES,
        "ptime": 20,
        "channel_variables": {},
    }
    return _client_message(_TEXT, json.dumps(start).encode())


def websocket_pack(pcm: bytes) -> bytes:
    return _client_message(_BINARY, pcm)


def websocket_unpack(data: bytes) -> Unpacked:
    """Raises FramingError if the bot closes or a message is in pieces. Commands are read and ignored."""
    unpacked = Unpacked([])
    while (found := _server_message(data, unpacked.used)) is not None:
        first, payload, end = found
        if first == _FIN | _BINARY:
            unpacked.sound.append(payload)
        elif first == _FIN | _PING:
            unpacked.answer += _client_message(_PONG, payload)
        elif first == _FIN | _CLOSE:
            raise FramingError("the bot closed the websocket")
        elif first not in (_FIN | _TEXT, _FIN | _PONG):
            raise FramingError(f"websocket message that begins with {first:#04x}")
        unpacked.used = end
    return unpacked


def _client_message(opcode: int, payload: bytes) -> bytes:
    """RFC 6455 section 5.2, masked as a client must."""
    if len(payload) < 126:
        head = struct.pack("!BB", _FIN | opcode, _MASKED | len(payload))
    else:
        head = struct.pack("!BBH", _FIN | opcode, _MASKED | 126, len(payload))
    return head + _NO_MASK + payload


def _server_message(data: bytes, at: int) -> tuple[int, bytes, int] | None:
    """First byte, payload and end of the message at `at`; None while it is not whole."""
    if len(data) - at < 2:
        return None
    length, begin = data[at + 1], at + 2
    if length == 126:
        begin, length = begin + 2, int.from_bytes(data[begin : begin + 2], "big")
    elif length == 127:
        begin, length = begin + 8, int.from_bytes(data[begin : begin + 8], "big")
    if len(data) < begin + length:
        return None
    return data[at], data[begin : begin + length], begin + length


MEDIA = {
    "audiosocket": Medium(audiosocket_pack, audiosocket_unpack, audiosocket_greeting),
    "websocket": Medium(websocket_pack, websocket_unpack, websocket_greeting, websocket_upgrade),
}
