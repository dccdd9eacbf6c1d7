"""What each of several call processes has of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voicebot.config import Config, ConfigError, parse
from voicebot.config.processes import calls_of_each, parts_of, share_of
from voicebot.ports import listeners

AUDIOSOCKET = "media: {transport: audiosocket}\n"


def config(text: str) -> Config:
    return parse(text, "test.yaml", {})


def test_one_process_is_the_configuration_as_it_is() -> None:
    one = config("")
    assert parts_of(one) == {"calls": one}


def test_each_has_its_own_name_and_ports() -> None:
    parts = parts_of(config("calls: {processes: 3}\nmedia: {port_start: 20001, port_end: 20130}"))
    assert list(parts) == ["calls", "calls-2", "calls-3"]
    own = [
        (part.ari.app, part.web.port, part.media.audiosocket_port, part.media.port_start, part.media.port_end)
        for part in parts.values()
    ]
    assert own == [
        ("voicebot", 8080, 9092, 20002, 20043),
        ("voicebot-2", 8081, 9093, 20044, 20085),
        ("voicebot-3", 8082, 9094, 20086, 20127),
    ]
    assert {part.calls.processes for part in parts.values()} == {1}


@given(
    start=st.integers(1024, 60_000), width=st.integers(4, 2000), processes=st.integers(1, 64), data=st.data()
)
def test_the_shares_of_the_rtp_ports_never_meet(
    start: int, width: int, processes: int, data: st.DataObject
) -> None:
    media = {"port_start": start, "port_end": min(65_535, start + width)}
    whole = Config().model_copy(
        update={
            "media": Config().media.model_copy(update=media),
            "calls": Config().calls.model_copy(update={"processes": processes}),
        }
    )
    room = calls_of_each(whole)
    shares = [share_of(whole, number).media for number in range(1, processes + 1)]
    even = [
        {port for port in range(share.port_start, share.port_end + 1) if port % 2 == 0} for share in shares
    ]
    assert all(len(ports) == room for ports in even) or processes == 1
    assert sum(map(len, even)) == len(set().union(*even))
    first, second = data.draw(st.lists(st.integers(0, processes - 1), min_size=2, max_size=2))
    if processes > 1 and room:
        inside = range(media["port_start"], media["port_end"] + 2)  # an even port's odd one is never used
        assert {shares[first].port_start, shares[second].port_end} <= set(inside)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "calls: {processes: 2}\nmedia: {port_start: 20000, port_end: 20077}",
            "calls.processes: 2 processes of 20 calls each (calls.max_calls) need 80 ports, and media.port_start"
            " to media.port_end are 20000-20077: widen that, or set this to 1",
        ),
        (
            "calls: {processes: 2}\nasterisk: {rtp_start: 10000, rtp_end: 10099}",
            "calls.processes: 2 processes of 20 calls each (calls.max_calls) need 160 ports, and"
            " asterisk.rtp_start to asterisk.rtp_end are 10000-10099: widen that, or set this to 1",
        ),
        (
            "calls: {processes: 2, max_calls: 600}\nasterisk: {start: false}\nari: {password: x}",
            "calls.processes: 2 processes of 600 calls each (calls.max_calls) need 2400 ports, and"
            " media.port_start to media.port_end are 20000-20998: widen that, or lower calls.max_calls",
        ),
        ("calls: {processes: 2}\nweb: {port: 8100}", "workers.stt.port: 8101 is also web.port"),
        ("calls: {processes: 9}", "line 1: asterisk.http_port: 8088 is also web.port of process 9"),
        (
            f"calls: {{processes: 2}}\nweb: {{port: 9093}}\n{AUDIOSOCKET}",
            "media.audiosocket_port: 9093 of process 2 (calls.processes) is also web.port:",
        ),
        (
            "calls: {processes: 2}\nweb: {port: 65535}",
            "web.port: 65536 would be that of a further process: the last port there is is 65535",
        ),
        ("calls: {processes: 0}", "calls.processes: must be at least 1"),
    ],
)
def test_what_does_not_fit_is_told(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(text)
    (_, line) = str(caught.value).splitlines()
    assert message in line


def test_the_number_of_the_command_line_goes_before_that_of_the_file() -> None:
    assert parse("calls: {processes: 2}", "test.yaml", {}, processes=3).calls.processes == 3
    with pytest.raises(ConfigError, match=r"calls\.processes: 30 processes of 20 calls each"):
        parse("", "test.yaml", {}, processes=30)


def test_the_ports_of_all_of_them_are_looked_at() -> None:
    found = listeners(config(f"calls: {{processes: 2}}\n{AUDIOSOCKET}"))
    own = [(one.setting, one.port) for one in found if one.setting.startswith(("web", "media"))]
    assert own == [
        ("web.port", 8080),
        ("web.port", 8081),
        ("media.audiosocket_port", 9092),
        ("media.audiosocket_port", 9093),
    ]
