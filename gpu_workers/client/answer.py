"""The body of a worker's answer, where it is JSON. Pure."""

import json
from collections.abc import Mapping
from typing import Any


class AnswerError(ValueError):
    """The body is not what was asked for; the message says how."""


def json_object(body: bytes | str) -> Mapping[str, Any]:
    """Raises AnswerError, and nothing else."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AnswerError("not JSON") from error
    if not isinstance(answer, Mapping):
        raise AnswerError("not a JSON object")
    return answer
