"""What a model writes on its way to a deed: text with calls in it, a tool's name and arguments, a server's answer."""

import json
from urllib.parse import unquote, urlsplit

from stasis_app.tools.confirming import confirmed
from stasis_app.tools.request import Answered, filled, shown
from stasis_app.tools.settings import TRANSFER, Tools
from stasis_app.tools.wanted import Ask, NotOfferedError, PutThrough, Wanted, wanted
from stasis_app.tools.written import WrittenCalls
from tests.fuzz.choices import Choices

TOKENS = tuple(
    text.encode()
    for text in (
        '{"name":"', '"arguments":', '"parameters":', '"function":{', "<tool_call>", "</tool_call>", "```json\n", "```",
        "[TOOL_CALLS]", "<function=", "{{", "}}", "transfer", "hang_up", "status", "workshop", "front_desk", "Dial",
        '{"target":"workshop"}', '{"number":"471108"}', '"count":', '"price":', '"urgent":', '"day":"today"',
        "..", "%2e%2e", "/", "?", "#", "&", "@", ":", "\\u0000", "\\ud800", "\\r\\n", "NaN", "1e999", "-0", "true",
        "null", "[[[[[[[[", "${EXTEN}", ",1)", "PJSIP/0900", "Shall I put you through to the workshop?", "Yes.",
    )
)  # fmt: skip
MAX_LEN = 2048

_TOOLS = Tools.model_validate(
    {
        "transfer": {"targets": {"front_desk": "2000", "workshop": "2001"}, "confirm": True},
        "hang_up": True,
        "http": {
            "status": {
                "description": "x",
                "url": "https://a.example/b/{number}/c?k={name}",
                "parameters": {
                    "number": {"max_length": 20},
                    "name": {},
                    "day": {"choices": ["today", "tomorrow"], "required": False},
                    "count": {"type": "integer", "minimum": 1, "maximum": 9, "required": False},
                    "price": {"type": "number", "minimum": 0, "required": False},
                    "urgent": {"type": "boolean", "required": False},
                },
            }
        },
    }
)
_TARGETS = {"front_desk", "workshop"}
_NAMES = (TRANSFER, "hang_up", "status", "System")


def one_input(data: bytes) -> None:
    choices = Choices(data)
    first = choices.byte()
    choices, text = Choices(choices.take(16)), choices.rest().decode("utf-8", "replace")
    if first & 0x80:
        # what `"\\ud800"` in a model's JSON becomes
        text = text.replace("\ufffd", "\ud800")
    _call(_NAMES[first % len(_NAMES)], text)
    _written(text, choices)
    answer = shown(Answered(200, text), 50)
    assert len(json.loads(answer)["data"]) <= 50
    assert answer.isprintable()
    transfer = _TOOLS.transfer
    assert transfer
    heard, _, said = text.partition("\n")
    assert confirmed(transfer, heard, said, "en") in {None, *_TARGETS}


def _call(name: str, arguments: str) -> None:
    try:
        asked = wanted(name, arguments, _TOOLS)
        _is_allowed(asked)
    except NotOfferedError as error:
        json.dumps(str(error), ensure_ascii=False)
        assert len(str(error)) < 500


def _is_allowed(asked: Wanted) -> None:
    if isinstance(asked, PutThrough):
        assert asked.target in _TARGETS
    elif isinstance(asked, Ask):
        sent = urlsplit(filled(asked.request, asked.arguments).url)
        assert (sent.scheme, sent.netloc, sent.fragment) == ("https", "a.example", "")
        # as a server finds them that decodes first
        steps = unquote(sent.path).replace("\\", "/").split("/")
        assert [*steps[:2], *steps[3:]] == ["", "b", "c"]
        assert steps[2]
        assert steps[2].partition(";")[0] not in (".", "..")
        assert sent.query.startswith("k=")
        assert set(asked.arguments) <= {"number", "name", "day", "count", "price", "urgent"}
        asked.written.encode()


def _written(text: str, choices: Choices) -> None:
    whole, parted = WrittenCalls(_NAMES), WrittenCalls(_NAMES)
    said = whole.feed(text)
    rest, calls = whole.finish()
    pieces = _cut(text, choices)
    said_in_parts = "".join(map(parted.feed, pieces))
    rest_in_parts, calls_in_parts = parted.finish()
    assert (said_in_parts + rest_in_parts, calls_in_parts) == (said + rest, calls)
    assert calls or said + rest == text, "what is no call is not lost"
    for call in calls:
        _call(call.name, call.arguments)


def _cut(text: str, choices: Choices) -> list[str]:
    pieces = []
    for _ in range(8):
        length = choices.byte()
        pieces.append(text[:length])
        text = text[length:]
    return [*pieces, text]
