"""What Asterisk writes to an AudioSocket connection, in pieces of any size, while a clock takes the sound out."""

from media_bridge.audiosocket_messages import (
    IDENTITY_BYTES,
    Audio,
    AudioSocketError,
    AudioSocketParser,
    Message,
    audio_message,
    parse_identity,
)
from media_bridge.codecs import WIRE
from media_bridge.settings import JitterSettings, Medium
from media_bridge.stream_in import StreamIn
from tests.fuzz.choices import Choices

TOKENS = (
    b"\x01\x00\x10",
    b"\x03\x00\x01",
    b"\x10\x01\x40",
    b"\x12\x02\x80",
    b"\x00\x00\x00",
    b"\xff\x00\x01",
)
MAX_LEN = 4096

_MEDIA = (Medium("audiosocket", "slin"), Medium("audiosocket", "slin16"))


def one_input(data: bytes) -> None:
    choices = Choices(data)
    wire = WIRE[_MEDIA[choices.byte() & 1]]
    choices, stream = Choices(choices.take(16)), choices.rest()
    _identity(stream[:IDENTITY_BYTES])
    whole = _messages(wire.rate, [stream])
    pieces = choices.pieces(stream)
    split = _messages(wire.rate, pieces)
    assert split == whole or (whole is None and split is None)
    for message in whole or ():
        if isinstance(message, Audio):
            assert AudioSocketParser(wire.rate).feed(audio_message(message.pcm, wire.rate)) == [message]
    _listen(StreamIn(wire, JitterSettings()), AudioSocketParser(wire.rate), pieces, 2 * wire.rate // 50)


def _identity(first: bytes) -> None:
    try:
        said = parse_identity(first)
    except AudioSocketError:
        return
    assert said.uuid.bytes == first[3:]


def _messages(rate: int, pieces: list[bytes]) -> list[Message] | None:
    """None: not what was agreed."""
    parser = AudioSocketParser(rate)
    try:
        return [message for piece in pieces for message in parser.feed(piece)]
    except AudioSocketError:
        return None


def _listen(heard: StreamIn, parser: AudioSocketParser, pieces: list[bytes], frame_bytes: int) -> None:
    for piece in pieces:
        try:
            messages = parser.feed(piece)
        except AudioSocketError:
            return
        for message in messages:
            if isinstance(message, Audio):
                heard.put(message.pcm)
        assert len(heard.frame()) == frame_bytes
