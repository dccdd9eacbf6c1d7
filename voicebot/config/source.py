"""YAML text to plain data, with the line of every key.

More than `yaml.safe_load` in three ways: a key written twice is a problem, not a silent loss; `${NAME}` in a
text is taken from the environment; and anything a YAML file can do wrong (endless nesting and aliases that
multiply) comes back as a problem with its line. Keys are always text, so `on:` and `1000:` stay what was
written; dates stay text too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

KeyPath = tuple[str | int, ...]

_MAX_NODES = 20_000
_MAX_DEPTH = 40
_SHORTEST_SECRET = 4
_REFERENCE = re.compile(r"\$(\$(?=\{)|\{(?P<name>[^{}]*)\}|\{)")
_TOO_MUCH = "too large or too deeply nested"
_TAG = "the tag {} is not supported: write plain text, numbers or lists"
_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "map", "null", "seq", "str")
)
_HALF = "holds a half of a character (\\ud800 to \\udfff): write the character itself"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Problem:
    """One thing wrong: where (key path, line counted from 1 where known) and what, with the mend."""

    path: KeyPath
    message: str
    line: int | None = None


@dataclass
class Document:
    """What a YAML file says. `lines` has all key paths, `hidden` those with a value from the environment.

    `taken` is what was taken from there, by the variable's name.
    """

    data: dict[str, object] = field(default_factory=dict)
    lines: dict[KeyPath, int] = field(default_factory=dict)
    hidden: set[KeyPath] = field(default_factory=set)
    taken: dict[str, str] = field(default_factory=dict, repr=False)
    problems: list[Problem] = field(default_factory=list)

    def without_taken(self, message: str) -> str:
        """`message` with `${NAME}` where it quotes what was taken: a secret may stand in an address, too."""
        for name, value in sorted(self.taken.items(), key=lambda item: -len(item[1])):
            if len(value.strip()) >= _SHORTEST_SECRET:
                quoted = re.compile(re.escape(value.strip()), re.IGNORECASE)
                message = quoted.sub(lambda _, name=name: f"${{{name}}}", message)  # type: ignore[misc]
        return message


class _Loader(yaml.SafeLoader):
    """Plain data only: text, numbers, true and false, null, lists and mappings.

    What is nested too deeply or has too many parts is refused while it is scanned: PyYAML's work grows with the square
    of the depth, and a part takes it some 30 µs.
    """

    _nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise yaml.MarkedYAMLError(problem=_TOO_MUCH, problem_mark=self.get_mark())
        return super().compose_node(parent, index)

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 - PyYAML's name
        self._go_deeper(self.flow_level)
        super().fetch_flow_collection_start(TokenClass)

    def add_indent(self, column: int) -> bool:
        self._go_deeper(len(self.indents))
        return bool(super().add_indent(column))

    def _go_deeper(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=_TOO_MUCH, problem_mark=self.get_mark())


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(text: str, environ: Mapping[str, str]) -> Document:
    """Parse YAML `text`; what is wrong with it is in the answer's `problems`. Never raises."""
    document = Document()
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is not None:
            _Reader(loader, document, environ).read(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "cannot be read"
        document.problems.append(Problem((), f"not valid YAML: {what}", mark.line + 1 if mark else None))
    except yaml.YAMLError as error:
        document.problems.append(Problem((), f"not valid YAML: {' '.join(str(error).split())}"))
    # e.g. the escapes "\U7fffffff" and "\U8fffffff", or a %YAML version of 5000 digits
    except (ValueError, OverflowError):
        line = loader.line + 1 if loader is not None else None
        document.problems.append(Problem((), "not valid YAML: a character or number that there is not", line))
    finally:
        if loader is not None:
            loader.dispose()
    return document


class _Reader:
    """Walks the node tree once, filling a Document."""

    def __init__(self, loader: _Loader, document: Document, environ: Mapping[str, str]) -> None:
        self._loader = loader
        self._document = document
        self._environ = environ
        self._nodes = 0

    def read(self, root: yaml.Node) -> None:
        data = self._value(root, ())
        if isinstance(data, dict):
            self._document.data = data
        elif data is not None:
            self._problem((), root, "must hold `key: value` lines, like voicebot.example.yaml")

    def _problem(self, path: KeyPath, node: yaml.Node, message: str) -> None:
        self._document.problems.append(Problem(path, message, node.start_mark.line + 1))

    def _value(self, node: yaml.Node, path: KeyPath) -> object:
        self._nodes += 1
        if self._nodes > _MAX_NODES or len(path) > _MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=_TOO_MUCH, problem_mark=node.start_mark)
        self._document.lines.setdefault(path, node.start_mark.line + 1)
        if node.tag not in _TAGS:
            self._problem(path, node, _TAG.format(node.tag))
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        first_line: dict[str, int] = {}
        result: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._problem(path, key_node, "a key must be one word")
                continue
            if key_node.tag == "tag:yaml.org,2002:merge":
                self._problem(path, key_node, "`<<` is not supported: write the keys out")
                continue
            key, line = key_node.value, key_node.start_mark.line + 1
            if not _is_unicode(key):
                self._problem(path, key_node, f"a key {_HALF}")
                continue
            here = (*path, key)
            if key in first_line:
                self._problem(here, key_node, f"is there twice (first in line {first_line[key]}): keep one")
                continue
            first_line[key] = line
            self._document.lines[here] = line
            result[key] = self._value(value_node, here)
        return result

    def _scalar(self, node: yaml.Node, path: KeyPath) -> object:
        try:
            value = self._loader.construct_object(node, deep=True)
        except (ValueError, OverflowError, LookupError):  # e.g. `0x`, a number of 5000 digits, `!!bool x`
            self._problem(path, node, "is not a number that can be read: put it in quotes if it is text")
            return None
        except yaml.constructor.ConstructorError:
            self._problem(path, node, _TAG.format(node.tag))
            return None
        return self._substituted(value, node, path) if isinstance(value, str) else value

    def _substituted(self, text: str, node: yaml.Node, path: KeyPath) -> str | None:
        failed = False

        def replace(match: re.Match[str]) -> str:
            nonlocal failed
            if match.group(1) == "$":
                return "$"
            name = match.group("name")
            if name is None or not _NAME.fullmatch(name):
                failed = True
                self._problem(
                    path,
                    node,
                    "`${` needs a variable's name and `}` after it; write `$${` for the characters",
                )
                return ""
            self._document.hidden.add(path)
            if name not in self._environ:
                failed = True
                self._problem(
                    path, node, f"the environment has no variable {name}: set it, or write the value here"
                )
                return ""
            self._document.taken[name] = self._environ[name]
            return self._environ[name]

        substituted = _REFERENCE.sub(replace, text)
        if not _is_unicode(substituted):
            self._problem(path, node, _HALF)
            failed = True
        return None if failed else substituted


def _is_unicode(text: str) -> bool:
    """False for a lone surrogate, which YAML's escapes can write and nothing can send."""
    return not any("\ud800" <= char <= "\udfff" for char in text)
