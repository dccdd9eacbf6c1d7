"""The body of a worker's answer, where it is JSON. Pure."""

import json
from collections.abc import Mapping
from typing import Any


class AnswerError(ValueError):
    """The body is not what was asked for; the message says how."""


def json_object(body: bytes | str) -> Mapping[str, Any]:
    """Raises AnswerError, and nothing else. All texts of it can be sent, logged and stored."""
    # given bytes, json.loads lets half a character through
    text = body if isinstance(body, str) else body.decode("utf-8-sig", "replace")
    try:
        answer = json.loads(text)
        if "\\u" in text:
            # a lone surrogate is legal in such an escape: a question mark stands for it
            answer = json.loads(json.dumps(answer, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise AnswerError("not JSON") from error
    if not isinstance(answer, Mapping):
        raise AnswerError("not a JSON object")
    return answer
