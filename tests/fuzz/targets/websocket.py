"""What Asterisk says on the media websocket: texts, one a line, sound between them, and what the call makes of it."""

import json
from dataclasses import asdict
from typing import Any, cast

from media_bridge.codecs import WIRE
from media_bridge.log_gate import LogGate
from media_bridge.playout import Playout
from media_bridge.settings import JitterSettings, Medium
from media_bridge.stream_in import StreamIn
from media_bridge.transport import Offer
from media_bridge.transport_websocket import LEAD_FRAMES, WebsocketTransport
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
# a longer talk finds nothing that this one does not, and takes a second
_MOST_HAPPENS = 80
# shut for as long as a clock of these talks may run
_GATE = LogGate()
_GATE.open(1e12)


def one_input(data: bytes) -> None:
    choices = Choices(data)
    first = choices.byte()
    if first & 4:
        _Talk(choices, _MEDIA[first & 1]).run()
        return
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


class _Talk:
    """The bot speaks, pauses and is interrupted, while Asterisk tells what it likes of what it has played."""

    def __init__(self, choices: Choices, medium: Medium) -> None:
        self._choices = choices
        self._now = 0.0
        self._turn = 0
        self._put = 0
        rate = WIRE[medium].rate
        self._frame = b"\x01\x10" * (rate // 50)
        self._playout = Playout(rate=rate)
        # the connection itself is the wire tests'
        nobody = cast("Any", None)
        self._transport = WebsocketTransport(
            "c1", Offer(medium), nobody, JitterSettings(), _GATE, lambda: self._now
        )
        self._transport._websocket = cast("Any", object())

    def run(self) -> None:
        for _ in range(_MOST_HAPPENS):
            if not self._choices:
                break
            self._happens(self._choices.byte())
            self._check()
        self._hear_all()

    def _happens(self, what: int) -> None:
        transport, playout = self._transport, self._playout
        match what & 7:
            case 0:
                self._tick(1 + (what >> 3))
            case 1:
                self._say(1 + (what >> 3))
            case 2:
                playout.pause()
                transport.take_back(playout, self._now)
            case 3:
                playout.resume()
            case 4:
                playout.flush(transport.unheard_samples(self._now))
                transport.drop(playout, self._now)
            case 5:
                transport._take(f'{{"event":"STATUS","queue_length":{self._number(what)}}}')
            case 6:
                mark_of = f'"event":"MEDIA_MARK_PROCESSED","correlation_id":"{self._number(what)}"'
                transport._take(f"{{{mark_of}}}")
            case _:
                transport._take('{"event":"MEDIA_XOFF"}' if what & 8 else '{"event":"MEDIA_XON"}')

    def _number(self, what: int) -> int:
        """A few frames, or any number there may be."""
        return self._choices.long() if what & 128 else what >> 3

    def _say(self, frames: int) -> None:
        if not self._playout.is_open(self._turn):
            self._turn += 1
            self._put = 0
            self._playout.start_turn(self._turn)
            self._playout.begin_sentence(self._turn, "A sentence.")
        self._playout.put(self._turn, self._frame * frames)
        self._put += frames * len(self._frame) // 2

    def _tick(self, count: int = 1) -> None:
        for _ in range(count):
            self._now += 0.02
            self._transport.speak(self._playout, self._now, 0)
            # it leaves at once
            while not self._transport._out.empty():
                self._transport._out.get_nowait()

    def _check(self) -> None:
        unheard = self._transport.unheard_samples(self._now)
        assert len(self._transport._lead) <= LEAD_FRAMES
        assert 0 <= unheard <= LEAD_FRAMES * len(self._frame) // 2
        for sentence in self._playout.heard(unheard).sentences:
            assert 0 <= sentence.played_samples <= self._put

    def _hear_all(self) -> None:
        """Whatever was told, what is said from now on is heard, in its time."""
        self._transport._take('{"event":"MEDIA_XON"}')
        self._playout.flush(self._transport.unheard_samples(self._now))
        self._transport.drop(self._playout, self._now)
        self._turn += 1
        self._put = 0
        self._playout.start_turn(self._turn)
        self._playout.begin_sentence(self._turn, "The end.")
        self._say(10)
        self._playout.end_sentence(self._turn)
        self._playout.end_turn(self._turn)
        self._tick(10 + 2 * LEAD_FRAMES)
        assert self._playout.heard(self._transport.unheard_samples(self._now)).sentences[0].whole
