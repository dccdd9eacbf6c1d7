"""The parts of the worker clients that open no connection."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.client.answer import AnswerError, json_object
from gpu_workers.client.chat import ChatDeltas, Message, ToolCall
from gpu_workers.client.health import Health, health_of
from gpu_workers.client.pcm import PcmError, PcmStream
from gpu_workers.client.sse import SseError, SseParser
from gpu_workers.client.stt import Transcript, transcript_of, wav_file
from gpu_workers.errors import WorkerError

STREAM = (
    b"\xef\xbb\xbfdata: one\r\n\r\n: keep-alive\n\nevent: x\nid: 7\ndata:two\ndata: lines\n\n"
    b"data: h\xc3\xa4\xe4\xbd\xa0\r\rretry: 5\r\ndata\r\n\r\ndata: [DONE]\n\n"
)
EVENTS = ["one", "two\nlines", "hä你", "", "[DONE]"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_an_event_stream_split_anyhow(cuts: list[int]) -> None:
    bounds = sorted({0, *cuts, len(STREAM)})
    parser = SseParser()
    pieces = [STREAM[bounds[at] : bounds[at + 1]] for at in range(len(bounds) - 1)]
    assert [event for piece in pieces for event in parser.feed(piece)] == EVENTS


def test_an_event_stream_byte_by_byte() -> None:
    parser = SseParser()
    assert [event for byte in STREAM for event in parser.feed(bytes([byte]))] == EVENTS


def test_an_empty_piece_between_cr_and_lf_is_no_line() -> None:
    parser = SseParser()
    pieces = [b"data: a\r", b"", b"\ndata: b\r\n", b"\r\n"]
    assert [event for piece in pieces for event in parser.feed(piece)] == ["a\nb"]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_any_bytes_are_read_or_waited_for(pieces: list[bytes]) -> None:
    parser = SseParser()
    assert all(isinstance(event, str) for piece in pieces for event in parser.feed(piece))


def test_an_event_without_end_is_refused() -> None:
    parser = SseParser()
    with pytest.raises(SseError, match="1 MiB"):
        for _ in range(2000):
            parser.feed(b"x" * 1000)


def _delta(delta: object, finish_reason: str | None = None) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def test_text_comes_piece_by_piece() -> None:
    deltas = ChatDeltas()
    events = [
        _delta({"role": "assistant", "content": ""}),
        _delta({"content": "Hi"}),
        _delta({"content": " you"}),
        _delta({}, "stop"),
    ]
    assert [piece for event in events for piece in deltas.feed(event)] == ["Hi", " you"]
    assert (deltas.finish_reason, deltas.done) == ("stop", False)
    assert deltas.feed('{"choices": [], "usage": {"total_tokens": 5}}') == []
    assert deltas.feed("[DONE]") == []
    assert deltas.done


def test_half_a_character_in_a_delta_is_a_question_mark() -> None:
    deltas = ChatDeltas()
    assert deltas.feed(_delta({"content": "a\ud83d"})) == ["a?"]
    assert deltas.feed(_delta({"content": "\U0001f600\u00e4"})) == ["\U0001f600\u00e4"]
    with pytest.raises(WorkerError, match=r"no \?"):
        deltas.feed('{"error": "no \\ud800"}')


def test_a_tool_call_comes_whole_at_its_end() -> None:
    deltas = ChatDeltas()
    first = {"index": 0, "id": "call_9", "function": {"name": "transfer", "arguments": '{"to'}}
    second = {"index": 0, "function": {"arguments": '": "shop"}'}}
    assert deltas.feed(_delta({"tool_calls": [first]})) == deltas.feed(_delta({"tool_calls": [second]})) == []
    assert deltas.feed(_delta({}, "tool_calls")) == [ToolCall("call_9", "transfer", '{"to": "shop"}')]


def test_calls_that_a_server_does_not_number_are_kept_apart() -> None:
    deltas = ChatDeltas()
    for call_id, name in (("a", "status"), ("b", "hang_up")):
        function = {"name": name, "arguments": "{"}
        deltas.feed(_delta({"tool_calls": [{"index": 0, "id": call_id, "function": function}]}))
        deltas.feed(_delta({"tool_calls": [{"index": 0, "id": "other", "function": {"arguments": "}"}}]}))
    found = deltas.feed(_delta({}, "tool_calls"))
    assert [(call.name, call.arguments) for call in found if isinstance(call, ToolCall)] == [
        ("status", "{}"),
        ("hang_up", "{}"),
    ]


def test_a_tool_call_that_was_cut_short_is_dropped() -> None:
    deltas = ChatDeltas()
    deltas.feed(
        _delta({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "x", "arguments": '{"t'}}]})
    )
    assert deltas.feed(_delta({}, "length")) == []
    assert deltas.finish_reason == "length"


@pytest.mark.parametrize(
    ("data", "retryable", "status"),
    [
        ('{"error": {"message": "engine died", "code": 500}}', True, 500),
        ('{"error": {"message": "context too long", "code": 400}}', False, 400),
        ('{"object": "error", "message": "gone", "code": 503}', True, 503),
        ('{"error": "boom"}', True, None),
        ("nonsense", True, None),
        ("[1]", True, None),
        ("[" * 100_000, True, None),
    ],
)
def test_an_error_inside_the_stream(data: str, retryable: bool, status: int | None) -> None:
    with pytest.raises(WorkerError) as caught:
        ChatDeltas().feed(data)
    assert (caught.value.retryable, caught.value.status) == (retryable, status)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "index",
                    "function",
                    "name",
                    "arguments",
                    "id",
                    "error",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


_calls = st.builds(
    lambda parts: _delta({"tool_calls": parts}, "tool_calls"),
    _json
    | st.lists(
        st.fixed_dictionaries({}, optional=dict.fromkeys(["index", "id", "function"], _json)), max_size=3
    ),
)


@given(
    st.one_of(
        st.text(max_size=50),
        _json.map(json.dumps),
        _calls,
        _json.map(lambda inner: _delta(inner, "tool_calls")),
    )
)
def test_any_event_is_read_or_a_worker_error(data: str) -> None:
    try:
        pieces = ChatDeltas().feed(data)
    except WorkerError:
        return
    assert all(isinstance(piece, str | ToolCall) for piece in pieces)


def test_messages_as_the_api_wants_them() -> None:
    assert Message("user", "Hi").as_json() == {"role": "user", "content": "Hi"}
    asked = Message("assistant", "", tool_calls=(ToolCall("c1", "hang_up", "{}"),)).as_json()
    assert asked["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "hang_up", "arguments": "{}"}}
    ]
    assert Message("tool", "done", tool_call_id="c1").as_json()["tool_call_id"] == "c1"


def test_words_stay_out_of_a_repr() -> None:
    message = Message("user", "secret", tool_calls=(ToolCall("c1", "x", "secret"),))
    assert "secret" not in repr(message)


PCM = np.arange(-500, 500, dtype="<i2").tobytes()


def _wav(
    pcm: bytes,
    *,
    rate: int = 24000,
    channels: int = 1,
    bits: int = 16,
    kind: int = 1,
    size: int | None = None,
) -> bytes:
    form = struct.pack(
        "<HHIIHH", kind, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits
    )
    junk = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    fmt = b"fmt " + struct.pack("<I", 16) + form
    return (
        b"RIFF\xff\xff\xff\xffWAVE"
        + junk
        + fmt
        + b"data"
        + struct.pack("<I", len(pcm) if size is None else size)
        + pcm
    )


def _through(stream: PcmStream, sound: bytes, step: int) -> bytes:
    out = b"".join(stream.feed(sound[at : at + step]) for at in range(0, len(sound), step))
    return out + stream.feed(b"", last=True)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 43, 44, 45, 10_000])
class TestPcmSplitAnyhow:
    def test_raw(self, step: int) -> None:
        stream = PcmStream(22050)
        assert _through(stream, PCM, step) == PCM
        assert stream.rate == 22050

    def test_wav_without_its_header(self, step: int) -> None:
        stream = PcmStream(22050)
        assert _through(stream, _wav(PCM), step) == PCM
        assert stream.rate == 24000

    def test_what_follows_the_data_is_not_played(self, step: int) -> None:
        assert _through(PcmStream(8000), _wav(PCM) + b"LIST\x04\0\0\0noise", step) == PCM

    @pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF])
    def test_wav_of_unknown_size(self, step: int, size: int) -> None:
        assert _through(PcmStream(8000), _wav(PCM, size=size), step) == PCM

    def test_stereo_is_mixed_down(self, step: int) -> None:
        left = np.frombuffer(PCM, "<i2")
        both = np.stack([left, np.zeros_like(left)], axis=1).tobytes()
        mixed = np.rint(left / 2).astype("<i2").tobytes()
        assert _through(PcmStream(8000), _wav(both, channels=2), step) == mixed
        assert _through(PcmStream(48000, 2), both, step) == mixed

    def test_float_samples(self, step: int) -> None:
        floats = np.array([0.0, 0.5, -1.0, 2.0, np.nan, 3e38, -np.inf], "<f4").tobytes()
        floats += b"\x00\x00\xa0\x7f"  # a signalling NaN
        pcm = np.array([0, 16384, -32767, 32767, 0, 32767, -32767, 0], "<i2").tobytes()
        assert _through(PcmStream(8000), _wav(floats, kind=3, bits=32), step) == pcm

    def test_an_odd_byte_at_the_end_is_dropped(self, step: int) -> None:
        assert _through(PcmStream(8000), PCM + b"\x01", step) == PCM


@pytest.mark.parametrize(
    ("sound", "said"),
    [
        (_wav(PCM, bits=8), "8 bits"),
        (_wav(PCM, channels=6), "6 channels"),
        (_wav(PCM, kind=85), "format 85"),
        (_wav(PCM, rate=96000), "96000"),
        (b"RIFF\0\0\0\0WAVEdata\x04\0\0\0abcd", "no format"),
        (b"RIFF\0\0\0\0WAVE" + b"LIST\xff\xff\xff\x7f" + b"x" * 70_000, "64 KiB"),
        (b"ID3\x04rest", "MP3"),
        (b"OggS....", "Ogg"),
    ],
)
def test_sound_that_cannot_be_played(sound: bytes, said: str) -> None:
    with pytest.raises(PcmError, match=said):
        PcmStream(8000).feed(sound)


def test_a_rate_that_cannot_be_played() -> None:
    with pytest.raises(PcmError, match="4000"):
        PcmStream(4000)


@given(st.lists(st.binary(max_size=60), max_size=10), st.booleans())
def test_any_bytes_are_samples_or_a_pcm_error(pieces: list[bytes], riff: bool) -> None:
    stream = PcmStream(8000)
    try:
        out = b"".join(stream.feed(piece) for piece in [b"RIFF\0\0\0\0WAVE" if riff else b"", *pieces])
    except PcmError:
        return
    assert len(out) % 2 == 0


def test_our_own_wav_reads_back() -> None:
    stream = PcmStream(48000)
    assert _through(stream, wav_file(PCM, 16000), 999) == PCM
    assert stream.rate == 16000


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (b'{"text":" yes "}', Transcript("yes", None, None, None, 2.0)),
        (b'{"text":"a","segments":5,"language":1}', Transcript("a", None, None, None, 2.0)),
        (b'{"text":"a","duration":"1.5"}', Transcript("a", None, None, None, 1.5)),
        (b'{"text":"a","duration":1' + b"0" * 400 + b"}", Transcript("a", None, None, None, 2.0)),
        (
            b'{"text":"a","segments":[{"no_speech_prob":0.5,"end":1e999,"avg_logprob":NaN}]}',
            Transcript("a", None, 0.5, None, 2.0),
        ),
        (b'{"text":"a\\ud83d"}', Transcript("a?", None, None, None, 2.0)),
        (b'\xef\xbb\xbf{"text":"\xed\xa0\xbd"}', Transcript("\ufffd" * 3, None, None, None, 2.0)),
    ],
)
def test_a_transcript_of_any_server(answer: bytes, right: Transcript) -> None:
    assert transcript_of(json_object(answer), 2.0) == right


@pytest.mark.parametrize("answer", [b"", b"nonsense", b"5", b"[" * 100_000, b"{}", b'{"text":5}'])
def test_what_is_no_transcript(answer: bytes) -> None:
    with pytest.raises(AnswerError):
        transcript_of(json_object(answer), 2.0)


@pytest.mark.parametrize(
    ("status", "body", "right"),
    [
        (200, b"", Health(True)),
        (503, b"", Health(False, detail="status 503")),
        (200, b'{"status":"ok"}', Health(True, detail="ok")),
        (503, b'{"error":{"message":"Loading model","code":503}}', Health(False, detail="Loading model")),
        (200, b'{"ready":true,"model":"base","device":"cuda:0","live":true}', Health(True, "base", "cuda:0")),
        (200, b'{"ready":false,"model":"base"}', Health(False, "base")),
        (404, b"<html>", Health(False, detail="status 404")),
        (200, b"[1]", Health(True)),
        (200, b"[" * 100_000, Health(True)),
    ],
)
def test_health_in_every_dialect(status: int, body: bytes, right: Health) -> None:
    assert health_of(status, body) == right
