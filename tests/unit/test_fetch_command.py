"""`voicebot fetch`: which things, side by side, and what is said of those that cannot be had."""

import os
import time
from pathlib import Path

import pytest

from gpu_workers.errors import ModelError
from voicebot import fetch
from voicebot.config import Config, parse
from voicebot.errors import PartError


def names(text: str, *, for_tests: bool = False) -> list[str]:
    return list(fetch._jobs(parse(text, "x", {}), print, for_tests))


def test_what_the_defaults_need() -> None:
    assert names("") == ["Asterisk", "whisper-base", "smart-turn-v3.2", "qwen2.5-1.5b", "joe"]
    assert {"whisper-tiny.en", "SIPp"} <= set(names("", for_tests=True))


def test_nothing_for_what_runs_elsewhere() -> None:
    elsewhere = (
        "asterisk: {start: false}\nari: {password: x}\nworkers:\n"
        "  stt: {start: false, url: 'http://10.0.0.5:1'}\n  tts: {start: false, url: 'http://10.0.0.5:2'}\n"
    )
    assert names(elsewhere) == ["qwen2.5-1.5b"]


@pytest.mark.parametrize("llm", ["{engine: vllm, model: a/b}", "{device: 'cuda:1', model: a/b}"])
def test_vllm_loads_hub_names_itself(llm: str) -> None:
    assert "a/b" not in names(f"workers: {{llm: {llm}}}")


def test_side_by_side_and_every_failure_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused() -> None:
        raise ModelError("no such model")

    def waits_for_the_other() -> None:
        deadline = time.monotonic() + 20
        while not (tmp_path / "met").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        raise PartError("met" if (tmp_path / "met").exists() else "alone")

    jobs = {
        "a": waits_for_the_other,
        "b": refused,
        "c": lambda: os._exit(7),
        "d": (tmp_path / "met").touch,
    }
    monkeypatch.setattr(fetch, "_jobs", lambda *_: jobs)
    with pytest.raises(PartError) as caught:
        fetch.fetch_everything(Config(), print)
    assert str(caught.value).splitlines() == ["a: met", "b: no such model", "c: ended with exit code 7"]


def test_it_says_where_everything_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetch, "_jobs", lambda *_: {"a": lambda: None})
    said: list[str] = []
    config = parse(f"workers: {{cache_dir: {tmp_path}}}", "x", {})
    fetch.fetch_everything(config, said.append, only_missing=True)
    assert said == []
    fetch.fetch_everything(config, said.append)
    assert said == [f"All here, in {tmp_path}: a."]


def test_what_vllm_fetches_is_not_said_to_be_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetch, "_jobs", lambda *_: {"a": lambda: None})

    def told(llm: str) -> str:
        said: list[str] = []
        fetch.fetch_everything(parse(f"workers: {{llm: {llm}}}", "x", {}), said.append)
        return said[0]

    hub = told("{engine: vllm, model: acme/nine, python: /opt/vllm/bin/python}")
    assert "\nNot acme/nine: vLLM fetches it" in hub
    assert (
        """/opt/vllm/bin/python -c "import huggingface_hub as h; h.snapshot_download('acme/nine')\"""" in hub
    )
    assert "Not" not in told(f"{{engine: vllm, model: {tmp_path}}}")
    assert "Not" not in told("{}")
    assert "Not" not in told("{engine: vllm, model: acme/nine, start: false, url: 'http://10.0.0.5:1'}")
