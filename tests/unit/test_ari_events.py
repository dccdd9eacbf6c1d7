"""The event parser: what Asterisk 22.10 really sends, and anything else."""

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stasis_app.ari.errors import AriEventError
from stasis_app.ari.events import (
    MAX_EVENT_CHARS,
    ApplicationReplaced,
    Bridge,
    Channel,
    ChannelDestroyed,
    ChannelDtmfReceived,
    ChannelHangupRequest,
    ChannelHold,
    PlaybackFinished,
    StasisEnd,
    StasisStart,
    UnknownEvent,
    parse_bridge,
    parse_channel,
    parse_event,
)

CHANNEL = (
    '{"id":"voicebot-test-1796039222.0","name":"PJSIP/caller-00000000","state":"Ring",'
    '"protocol_id":"1-12418@127.0.0.1","caller":{"name":"","number":"15551234567"},'
    '"connected":{"name":"","number":""},"accountcode":"","dialplan":{"context":"inbound","exten":"1234",'
    '"priority":2,"app_name":"Stasis","app_data":"voicebot,1234,15551234567"},'
    '"creationtime":"2026-11-30T11:47:02.426+0000","language":"en"}'
)
PARSED = Channel(
    id="voicebot-test-1796039222.0",
    name="PJSIP/caller-00000000",
    state="Ring",
    caller_number="15551234567",
    context="inbound",
    exten="1234",
    app_name="Stasis",
    app_data="voicebot,1234,15551234567",
)


def event(kind: str, **fields: object) -> str:
    return json.dumps({"type": kind, "channel": json.loads(CHANNEL), **fields})


def test_stasis_start_as_asterisk_sends_it() -> None:
    text = (
        '{"type":"StasisStart","timestamp":"2026-11-30T11:47:02.426+0000","args":["1234","15551234567"],"channel":'
        + CHANNEL
        + ',"asterisk_id":"02:fc:00:00:00:01","application":"voicebot"}'
    )
    at = datetime(2026, 11, 30, 11, 47, 2, 426000, tzinfo=UTC)
    assert parse_event(text) == StasisStart(PARSED, ("1234", "15551234567"), at)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        (event("StasisEnd"), StasisEnd(PARSED)),
        (event("ChannelDestroyed", cause=16, cause_txt="Normal Clearing"), ChannelDestroyed(PARSED, 16)),
        (event("ChannelHangupRequest", cause=32, soft=True), ChannelHangupRequest(PARSED, 32)),
        (event("ChannelHangupRequest"), ChannelHangupRequest(PARSED, 0)),
        (event("ChannelDtmfReceived", digit="#", duration_ms=120), ChannelDtmfReceived(PARSED, "#", 120)),
        # half a character may stand in any text
        (event("ChannelDtmfReceived", digit="\ud800"), ChannelDtmfReceived(PARSED, "?", 0)),
        (event("StasisStart", args=["\ud83d", "\U0001f600"]), StasisStart(PARSED, ("?", "\U0001f600"), None)),
        (
            '{"type":"PlaybackFinished","playback":{"id":"p1","target_uri":"channel:\\udfff"}}',
            PlaybackFinished("p1", "?", ""),
        ),
        (
            '{"type":"PlaybackFinished","playback":{"id":"p1","target_uri":"channel:' + "x" * 257 + '"}}',
            PlaybackFinished("p1", "", ""),
        ),
        (event("ChannelHold", musicclass="default"), ChannelHold(PARSED)),
        ('{"type":"ApplicationReplaced","application":"voicebot"}', ApplicationReplaced("voicebot")),
        (event("ChannelVarset", variable="X", value="1"), UnknownEvent("ChannelVarset")),
        (
            '{"type":"PlaybackFinished","playback":{"id":"p1","target_uri":"channel:1.2","state":"done"}}',
            PlaybackFinished("p1", "1.2", "done"),
        ),
        (
            '{"type":"PlaybackFinished","playback":{"id":"p1","target_uri":"bridge:b","state":"failed"}}',
            PlaybackFinished("p1", "", "failed"),
        ),
    ],
)
def test_the_events_the_bot_uses(text: str, parsed: object) -> None:
    assert parse_event(text) == parsed


def test_a_start_with_an_unreadable_time_is_still_a_call() -> None:
    parsed = parse_event(event("StasisStart", args=[], timestamp="yesterday"))
    assert parsed == StasisStart(PARSED, (), None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ('{"type":"StasisStart"', "not JSON"),
        ("[" * 100_000, "not JSON: RecursionError"),
        ("1" * 5000, "not JSON"),
        ("[]", "event: not an object"),
        ("{}", "type: not a text"),
        ('{"type":7}', "type: not a text"),
        ('{"type":"StasisEnd"}', "channel: not an object"),
        ('{"type":"StasisEnd","channel":{}}', "id: not a text"),
        ('{"type":"StasisEnd","channel":{"id":""}}', "id: empty, too long"),
        ('{"type":"StasisEnd","channel":{"id":"' + "x" * 257 + '"}}', "id: empty, too long"),
        ('{"type":"StasisEnd","channel":{"id":"\\ud800"}}', "not Unicode"),
        (event("StasisStart", args="1234"), "args: not a list of texts"),
        (event("StasisStart", args=[1]), "args: not a list of texts"),
        (event("ChannelDtmfReceived", digit="12"), "digit: not one character"),
        ('"' + "x" * MAX_EVENT_CHARS + '"', f"more than {MAX_EVENT_CHARS}"),
    ],
)
def test_what_is_not_an_event(text: str, why: str) -> None:
    with pytest.raises(AriEventError, match=why):
        parse_event(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["StasisStart", "StasisEnd", "ChannelDtmfReceived", "PlaybackFinished", "ChannelDestroyed"]
)
FIELDS = st.sampled_from(
    ["channel", "args", "timestamp", "digit", "duration_ms", "playback", "cause", "application"]
)


@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_an_event_or_an_event_error(text: str) -> None:
    with suppress(AriEventError):
        parse_event(text)


@given(KINDS, st.dictionaries(FIELDS, JSON | st.just(json.loads(CHANNEL)), max_size=6))
def test_any_fields_are_an_event_or_an_event_error(kind: str, fields: dict[str, object]) -> None:
    with suppress(AriEventError):
        parse_event(json.dumps({"type": kind, **fields}))


def test_no_number_and_no_digit_in_a_repr() -> None:
    shown = repr(parse_event(event("StasisStart", args=["1234", "15551234567"])))
    shown += repr(parse_event(event("ChannelDtmfReceived", digit="7", duration_ms=20)))
    assert "PJSIP" not in shown, "the name of an endpoint may be a number"
    assert "15551234567" not in shown
    assert "1234'" not in shown
    assert "'7'" not in shown


@pytest.mark.parametrize(
    ("app_name", "app_data", "inside"),
    [
        ("Stasis", "voicebot", True),
        ("Stasis", "voicebot,1234", True),
        ("Stasis", "voicebot2", False),
        ("Stasis", "other,voicebot", False),
        ("AppDial2", "(Outgoing Line)", False),
        ("Playback", "voicebot", False),
    ],
)
def test_which_channels_are_in_the_app(app_name: str, app_data: str, inside: bool) -> None:
    assert Channel("1.2", app_name=app_name, app_data=app_data).in_app("voicebot") is inside


def test_channels_and_bridges_of_a_listing() -> None:
    assert parse_channel(json.loads(CHANNEL)) == PARSED
    assert parse_bridge({"id": "b", "channels": ["1.2", "1.3"], "technology": "x"}) == Bridge(
        "b", ("1.2", "1.3")
    )
    with pytest.raises(AriEventError, match="bridge: not an object"):
        parse_bridge("b")
