"""What a model wrote as the arguments of a call, held against what may be there. Pure.

A model is not trusted: what passes here is all that ever leaves. The words of an error go back to the model.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from stasis_app.tools.settings import Parameter

Value = str | int | float | bool

MAX_CHARS: Final = 4096
_SHOWN_NAMES: Final = 5
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_LARGEST: Final = 2**53


class ArgumentError(ValueError):
    """The arguments are not what is declared; says how, for the model."""


def checked(written: str, parameters: Mapping[str, Parameter]) -> dict[str, Value]:
    """The arguments by name, in the order they are declared. Raises ArgumentError, and nothing else."""
    given = _object(written)
    unknown = [str(name)[:40] for name in given if name not in parameters]
    if unknown:
        known = ", ".join(parameters) or "none"
        raise ArgumentError(f"unknown: {', '.join(unknown[:_SHOWN_NAMES])}; known are: {known}")
    values: dict[str, Value] = {}
    for name, parameter in parameters.items():
        value = given.get(name)
        if value is None or value == "":
            if parameter.required:
                raise ArgumentError(f"{name} is missing: ask the caller for it")
            continue
        values[name] = _value(name, value, parameter)
    return values


def _object(written: str) -> Mapping[str, Any]:
    if len(written) > MAX_CHARS:
        raise ArgumentError(f"longer than {MAX_CHARS} characters")
    if not written.strip():
        return {}
    try:
        given = json.loads(written)
    except (ValueError, RecursionError):
        raise ArgumentError("no JSON object") from None
    if not isinstance(given, dict):
        raise ArgumentError("no JSON object")
    return given


def _value(name: str, value: object, parameter: Parameter) -> Value:
    match parameter.type:
        case "string":
            return _string(name, value, parameter)
        case "boolean":
            if isinstance(value, bool):
                return value
            raise ArgumentError(f"{name} must be true or false")
        case _:
            return _number(name, value, parameter)


def _string(name: str, value: object, parameter: Parameter) -> str:
    # small models write the digits of a number without quotes
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise ArgumentError(f"{name} must be a string")
    text = text.strip()
    if not text or len(text) > parameter.max_length:
        raise ArgumentError(f"{name} must have 1 to {parameter.max_length} characters")
    if not text.isprintable():
        raise ArgumentError(f"{name} has a control character in it")
    if parameter.choices and text not in parameter.choices:
        raise ArgumentError(f"{name} must be one of: {', '.join(parameter.choices)}")
    if parameter.pattern is not None and not re.fullmatch(parameter.pattern, text):
        raise ArgumentError(f"{name} does not look as it must")
    return text


def _number(name: str, value: object, parameter: Parameter) -> int | float:
    whole = parameter.type == "integer"
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, float) and whole and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ArgumentError(f"{name} must be a {'whole ' if whole else ''}number")
    if not -_LARGEST <= value <= _LARGEST:  # NaN and infinity are in no range
        raise ArgumentError(f"{name} is no number that can be sent")
    if parameter.minimum is not None and value < parameter.minimum:
        raise ArgumentError(f"{name} must be at least {parameter.minimum:g}")
    if parameter.maximum is not None and value > parameter.maximum:
        raise ArgumentError(f"{name} must be at most {parameter.maximum:g}")
    return value
