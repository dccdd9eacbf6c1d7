"""pydantic's findings in our words: the key, what is wrong with it, and the mend."""

import difflib
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from voicebot.config.source import KeyPath, Problem

_NEEDS = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "path_type": "a path",
    "tuple_type": "a list",
    "model_type": "`key: value` lines under it",
    "dict_type": "`name: ...` lines under it",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "must be at least"),
    "greater_than": ("gt", "must be more than"),
    "less_than_equal": ("le", "must be at most"),
    "less_than": ("lt", "must be less than"),
}
_PATTERNS = {
    r"^https?://[^/]+(/.*)?$": "must be an address like http://10.0.0.5:8088",
    r"^[A-Za-z0-9_.-]+$": "may hold letters, digits, `_`, `.` and `-` only",
    r"^[a-z][a-z0-9_]{0,39}$": "is no name: one begins with a small letter and holds these, digits and `_` only",
    r"^[A-Za-z0-9*#+.-][A-Za-z0-9_*#+.-]{0,79}$": "may hold letters, digits and `_*#+.-` only, up to 80 of them",
    r"^[^:\s]+$": "may hold neither a colon nor blanks",
    r"^[A-Za-z0-9_-]+$": "is no name: one holds letters, digits, `_` and `-` only",
}


def translate(
    details: Iterable[ErrorDetails], model: type[BaseModel], hidden: set[KeyPath]
) -> Iterator[Problem]:
    """One Problem a finding. Its value is shown unless it is a secret or from the environment (`hidden`)."""
    for detail in details:
        path = tuple(part for part in detail["loc"] if part != "[key]")
        secret = path in hidden or _type_at(model, path) is SecretStr
        yield Problem(path, _message(detail, path, model, secret))


def without_empty_sections(data: Mapping[str, object], model: object) -> dict[str, object]:
    """`data` less each section that stands there with nothing under it: that means "all defaults"."""
    result: dict[str, object] = {}
    for key, value in data.items():
        inner = _type_at(model, (key,))
        if _is_section(inner):
            if value is None:
                continue
            if isinstance(value, dict):
                result[key] = without_empty_sections(value, inner)
                continue
        result[key] = value
    return result


def key_names(model: type[BaseModel], path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key path there is below `model`; entries of a mapping of models, and sections that may be null, are not."""
    for name, field in model.model_fields.items():
        here = (*path, name)
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from key_names(inner, here)
        else:
            yield here


def _message(detail: ErrorDetails, path: KeyPath, model: type[BaseModel], secret: bool) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    seen = "" if secret or kind == "missing" else f", is {_shown(detail['input'])}"
    about = _about(_field_at(model, path))
    if kind == "extra_forbidden":
        return _unknown_key(str(path[-1]), _type_at(model, path[:-1]))
    if kind == "string_too_short" and not detail["input"]:
        return _blank("", _field_at(model, path))
    if kind == "string_pattern_mismatch" and context["pattern"] in _PATTERNS:
        # a password may stand in what was meant for an address
        return f"{_PATTERNS[context['pattern']]}{'' if '@' in detail['input'] else seen}{about}"
    if kind == "missing":
        return f"is missing{about}"
    if kind == "string_type" and isinstance(detail["input"], bool | int | float):
        return f"needs text{seen}: put it in quotes{about}"
    if kind in _NEEDS:
        return f"needs {_NEEDS[kind]}{seen}{about}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{words} {context[name]}{seen}{about}"
    if kind == "literal_error":
        expected = context["expected"]
        return f"must be one of {expected}{seen}{_closest(detail['input'], expected)}{about}"
    if kind == "value_error":  # our own words, from a validator: they show the value
        return str(context["error"])
    return f"{detail['msg'][0].lower()}{detail['msg'][1:]}{seen}{about}"


def _blank(text: str, field: FieldInfo | None) -> str:
    what = "has nothing but spaces" if text else "is empty"
    mend = "write it, or take it out" if field is None or not field.is_required() else "write it"
    return f"{what}: {mend}{_about(field)}"


def blank_texts(data: Mapping[str, object], model: type[BaseModel]) -> Iterator[Problem]:
    """Texts with nothing but spaces in them, which would be said, shown to a model or asked for as they are.

    Those whose description says what "empty" does may be empty, and no more than that.
    """
    for path, text in _texts(data, ()):
        field = _field_at(model, path)
        if not text.strip() and (text or "empty:" not in _about(field)):
            yield Problem(path, _blank(text, field))


def _texts(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Every text below `value`."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _texts(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                yield from _texts(inner, (*path, index))
        case str():
            yield path, value


def _unknown_key(key: str, parent: object) -> str:
    known = list(parent.model_fields) if isinstance(parent, type) and issubclass(parent, BaseModel) else []
    close = _suggestion(key, known)
    return f"is not a key here{close or '; known are ' + ', '.join(known)}"


def _closest(value: object, expected: str) -> str:
    return _suggestion(str(value), [word.strip("' ") for word in expected.replace(" or ", ",").split(",")])


def _suggestion(word: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(word.lower(), known, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "`key: value` lines"
    if value is None or value == "":
        return "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}...`"


def _about(field: FieldInfo | None) -> str:
    return f" ({field.description})" if field and field.description else ""


def _field_at(model: type[BaseModel], path: KeyPath) -> FieldInfo | None:
    parent = _type_at(model, path[:-1])
    if path and isinstance(parent, type) and issubclass(parent, BaseModel):
        return parent.model_fields.get(str(path[-1]))
    return None


def _type_at(model: object, path: KeyPath) -> object:
    """The type of what stands at `path`; None where the path leads nowhere."""
    current = model
    for key in path:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(str(key))
            current = _plain(field.annotation) if field else None
        elif get_origin(current) in (dict, tuple):
            current = _plain(get_args(current)[1 if get_origin(current) is dict else 0])
        else:
            return None
    return current


def _plain(annotation: object) -> object:
    """`annotation` less `| None`; other unions stay."""
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [arg for arg in get_args(annotation) if arg is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def _is_section(annotation: object) -> bool:
    return get_origin(annotation) is dict or (
        isinstance(annotation, type) and issubclass(annotation, BaseModel)
    )
