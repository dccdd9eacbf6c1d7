"""voicebot.yaml: languages, texts that are spoken, and what leaves room for the talk."""

import importlib
from pathlib import Path

import pytest
import yaml

from gpu_workers.stt.languages import WHISPER_LANGUAGES
from tests.support.configuration import config, only_problem
from voicebot.config import without_secrets

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "voicebot.example.yaml"


class TestLanguages:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            (
                "profiles: {default: {prompt: x, language: German}}",
                "is `German`, which is no language: write de",
            ),
            (
                "profiles: {default: {prompt: x, language: klingon}}",
                "is `klingon`, which is no language: write a code",
            ),
            ("profiles: {default: {prompt: x, language: de AT}}", "is `de AT`, which is no language"),
            (
                "profiles: {default: {prompt: x, language: tlh}}",
                "is `tlh`, which Whisper does not know: take it out",
            ),
            ("profiles: {default: {prompt: x, language: nb}}", 'which Whisper does not know: write "no"'),
            (
                "workers: {stt: {language: klingon}}",
                "workers.stt.language: is `klingon`, which is no language",
            ),
            ("workers: {stt: {language: de-AT}}", "which the recogniser does not know: write de"),
            (
                "workers: {stt: {language: de, model: whisper-tiny.en}}",
                "knows English only: take another one",
            ),
            (
                "profiles: {default: {prompt: x, language: fr}}\nworkers: {stt: {model: whisper-tiny.en}}",
                "profiles.default.language: is `fr`, and workers.stt.model whisper-tiny.en knows English only",
            ),
        ],
    )
    def test_one_that_the_recogniser_would_refuse_is_told(self, text: str, found: str) -> None:
        assert found in only_problem(text)

    @pytest.mark.parametrize("language", ["de", "de-AT", "pt_BR", "en-GB", "EN", "zh-Hant-TW", "null"])
    def test_any_other_is_taken(self, language: str) -> None:
        config(f"profiles: {{default: {{prompt: x, language: {language}}}}}")

    def test_a_recogniser_of_somebody_else_may_know_more(self) -> None:
        config(
            "workers: {stt: {start: false, url: 'http://127.0.0.1:1'}}\nprofiles: {default: {prompt: x, language: tlh}}"
        )

    def test_the_list_is_whisper_s(self) -> None:
        known = importlib.import_module("faster_whisper.tokenizer")._LANGUAGE_CODES
        assert frozenset(known) == WHISPER_LANGUAGES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("greeting: '🙂'", "greeting: holds nothing that a voice can say, is `🙂`"),
        ("disclosure: '...'", "disclosure: holds nothing that a voice can say, is `...`: take it out"),
        ("phrases: {not_told: '🙂'}", "phrases.not_told: holds nothing that a voice can say"),
        (
            "tools: {transfer: {targets: {a: '1'}, announcement: '-'}}",
            "tools.transfer.announcement: holds nothing that a voice can say",
        ),
    ],
)
def test_a_text_that_no_voice_can_say_is_told(text: str, found: str) -> None:
    assert found in only_problem(f"profiles: {{default: {{prompt: x, {text}}}}}")


@pytest.mark.parametrize(
    "text", ["greeting: 你好", "greeting: ''", "phrases: {filler: ''}", "greeting: '24/7'"]
)
def test_a_text_in_any_script_is_taken_and_so_is_none(text: str) -> None:
    config(f"profiles: {{default: {{prompt: x, {text}}}}}")


@pytest.mark.parametrize(
    ("profile", "found"),
    [
        (f"prompt: {'x' * 16_000}", "is about 4000 tokens with `private`, `examples` and `tools`"),
        ("prompt: x, max_tokens: 3900", "workers.llm.context_tokens 4096 has to leave 300 for the talk"),
        (
            "prompt: x, max_answer_chars: 2000",
            "is never reached: max_tokens 160 ends an answer before that, at 1280 characters at most: raise that",
        ),
    ],
)
def test_what_leaves_no_room_is_told(profile: str, found: str) -> None:
    assert found in only_problem(f"profiles: {{default: {{{profile}}}}}")


def test_the_window_of_a_server_elsewhere_counts_where_it_is_written() -> None:
    elsewhere = "start: false, url: 'http://127.0.0.1:1'"
    assert config("").workers.llm.known_context_tokens == 4096
    assert config(f"workers: {{llm: {{{elsewhere}}}}}").workers.llm.known_context_tokens is None
    written = config(f"workers: {{llm: {{{elsewhere}, context_tokens: 8192}}}}")
    assert written.workers.llm.known_context_tokens == 8192


@pytest.mark.parametrize("name", ["a:b", "a b", "a\\tb"])
def test_a_user_s_name_that_no_login_can_carry_is_told(name: str) -> None:
    assert "ari.username: may hold neither a colon nor blanks" in only_problem(f'ari: {{username: "{name}"}}')


def test_what_is_shown_holds_nothing_of_the_environment() -> None:
    text = (
        "profiles: {default: {prompt: x, tools: {http: {t: {description: x, reads: true,"
        " url: 'https://h.example/x?key=${KEY}&it=${IT}'}}}}}"
    )
    environ = {"KEY": "it''s-\\u0041-s3cret", "IT": "another"}
    shown = yaml.safe_dump(without_secrets(config(text, **environ), text, environ))
    assert "https://h.example/x?key=${KEY}&it=${IT}" in shown
    assert "s3cret" not in shown
