"""Whatever a model calls: only what is listed comes out, and only within its bounds."""

import contextlib
import json
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from stasis_app.tools.arguments import ArgumentError, checked
from stasis_app.tools.request import Answered, filled, shown
from stasis_app.tools.settings import HttpRequest, Parameter
from stasis_app.tools.wanted import NotOfferedError
from stasis_app.tools.written import WrittenCalls

PARAMETERS = {
    "number": Parameter(pattern="[0-9]{1,6}"),
    "day": Parameter(choices=("today", "tomorrow"), required=False),
    "count": Parameter(type="integer", minimum=1, maximum=9, required=False),
    "price": Parameter(type="number", minimum=0, required=False),
    "urgent": Parameter(type="boolean", required=False),
    "name": Parameter(max_length=10, required=False),
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["today", "47", "9"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from([*PARAMETERS, "other"]), JSON, max_size=6)


@given(ARGUMENTS)
def test_what_passes_is_within_its_bounds(given_arguments: dict[str, Any]) -> None:
    try:
        found = checked(json.dumps(given_arguments), PARAMETERS)
    except ArgumentError as error:
        assert len(str(error)) < 500
        return
    assert set(found) <= set(PARAMETERS)
    assert re.fullmatch("[0-9]{1,6}", str(found["number"]))
    assert found.get("day", "today") in ("today", "tomorrow")
    assert 1 <= int(found.get("count", 1)) <= 9
    assert 0 <= float(found.get("price", 0)) < 2**54
    assert isinstance(found.get("urgent", True), bool)
    assert 0 < len(str(found.get("name", "x"))) <= 10


@given(st.text(max_size=60))
def test_no_text_at_all_raises_anything_else(written: str) -> None:
    with contextlib.suppress(ArgumentError):
        checked(written, PARAMETERS)


@given(st.text(min_size=1, max_size=30))
def test_a_value_stays_in_its_place_of_the_address(value: str) -> None:
    request = HttpRequest.model_validate(
        {
            "description": "x",
            "url": "https://a.example/b/{x}/c?k={y}",
            "parameters": {"x": {}, "y": {}},
        }
    )
    try:
        found = checked(json.dumps({"x": value, "y": value}), request.parameters)
        sent = urlsplit(filled(request, found).url)
    except (ArgumentError, NotOfferedError):
        return
    assert (sent.scheme, sent.netloc, sent.fragment) == ("https", "a.example", "")
    assert len(unquote(sent.path).replace("\\", "/").split("/")) == 4
    assert sent.query.count("=") == 1
    assert "&" not in sent.query


@given(st.text(max_size=200), st.integers(20, 50))
def test_an_answer_is_one_json_text_of_bounded_length(answer: str, most: int) -> None:
    text = shown(Answered(200, answer), most)
    assert len(json.loads(text)["data"]) <= most
    assert text.isprintable()


@given(
    st.lists(
        st.sampled_from(["Hello. ", "{", "}", "<tool_", "call>", "``", "`", '"name": "go"', "a", ":", '"']),
        max_size=12,
    )
)
def test_how_a_text_is_split_changes_nothing(pieces: list[str]) -> None:
    whole, parted = WrittenCalls({"go"}), WrittenCalls({"go"})
    text = "".join(pieces)
    said, (rest, calls) = whole.feed(text), whole.finish()
    said_in_parts = "".join(map(parted.feed, pieces))
    rest_in_parts, calls_in_parts = parted.finish()
    assert (said + rest, calls) == (said_in_parts + rest_in_parts, calls_in_parts)
    assert calls or said + rest == text, "what is no call is not lost"
