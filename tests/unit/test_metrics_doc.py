"""docs/metrics.md names every figure and every value of its labels, and nothing else."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from media_bridge.errors import RtpFault
from stasis_app import admission, metrics
from stasis_app.ari.hub import AriCounts
from stasis_app.conversation import Saying
from stasis_app.metrics import Metrics, TurnTimes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/metrics.md").read_text()
NODES = [
    node
    for package in ("stasis_app", "media_bridge")
    for path in sorted((ROOT / package).rglob("*.py"))
    for node in ast.walk(ast.parse(path.read_text()))
]


def first_column(heading: str) -> set[str]:
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {
        name
        for row in re.findall(r"^\| (.*?) \|", part, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }


def values(label: str) -> set[str]:
    """Those that stand in the row of `label`; settings and tools that it also names have another form or are left."""
    (row,) = re.findall(rf"^\| {re.escape(label)} \| (.*) \|$", PAGE, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", row))


def texts(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def given(function: str, at: int) -> set[str]:
    """The texts that stand as an argument in calls of `function`, `.method` or `.label.labels`."""
    found: set[str] = set()
    for node in NODES:
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(function) and len(node.args) > at:
            match node.args[at]:
                case ast.Constant(value=str(text)):
                    found.add(text)
    return found


def assigned(*names: str) -> set[str]:
    """The texts that a variable or attribute of one of these names gets, alone or in a tuple."""
    found: set[str] = set()
    for node in NODES:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for one, value in pairs:
                if ast.unparse(one).removeprefix("self.") in names:
                    found |= set(texts(value))
    return found


def returned(function: str) -> set[str]:
    return {
        text
        for node in NODES
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == function
        for inner in ast.walk(node)
        if isinstance(inner, ast.Return) and inner.value
        for text in texts(inner.value)
    }


def test_every_figure_is_there() -> None:
    registry = Metrics()
    registry.count_ari(AriCounts())
    assert first_column("Figures") == {family.name for family in registry.registry.collect()}


def test_every_cause_of_an_end_is_there() -> None:
    causes = given("CallerGone", 0) | given("MediaLost", 0) | given("HangUp", 0)
    causes |= assigned("_cause", "cause", "_why_gone", "MODEL_HUNG_UP") | returned("_put_through")
    assert first_column("`cause` of `voicebot_calls_ended`") == causes


def test_every_reason_of_a_refusal_is_there() -> None:
    reasons = set(admission.NO_ROOM.values()) | given(".hand_back", 1) | given("._refuse", 1)
    reasons |= {"stopped", "draining"}  # chosen where the call's task is cancelled
    assert first_column("`reason` of `voicebot_calls_refused`") == reasons


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("`saying`", {saying.name.lower() for saying in Saying}),
        ("`end`", given("._write_down", 2)),
        ("`stage`", {field.name for field in fields(TurnTimes)} - {"speech_end"}),
        ("`verdict`", returned("_verdict")),
        ("`kind` of `voicebot_digits`", given(".digits.labels", 0)),
        ("`worker`", {"stt", "llm", "tts", "late"}),
        ("`kind` of `voicebot_rtp`", set(metrics._COUNTED)),
        ("`kind` of `voicebot_ari`", {field.name for field in fields(AriCounts)}),
        ("`fence`", given(".defects.labels", 0)),
    ],
)
def test_every_value_of_a_label_is_there(label: str, known: set[str]) -> None:
    assert values(label) - {"answer_timeout_s"} == known


def test_every_outcome_of_a_tool_is_there() -> None:
    known = given("._counted", 1) | given(".tools.labels", 1) | assigned("outcome")
    assert values("`outcome`") - {"per_hour"} == known


def test_every_reason_to_drop_a_datagram_is_there() -> None:
    known = set(get_args(RtpFault))
    for node in NODES:
        match node:
            case ast.Subscript(value=ast.Name(id="dropped") | ast.Attribute(attr="dropped" | "_dropped")):
                known |= set(texts(node.slice))
            case ast.Assign(targets=[ast.Name(id="_NOT_HEARD")]):
                known |= set(texts(node.value))
            case ast.Call(func=ast.Name(id="Counter"), keywords=keywords):
                known |= {word.arg for word in keywords if word.arg and word.arg != "registry"}
    assert values("`why`") == known
