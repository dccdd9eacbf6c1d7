"""Bytes and texts from Asterisk's other transports: whatever they are, one error or a message."""

import contextlib
import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_bridge import audiosocket_messages as audiosocket
from media_bridge import websocket_messages as websocket

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {
        "event": st.sampled_from(
            "MEDIA_START STATUS MEDIA_XOFF MEDIA_XON MEDIA_MARK_PROCESSED DTMF_END ERROR QUEUE_DRAINED".split()
        )
    },
    optional=dict.fromkeys(
        ("format", "optimal_frame_size", "queue_length", "correlation_id", "error_text", "digit"), JSON
    ),
)
MESSAGES = st.lists(
    st.tuples(st.just(0x12), st.binary(max_size=700))
    | st.tuples(st.just(0x03), st.binary(min_size=1, max_size=1))
    | st.tuples(st.sampled_from([0x02, 0x04, 0x7F, 0xFE]), st.binary(max_size=40)),
    max_size=6,
)


def written(messages: list[tuple[int, bytes]]) -> bytes:
    return b"".join(bytes([kind]) + len(payload).to_bytes(2) + payload for kind, payload in messages)


@given(st.binary(max_size=400), st.sampled_from([8000, 16_000]))
def test_any_bytes_are_messages_or_no_audiosocket(data: bytes, rate: int) -> None:
    with contextlib.suppress(audiosocket.AudioSocketError):
        audiosocket.AudioSocketParser(rate).feed(data)


@given(MESSAGES, st.lists(st.integers(1, 300), max_size=12))
def test_how_the_bytes_come_changes_nothing(messages: list[tuple[int, bytes]], cuts: list[int]) -> None:
    stream = written(messages)
    whole = audiosocket.AudioSocketParser(16_000).feed(stream)
    assert len(whole) == len(messages)
    parser = audiosocket.AudioSocketParser(16_000)
    pieces: list[audiosocket.Message] = []
    for cut in [*cuts, len(stream)]:
        pieces += parser.feed(stream[:cut])
        stream = stream[cut:]
    assert pieces == whole
    sound = [payload for kind, payload in messages if kind == 0x12]
    assert [message.pcm for message in whole if isinstance(message, audiosocket.Audio)] == sound


@given(st.binary(max_size=700), st.sampled_from([8000, 16_000]))
def test_what_is_written_is_read(pcm: bytes, rate: int) -> None:
    assert audiosocket.AudioSocketParser(rate).feed(audiosocket.audio_message(pcm, rate)) == [
        audiosocket.Audio(pcm)
    ]


@given(st.uuids(), st.binary(min_size=1, max_size=3))
def test_the_first_message_is_a_uuid_and_nothing_else(uuid: UUID, more: bytes) -> None:
    data = b"\x01\x00\x10" + uuid.bytes
    assert audiosocket.parse_identity(data) == audiosocket.Identity(uuid)
    for wrong in (data[:-1], data + more, b"\x10" + data[1:], b""):
        with pytest.raises(audiosocket.AudioSocketError):
            audiosocket.parse_identity(wrong)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x10\x00\x02ab", "sound of kind 0x10 instead of 0x12"),
        (b"\x13\x00\x00", "sound of kind 0x13 instead of 0x12"),
        (b"\x01\x00\x02ab", "a UUID of 2 bytes"),
    ],
)
def test_what_was_not_agreed_is_named(data: bytes, says: str) -> None:
    with pytest.raises(audiosocket.AudioSocketError, match=says):
        audiosocket.AudioSocketParser(16_000).feed(data)


@given(st.text(max_size=200) | JSON.map(json.dumps) | FIELDS.map(json.dumps))
def test_any_text_is_an_event_or_none_of_the_media_websocket(text: str) -> None:
    with contextlib.suppress(websocket.WebsocketMessageError):
        websocket.parse_event(text)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (
            '{"event":"MEDIA_START","connection_id":"c","channel":"WebSocket/INCOMING/0x7","channel_id":"m",'
            '"format":"slin16","optimal_frame_size":640,"ptime":20,"channel_variables":{"A":"b"}}',
            websocket.MediaStart("slin16", 640),
        ),
        (
            '{"event":"STATUS","channel_id":"m","queue_length":5,"xon_level":800,"xoff_level":900,'
            '"queue_full":false,"bulk_media":false,"media_paused":true}',
            websocket.Status(5),
        ),
        (
            '{"event":"MEDIA_MARK_PROCESSED","channel_id":"m","correlation_id":"75"}',
            websocket.MarkProcessed(75),
        ),
        ('{"event":"MEDIA_XOFF","channel_id":"m"}', websocket.Xoff()),
        ('{"event":"MEDIA_XON","channel_id":"m"}', websocket.Xon()),
        ('{"event":"DTMF_END","channel_id":"m","digit":"5"}', websocket.DtmfEnd()),
        ('{"event":"ERROR","channel_id":"m","error_text":"no"}', websocket.Complaint("no")),
        ('{"event":"ERROR","error_text":"a\\ud800"}', websocket.Complaint("a?")),
        ('{"event":"\\ud83d"}', websocket.OtherEvent("?")),
        ('{"event":"QUEUE_DRAINED","channel_id":"m"}', websocket.OtherEvent("QUEUE_DRAINED")),
    ],
)
def test_what_asterisk_says(text: str, event: websocket.WebsocketEvent) -> None:
    assert websocket.parse_event(text) == event


def test_an_asterisk_too_old_for_json_is_named() -> None:
    with pytest.raises(websocket.WebsocketMessageError, match=r"22\.8"):
        websocket.parse_event("MEDIA_START connection_id:c channel:WebSocket/INCOMING/0x7 format:ulaw")


def test_commands_are_short_enough_for_asterisk() -> None:
    """MAX_TEXT_MESSAGE_LEN of chan_websocket.c is 128."""
    assert len(websocket.mark(websocket.MAX_MARK)) <= 128
    assert json.loads(websocket.mark(75)) == {"command": "MARK_MEDIA", "correlation_id": "75"}
    assert json.loads(websocket.command("FLUSH_MEDIA")) == {"command": "FLUSH_MEDIA"}
