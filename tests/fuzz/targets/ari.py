"""What Asterisk says on the event socket and in the answers of its REST interface: one JSON text a line."""

import json
from contextlib import suppress
from dataclasses import asdict

from stasis_app.ari.errors import AriEventError
from stasis_app.ari.events import (
    MAX_ID_CHARS,
    ChannelEvent,
    PlaybackFinished,
    StasisStart,
    UnknownEvent,
    parse_bridge,
    parse_channel,
    parse_event,
)
from stasis_app.ari.hub import AriCounts, EventHub
from stasis_app.ari.names import LegNames

TOKENS = tuple(
    text.encode()
    for text in (
        '"type":"', "StasisStart", "StasisEnd", "ChannelDestroyed", "ChannelHangupRequest",
        "ChannelDtmfReceived",
        "ChannelHold", "ChannelUnhold", "PlaybackFinished", "ApplicationReplaced", '"timestamp":"',
        "2026-01-01T00:00:00.000+0000", '"args":[', '"channel":{', '"id":"', '"name":"', '"state":"',
        '"caller":{',
        '"number":"', '"dialplan":{', '"app_name":"', '"app_data":"', '"playback":{',
        '"target_uri":"channel:',
        '"bridge":{', '"channels":[', '"cause":', '"digit":"', '"duration_ms":', "vb-i-c-media",
        "\\ud800", "1e999",
    )
)  # fmt: skip
MAX_LEN = 4096


def one_input(data: bytes) -> None:
    calls: list[str] = []
    hub = EventHub(LegNames("i"), lambda start: calls.append(start.channel_id), lambda: None, AriCounts())
    lines = data.decode("utf-8", "replace").split("\n")
    with hub.leg("c"), hub.subscribe("1700000000.1", "vb-i-c-media"):
        for line in lines:
            _event(line, hub, calls)
    assert hub.counts.events <= len(lines)


def _event(text: str, hub: EventHub, calls: list[str]) -> None:
    _models(text)
    try:
        event = parse_event(text)
    except AriEventError as error:
        assert len(str(error)) < 200, "the text itself, which may hold a number, is in the log"
        return
    if isinstance(event, UnknownEvent):
        assert len(event.type) <= MAX_ID_CHARS
    if isinstance(event, ChannelEvent | PlaybackFinished):
        # what goes into a URL
        assert len(event.channel_id) <= MAX_ID_CHARS
    # what is logged and stored
    json.dumps(asdict(event), ensure_ascii=False, default=str).encode()
    before = len(calls)
    known = isinstance(event, StasisStart) and event.channel_id in hub.callers
    hub.dispatch(event)
    assert len(calls) - before <= (isinstance(event, StasisStart) and not known)


def _models(text: str) -> None:
    """The same fields as REST answers."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return
    with suppress(AriEventError):
        channel = parse_channel(body)
        assert 0 < len(channel.id) <= MAX_ID_CHARS
        assert channel.in_app("voicebot") in {True, False}
    with suppress(AriEventError):
        assert parse_bridge(body).id
