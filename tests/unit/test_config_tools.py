"""The `tools:` part of a profile: what is taken, what is refused and with which words, and its page of the example."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from stasis_app.tools.settings import HttpRequest, Parameter, Target, Tools, Transfer
from voicebot.config import Config, ConfigError, parse
from voicebot.config.clear_text import in_clear_text

EXAMPLE = Path(__file__).parents[2] / "voicebot.example.yaml"
URL = "https://shop.example/x"


def config(tools: object, **environ: str) -> Config:
    profile = {"prompt": "x", "greeting": "Hello.", "tools": tools}
    return parse(json.dumps({"profiles": {"default": profile}}), "test.yaml", environ)


def problem(tools: object, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        config(tools, **environ)
    head, line = str(caught.value).splitlines()
    assert head == "test.yaml: 1 problem"
    return line.removeprefix("  line 1: profiles.default.tools.")


def test_an_extension_alone_is_a_target() -> None:
    transfer = config({"transfer": {"targets": {"front_desk": "2000"}}}).profiles["default"].tools.transfer
    assert transfer
    assert transfer.targets["front_desk"] == Target(extension="2000", context="voicebot-transfer", priority=1)


@pytest.mark.parametrize(
    ("transfer", "said"),
    [
        ({}, "transfer.targets: is missing"),
        ({"targets": {"a": 2000}}, "transfer.targets.a.extension: needs text, is `2000`: put it in quotes"),
        ({"targets": {"a": "2000,1)"}}, "transfer.targets.a.extension: may hold letters, digits"),
        ({"targets": {"a": "${EXTEN}"}}, "transfer.targets.a.extension: may hold letters, digits"),
        ({"targets": {"a": "_X."}}, "transfer.targets.a.extension: may hold letters, digits"),
        ({"targets": {"a": {"extension": "1", "context": "a b"}}}, "transfer.targets.a.context: may hold"),
        ({"targets": {"A;B": "1"}}, "transfer.targets.A;B: is no name"),
        (
            {"targets": {"a": "1", "b": "2"}, "confirm": True, "question": "Shall I?"},
            "transfer: question is the same for a and b",
        ),
        ({"targets": {"a": "1"}, "confirm": True, "question": "?"}, "transfer: question has no words"),
        ({"targets": {"a": "1"}, "per_hour": 0}, "transfer.per_hour: must be at least 1"),
    ],
)
def test_a_target_that_is_none_is_told(transfer: object, said: str) -> None:
    # "${" is the beginning of a variable of ours
    assert problem(json.loads(json.dumps({"transfer": transfer}).replace("${", "$${"))).startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": "shop.example/x"}, ".url: is no address"),
        ({"url": "ftp://shop.example/x"}, ".url: is no address"),
        ({"url": "https://{x}.example/", "parameters": {"x": {}}}, ".url: must name its server"),
        ({"url": "https://a:b@shop.example/"}, ".url: must not hold a name or password"),
        ({"url": f"{URL}/{{number}}"}, ": url has {number}: declare it"),
        ({"url": f"{URL}/{{A b}}"}, ".url: is no address"),
        ({"url": f"{URL}/{{A}}"}, ".url: has a `{` or `}`"),
        ({"url": f"{URL}/{{n}}", "parameters": {"n": {"required": False}}}, ": parameters.n stands in url"),
        ({"url": f"{URL}/{{n}}", "parameters": {"n": {"choices": ["a/b"]}}}, ": parameters.n: choices has `a/b`"),
        ({"parameters": {"n": {"pattern": "["}}}, ".parameters.n.pattern: is no regular expression"),
        ({"parameters": {"n": {"pattern": "([A-Z0-9]+-?)+"}}}, ".parameters.n: pattern can be tried in"),
        ({"parameters": {"n": {"pattern": "a*a*a*b", "choices": ["a"]}}}, ".parameters.n: pattern can be tried in"),
        ({"parameters": {"n": {"choices": ["ab"], "pattern": "[0-9]+"}}}, ".parameters.n: choices has `ab`, which can"),
        ({"parameters": {"n": {"choices": ["a", "abc"], "max_length": 2}}}, ".parameters.n: choices has `abc`, which"),
        ({"parameters": {"n": {"choices": ["a", " b"]}}}, ".parameters.n: choices has ` b`, which can never be given"),
        ({"parameters": {"n": {"choices": [""]}}}, ".parameters.n: choices has ``, which can never be given"),
        ({"parameters": {"n": {"type": "integer", "minimum": 2, "maximum": 1}}}, ".parameters.n: minimum 2 is more"),
        ({"headers": {"Host": "b"}}, ".headers: has Host, which the request sets itself"),
        ({"headers": {"a b": "c"}}, ".headers: has `a b`, which is no name"),
        ({"timeout_s": 8}, ".timeout_s: must be less than answer_timeout_s"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_is_told(changes: dict[str, Any], said: str) -> None:
    told = problem({"http": {"status": {"description": "x", "url": URL} | changes}})
    assert told.startswith(f"http.status{said}")


@pytest.mark.parametrize(("chars", "prompt"), [(4000, "x"), (1500, "x" * 10_000)])
def test_answers_that_overflow_the_window_of_the_model_are_told(chars: int, prompt: str) -> None:
    request = {"description": "x", "url": URL, "max_answer_chars": chars}
    profile = {
        "prompt": prompt,
        "greeting": "Hello.",
        "tools": {"http": {"status": request}},
        "max_tokens": 1100,
    }
    config = {"profiles": {"default": profile}}
    with pytest.raises(ConfigError) as caught:
        parse(json.dumps(config), "test.yaml", {})
    assert "tools.http.status.max_answer_chars: is more than fits: 3 answers of" in str(caught.value)
    assert "at 4 characters a token" in str(caught.value)
    assert parse(json.dumps(config | {"workers": {"llm": {"context_tokens": 8192}}}), "test.yaml", {})


def test_no_request_takes_the_name_of_another_tool() -> None:
    told = problem({"http": {"hang_up": {"description": "x", "url": URL}}})
    assert told.startswith("http: has `hang_up`, which is the name of another tool")


def test_a_secret_of_a_header_is_never_shown() -> None:
    request = {"description": "x", "url": URL, "headers": {"Authorization": "Bearer ${TOKEN}"}}
    made = config({"http": {"status": request}}, TOKEN="s3cret-word")
    assert "s3cret-word" not in repr(made)
    told = problem({"http": {"status": request}}, TOKEN="s3cret-word\nX-Other: 1")
    assert "s3cret" not in told
    assert "Authorization" in told


def test_what_crosses_a_network_in_clear_text_is_told() -> None:
    requests = {
        "far": {"description": "x", "url": "http://10.0.0.5/x"},
        "near": {"description": "x", "url": URL},
    }
    (told,) = in_clear_text(config({"http": requests}))
    assert told.startswith("profiles.default.tools.http.far.url is plain http")


def test_the_example_of_the_example_file_is_one_and_has_every_key() -> None:
    text = EXAMPLE.read_text()
    part = text[text.index("      # transfer:\n") : text.index("      http: {}\n")]
    lines = [re.sub("^      # ", "", line) for line in part.splitlines()]
    tools = "\n".join(line for line in lines if not re.match(r" *#|      (transfer|hang_up)|The |Req", line))
    found = Tools.model_validate(yaml.safe_load(tools))
    assert {*found.http["repair_status"].model_fields_set} == set(HttpRequest.model_fields)
    assert found.transfer
    assert found.transfer.model_fields_set == set(Transfer.model_fields)
    models: list[BaseModel] = [
        found.transfer.targets["workshop"],
        found.http["repair_status"].parameters["number"],
    ]
    assert [model.model_fields_set for model in models] == [
        set(Target.model_fields),
        set(Parameter.model_fields),
    ]
