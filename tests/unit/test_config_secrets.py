"""voicebot.yaml: secrets, what would cross a network in clear text, and where files lie."""

from pathlib import Path

import pytest

from tests.support.configuration import config, only_problem
from voicebot.config import ConfigError, parse
from voicebot.config.clear_text import in_clear_text
from voicebot.config.weak_secrets import weak_secrets

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "voicebot.example.yaml"


def test_a_secret_with_its_files_line_end_is_told_without_showing_it() -> None:
    with pytest.raises(ConfigError, match=r"workers\.llm\.api_key: has a line end") as caught:
        config('workers: {llm: {api_key: "HIDDEN\\n"}}')
    assert "HIDDEN" not in str(caught.value)


def test_no_number_is_endless() -> None:
    with pytest.raises(ConfigError, match=r"calls\.max_call_s"):
        config("calls: {max_call_s: .inf}")


def test_an_expected_answer_of_no_kind_is_told_with_the_kinds() -> None:
    with pytest.raises(ConfigError) as wrong:
        parse("profiles: {default: {prompt: x, expect: 'digits:99'}}", "voicebot.yaml", {})
    assert "profiles.default.expect: 'digits:99': only digits take a number, from 1 to 40" in str(wrong.value)
    right = "profiles: {default: {prompt: x, greeting: 'Your number?', expect: 'digits:8'}}"
    assert parse(right, "v", {}).profiles["default"].expect


def test_a_web_port_that_the_network_reaches_needs_a_token() -> None:
    assert only_problem("web: {host: 0.0.0.0}").startswith(
        "line 1: web.token: is missing, and 0.0.0.0 can be reached"
    )
    assert config("web: {host: 0.0.0.0, token: '${T}'}", T="HIDDEN").web.token is not None


def test_what_would_cross_a_network_in_clear_text_is_told_without_showing_secrets() -> None:
    remote = config(
        "asterisk: {start: false}\n"
        "ari: {url: 'http://10.0.0.5:8088', password: HIDDEN}\n"
        "media: {bind_host: 0.0.0.0, advertise_host: 10.0.0.6}\n"
        "workers:\n"
        "  stt: {start: false, url: 'http://10.0.0.7:8101', api_key: HIDDEN}\n"
        "  llm: {start: false, url: 'https://10.0.0.7:8102', api_key: HIDDEN}\n"
        "  tts: {start: false, url: 'http://127.0.0.1:8103', more_urls: ['http://127.0.0.1:8104', 'http://10.0.0.8:8103']}\n"
    )
    told = list(in_clear_text(remote))
    assert [line.split(" ")[0] for line in told] == ["ari.url", "workers.stt.url", "workers.tts.more_urls"]
    assert "HIDDEN" not in "".join(told)
    assert list(in_clear_text(config(""))) == []


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("walrus", "has fewer than 12 characters"),
        ("A-LONG-RANDOM-WORD", "is the word that the documentation shows"),
        ("a long random word", "is the word that the documentation shows"),
        ("abababababababab", "has fewer than 6 different characters"),
        ("5d2c0f8e7b6a49318c7d", ""),
    ],
)
def test_secrets_that_can_be_guessed_are_told_and_not_shown(secret: str, why: str) -> None:
    text = "ari: {password: '${S}'}\nweb: {token: '${S}'}\n"
    text += "workers: {stt: {api_key: '${S}'}, llm: {api_key: '${S}'}}"
    told = list(weak_secrets(config(text, S=secret)))
    keys = ["ari.password", "web.token", "workers.stt.api_key", "workers.llm.api_key"] if why else []
    assert [line.partition(":")[0] for line in told] == [f"{key} {why}" for key in keys]
    assert secret not in "".join(told)
    assert list(weak_secrets(config(""))) == []


class TestHomeFolder:
    def test_a_path_that_begins_there_is_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/ann")
        found = config(
            """
            workers:
              cache_dir: ~/models
              stt: {model: ~/whisper, turn_model: ~/turn.onnx}
              llm: {engine: vllm, python: ~/vllm/bin/python, model: ~/models/Qwen}
              tts: {voice: ~/ann.onnx, voices: [~/bob.onnx, joe]}
            asterisk: {binary: ~/asterisk/sbin/asterisk}
            log: {directory: ~/log}
            calls: {flight_recorder: ~/flights}
            """
        )
        workers, llm = found.workers, found.workers.llm
        assert (str(workers.cache_dir), workers.stt.model) == ("/home/ann/models", "/home/ann/whisper")
        assert (str(llm.python), llm.model) == ("/home/ann/vllm/bin/python", "/home/ann/models/Qwen")
        assert (workers.stt.turn_model, workers.tts.voice) == ("/home/ann/turn.onnx", "/home/ann/ann.onnx")
        assert workers.tts.voices == ("/home/ann/bob.onnx", "joe")
        assert str(found.asterisk.binary) == "/home/ann/asterisk/sbin/asterisk"
        assert (str(found.log.directory), str(found.calls.flight_recorder)) == (
            "/home/ann/log",
            "/home/ann/flights",
        )

    @pytest.mark.parametrize(
        "written",
        ["workers: {llm: {python: ~nobody-here/python}}", "workers: {stt: {model: ~nobody-here/w}}"],
    )
    def test_that_of_a_user_there_is_not(self, written: str) -> None:
        assert "begins with ~nobody-here, and this machine has no such user" in only_problem(written)
