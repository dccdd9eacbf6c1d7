"""Ports are looked at before anything starts; each one in use is named with its key."""

import socket
from contextlib import ExitStack

import pytest

from voicebot.config import parse
from voicebot.errors import PortTakenError
from voicebot.ports import Listener, listeners, refuse_taken


def taken(stack: ExitStack, kind: socket.SocketKind) -> int:
    opened = stack.enter_context(socket.socket(socket.AF_INET, kind))
    opened.bind(("127.0.0.1", 0))
    if kind is socket.SOCK_STREAM:
        opened.listen()
    port = opened.getsockname()[1]
    assert isinstance(port, int)
    return port


def test_every_port_in_use_is_named_at_once() -> None:
    with ExitStack() as stack:
        tcp, udp = taken(stack, socket.SOCK_STREAM), taken(stack, socket.SOCK_DGRAM)
        wanted = [
            Listener("web.port", "127.0.0.1", tcp),
            Listener("workers.stt.port", "127.0.0.1", 0),
            Listener("asterisk.sip_port", "127.0.0.1", udp, udp=True),
        ]
        with pytest.raises(PortTakenError) as caught:
            refuse_taken(wanted)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"TCP port {tcp} on 127.0.0.1 (web.port) is in use")
    assert lines[1].startswith(f"UDP port {udp} on 127.0.0.1 (asterisk.sip_port) is in use")
    assert len(lines) == 2


def test_a_port_of_the_other_protocol_is_free() -> None:
    with ExitStack() as stack:
        refuse_taken([Listener("asterisk.sip_port", "127.0.0.1", taken(stack, socket.SOCK_STREAM), udp=True)])


def test_an_address_of_another_machine() -> None:
    with pytest.raises(
        PortTakenError, match=r"\(web\.port\) cannot be opened: .* Change web\.port or the host"
    ):
        refuse_taken([Listener("web.port", "192.0.2.1", 8080)])


def test_what_runs_elsewhere_opens_nothing_here() -> None:
    text = (
        "asterisk: {start: false}\nari: {password: x}\nworkers:\n"
        "  stt: {start: false, url: 'http://10.0.0.5:1'}\n  llm: {start: false, url: 'http://10.0.0.5:2'}\n"
    )
    assert [one.setting for one in listeners(parse(text, "x", {}))] == ["web.port", "workers.tts.port"]
    one_profile = "profiles: {default: {prompt: x, media: {transport: audiosocket}}}"
    assert "media.audiosocket_port" in [one.setting for one in listeners(parse(one_profile, "x", {}))]
    assert [one.setting for one in listeners(parse("", "x", {}))] == [
        "web.port",
        "asterisk.sip_port",
        "asterisk.http_port",
        "workers.stt.port",
        "workers.llm.port",
        "workers.tts.port",
    ]
