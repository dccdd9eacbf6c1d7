"""What model workers answer: the language model's event stream with the OpenAI deltas in it, and JSON of all three."""

from gpu_workers.client.answer import AnswerError, json_object
from gpu_workers.client.chat import ChatDeltas, ToolCall
from gpu_workers.client.health import health_of
from gpu_workers.client.sse import SseError, SseParser
from gpu_workers.client.stt import transcript_of
from gpu_workers.errors import WorkerError
from tests.fuzz.choices import Choices

TOKENS = tuple(
    text.encode()
    for text in (
        "data: ", "data:", "data", "event: error", ": ping", "id: 1", "retry: 1", "[DONE]", "\r\n",
        "\n\n", "\r\r", "\ufeff",
        '{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}', '"finish_reason":"stop"',
        '"finish_reason":"length"', '"finish_reason":"tool_calls"', '"delta":{', '"content":"',
        '"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]', '"index":',
        '"arguments":"',
        '{"error":{"message":"no","code":500}}', '"object":"error"', '"code":', "\\ud800", "NaN",
        "1e999", "[[[[[[[[",

        '{"text":"Hello","language":"en","duration":1.5,"segments":[{"start":0,"end":1.5,"no_speech_prob":0.1}]}',
        '"text":"', '"segments":[', '"avg_logprob":', '"start":', '"end":', '"duration":"', '"ready":',
        '"status":"',
    )
)  # fmt: skip
MAX_LEN = 4096

_EVENT_LIMIT = 1 << 20
_LONGEST_DETAIL = 200
_LONGEST_MESSAGE = 500


def one_input(data: bytes) -> None:
    choices = Choices(data)
    is_endless = choices.byte() == 0xFF
    choices, stream = Choices(choices.take(16)), choices.rest()
    events = SseParser().feed(stream)
    parser = SseParser()
    assert [event for piece in choices.pieces(stream) for event in parser.feed(piece)] == events
    _deltas(events)
    for body in (stream, *(event.encode() for event in events)):
        _whole(body)
    if is_endless:
        _never_ends(stream)


def _deltas(events: list[str]) -> None:
    deltas = ChatDeltas()
    for event in events:
        try:
            pieces = deltas.feed(event)
        except WorkerError as error:
            assert len(str(error).encode()) < 4 * _LONGEST_MESSAGE
            return
        for piece in pieces:
            text = piece.name + piece.id + piece.arguments if isinstance(piece, ToolCall) else piece
            assert text.encode()
            assert not isinstance(piece, ToolCall) or piece.name


def _whole(body: bytes) -> None:
    """The same bytes as an answer that is no stream."""
    assert len(health_of(200, body).detail.encode()) <= 4 * _LONGEST_DETAIL
    try:
        heard = transcript_of(json_object(body), 1.0)
    except AnswerError as error:
        assert len(str(error)) < _LONGEST_MESSAGE
        return
    heard.text.encode()


def _never_ends(stream: bytes) -> None:
    """The same bytes again and again as one line: the stream is given up, not kept without end."""
    if not stream or b"\n" in stream or b"\r" in stream:
        return
    parser = SseParser()
    repeated = stream * (65536 // len(stream))
    sent = 0
    try:
        while sent <= _EVENT_LIMIT:
            assert not parser.feed(repeated)
            sent += len(repeated)
    except SseError:
        return
    raise AssertionError(f"{sent} bytes of one line are kept")
