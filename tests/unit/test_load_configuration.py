"""The voicebot.yaml of a load test."""

from itertools import pairwise
from typing import Any

import pytest
import yaml

from benchmarks import load
from benchmarks.load_kit.configuration import Ports, configuration, merged
from media_bridge.settings import MediaSettings
from stasis_app.settings import Profile
from voicebot.config import Config, parse

FAKES = {name: f"http://127.0.0.1:{port}" for name, port in (("stt", 9001), ("llm", 9002), ("tts", 9003))}
OWN = """
asterisk: {start: false}
ari: {url: "http://192.0.2.1:8088", password: "${SECRET}", app: lab}
calls: {max_calls: 3, processes: 4, flight_recorder: /srv/flights}
workers:
  llm: {start: false, url: "http://192.0.2.2:8000", model: m}
profiles:
  default:
    prompt: Sell one walrus.
    greeting: Walrus
    no_input_s: 5
    phrases: {apology: Oh dear.}
    tools:
      hang_up: true
      transfer: {targets: {desk: "2000"}}
      http: {order: {description: Orders one., url: "https://shop.example/orders"}}
  other: {prompt: Other., media: {transport: audiosocket, codec: slin16}}
media: {transport: audiosocket, codec: slin16}
"""


def made(own: Any, fakes: dict[str, str] | None = None) -> Config:
    return parse(configuration(Ports.drawn(), 7, own, fakes), "made", {"SECRET": "s"})


def test_nothing_of_ones_own_is_the_shop_of_the_demo() -> None:
    it = made({})
    assert it.calls.max_calls == 7
    assert it.profiles["default"].greeting.startswith("Lakeside Bikes")
    assert it.profiles["default"].phrases.filler == ""
    assert all(worker.start for worker in (it.workers.stt, it.workers.llm, it.workers.tts))
    assert it.ari.url == f"http://127.0.0.1:{it.asterisk.http_port}"


def test_ones_own_models_and_words_stay() -> None:
    it = made(yaml.safe_load(OWN))
    assert (it.workers.llm.start, it.workers.llm.base_url) == (False, "http://192.0.2.2:8000")
    assert (it.workers.stt.start, it.asterisk.start, it.calls.processes) == (True, True, 1)
    profile = it.profiles["default"]
    assert (profile.greeting, profile.no_input_s) == ("Walrus", 120.0)
    assert (profile.phrases.apology, profile.phrases.filler) == ("Oh dear.", "")
    assert (it.ari.app, it.ari.url) == ("voicebot", f"http://127.0.0.1:{it.asterisk.http_port}")


@pytest.mark.parametrize("fakes", [None, FAKES])
def test_nothing_is_left_behind_nor_set_going_elsewhere(fakes: dict[str, str] | None) -> None:
    it = made(yaml.safe_load(OWN), fakes)
    assert it.calls.flight_recorder is None
    assert list(it.profiles) == ["default"]
    assert it.profiles["default"].tools == Profile(prompt="x").tools
    assert it.media.transport == "audiosocket"
    assert it.media.audiosocket_port != MediaSettings().audiosocket_port


def test_a_configuration_that_the_fakes_would_not_heed_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["load", "-c", "mine.yaml"])
    with pytest.raises(SystemExit):
        load.main()
    assert "-c mine.yaml is for --models real" in capsys.readouterr().err


@pytest.mark.parametrize("own", [{}, yaml.safe_load(OWN)])
def test_fakes_take_the_place_of_all_models(own: Any) -> None:
    it = made(own, FAKES)
    workers = {"stt": it.workers.stt, "llm": it.workers.llm, "tts": it.workers.tts}
    assert {name: worker.base_url for name, worker in workers.items()} == FAKES
    assert not any(worker.start for worker in workers.values())


def test_the_ranges_of_ports_do_not_touch() -> None:
    for _ in range(50):
        it = Ports.drawn()
        ranges = sorted((it.asterisk, it.bot, it.tap, it.sipp), key=lambda ports: ports[0])
        assert ranges[0][0] >= 10_000
        assert ranges[-1][-1] < 32_768
        for before, after in pairwise(ranges):
            assert before[-1] < after[0]


def test_what_is_not_a_mapping_is_replaced() -> None:
    assert merged({"a": {"b": 1, "c": [1]}, "d": None}, {"a": {"c": [2]}, "d": {"e": 3}}) == {
        "a": {"b": 1, "c": [2]},
        "d": {"e": 3},
    }
