"""What Asterisk says on the media websocket: texts, one a line, and sound between them."""

import json
from dataclasses import asdict

from media_bridge.codecs import WIRE
from media_bridge.settings import JitterSettings, Medium
from media_bridge.stream_in import StreamIn
from media_bridge.websocket_messages import (
    MAX_MARK,
    MarkProcessed,
    MediaStart,
    OtherEvent,
    Status,
    WebsocketMessageError,
    mark,
    parse_event,
)
from tests.fuzz.choices import Choices

TOKENS = tuple(
    text.encode()
    for text in (
        '{"event":"MEDIA_START","format":"slin16","optimal_frame_size":640,"ptime":20}',
        '{"event":"STATUS","queue_length":5}',
        '{"event":"MEDIA_MARK_PROCESSED","correlation_id":"75"}',
        '{"event":"ERROR","error_text":"no"}',
        '"MEDIA_XOFF"', '"MEDIA_XON"', '"DTMF_END"', '"QUEUE_DRAINED"', "MEDIA_START ", "\\ud800",
        "1e999", "NaN",
        '"event":', '"format":', '"optimal_frame_size":', '"queue_length":', '"correlation_id":',
        '"error_text":',
    )
)  # fmt: skip
MAX_LEN = 4096

_MEDIA = (Medium("websocket", "slin16"), Medium("websocket", "ulaw"))
_MAX_NUMBER = 1_000_000


def one_input(data: bytes) -> None:
    choices = Choices(data)
    first = choices.byte()
    if first & 2:
        _sound(choices, _MEDIA[first & 1])
        return
    # aiohttp hands on valid UTF-8 only
    for line in choices.rest().decode("utf-8", "replace").split("\n"):
        _text(line)


def _text(text: str) -> None:
    try:
        event = parse_event(text)
    except WebsocketMessageError as error:
        assert len(str(error)) < 200, "the text itself, which may hold anything, is in the log"
        return
    # what is logged
    json.dumps(asdict(event), ensure_ascii=False).encode()
    match event:
        case MediaStart(frame_bytes=number) | Status(queued=number):
            assert 0 <= number <= _MAX_NUMBER
        case MarkProcessed(number=number):
            assert 0 <= number < 10 * MAX_MARK
            assert f'"{number}"' in mark(number)
        case OtherEvent(name=name):
            assert len(name) <= 64


def _sound(choices: Choices, medium: Medium) -> None:
    """Messages of any length, part of a sample among them, and ticks."""
    wire = WIRE[medium]
    heard = StreamIn(wire, JitterSettings())
    while choices:
        what = choices.byte()
        heard.put((choices.take(4) * 1024)[: 16 * (what >> 1) + (what & 1)])
        for _ in range(what & 3):
            assert len(heard.frame()) == 2 * wire.rate // 50
