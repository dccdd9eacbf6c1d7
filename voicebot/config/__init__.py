"""voicebot.yaml to one checked model; everything wrong with it is told at once."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import SecretStr, ValidationError

from voicebot.cache import default_cache_dir
from voicebot.config.checks import check, dotted, transports_in_use, worker_parts
from voicebot.config.here import check_here
from voicebot.config.known_models import for_the_other_engine, unknown_models
from voicebot.config.media_addresses import Finding
from voicebot.config.model import AsteriskSettings, Config, LogSettings
from voicebot.config.problems import blank_texts, translate, without_empty_sections
from voicebot.config.source import Document, KeyPath, Problem, read
from voicebot.errors import ConfigError

__all__ = [
    "DEFAULT_FILE",
    "PASSWORD_VARIABLE",
    "AsteriskSettings",
    "Config",
    "ConfigError",
    "LogSettings",
    "cache_dir",
    "dotted",
    "load",
    "parse",
    "read_text",
    "transports_in_use",
    "without_secrets",
    "worker_parts",
]

DEFAULT_FILE = Path("voicebot.yaml")
PASSWORD_VARIABLE = "VOICEBOT_ARI_PASSWORD"  # noqa: S105 - the name of a variable
_MAX_BYTES = 1_000_000
# nobody reads more of them at once
_MOST_SHOWN = 50


def load(
    path: Path | None = None, environ: Mapping[str, str] = os.environ, *, calls_here: bool = False
) -> Config:
    """The configuration of `path`; if not given, of `voicebot.yaml` here; without that, the defaults.

    Raises ConfigError, listing every problem with its key and line.
    """
    return parse(read_text(path), str(path or DEFAULT_FILE), environ, calls_here=calls_here)


def cache_dir(config: Config) -> Path:
    """Where models and a downloaded Asterisk are kept."""
    return config.workers.cache_dir or default_cache_dir()


def read_text(path: Path | None = None) -> str:
    """The text `load` would parse; empty for the defaults. Raises ConfigError when it cannot be read."""
    if path is None:
        if not DEFAULT_FILE.exists():
            return ""
        path = DEFAULT_FILE
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"{path}: larger than {_MAX_BYTES} bytes, so not a configuration")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file (UTF-8)") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}: name the file with -c FILE") from None


def parse(
    text: str,
    name: str,
    environ: Mapping[str, str],
    *,
    calls_here: bool = False,
    processes: int | None = None,
) -> Config:
    """YAML `text` to Config; `name` is what messages call it. Raises ConfigError, listing every problem.

    `calls_here`: the call process runs on this machine, so its addresses and names are looked up as well. `processes`
    is put in the place of calls.processes.
    """
    document = read(text, environ)
    problems = list(document.problems)
    data = without_empty_sections(
        _without(document.data, {problem.path for problem in problems if problem.path}), Config
    )
    try:
        config = _completed(Config.model_validate(data), environ)
    except ValidationError as error:
        told = {problem.path for problem in problems}
        found = translate(error.errors(include_url=False), Config, document.hidden)
        problems += [problem for problem in found if problem.path not in told]
        config = _best_effort(data, problems, environ)
    if processes is not None:
        config = config.model_copy(update={"calls": config.calls.model_copy(update={"processes": processes})})
    wrong = {problem.path for problem in problems}
    blank = blank_texts(data, Config)
    problems += [problem for problem in blank if not any(_touches(problem.path, key) for key in wrong)]
    wrong |= {problem.path for problem in problems}
    for contradiction in [*check(config), *unknown_models(config), *for_the_other_engine(config)]:
        if not any(_touches(path, key) for path in contradiction[1] for key in wrong):
            problems.append(_located(contradiction, document))
    if calls_here and not problems:
        problems += [_located(contradiction, document) for contradiction in check_here(config)]
    if problems:
        raise ConfigError(_listed(name, problems, document))
    return config


def without_secrets(config: Config, text: str, environ: Mapping[str, str]) -> dict[str, object]:
    """`config`, parsed from `text`, as plain data to show: what was taken from the environment stands as ${NAME}."""
    document = read(text, environ)

    def shown(value: object) -> object:
        match value:
            case dict():
                return {key: shown(inner) for key, inner in value.items()}
            case list():
                return [shown(inner) for inner in value]
            case str():
                return document.without_taken(value)
        return value

    return {key: shown(value) for key, value in config.model_dump(mode="json").items()}


def _completed(config: Config, environ: Mapping[str, str]) -> Config:
    """What follows from other keys: our own Asterisk's address, and the password `voicebot up` hands down."""
    ari = config.ari
    if config.asterisk.start and "url" not in ari.model_fields_set:
        ari = ari.model_copy(update={"url": f"http://127.0.0.1:{config.asterisk.http_port}"})
    if ari.password is None and environ.get(PASSWORD_VARIABLE):
        ari = ari.model_copy(update={"password": SecretStr(environ[PASSWORD_VARIABLE])})
    return config.model_copy(update={"ari": ari})


def _best_effort(data: dict[str, object], problems: list[Problem], environ: Mapping[str, str]) -> Config:
    """`data` with defaults in place of wrong values, so that keys that contradict each other are told too."""
    wrong = {problem.path for problem in problems}
    while True:
        try:
            return _completed(Config.model_validate(_without(data, wrong)), environ)
        except ValidationError as error:
            still = [problem.path for problem in translate(error.errors(include_url=False), Config, set())]
            # taking out a key that is missing changes nothing: then what it is missing from goes
            wrong |= {path[:-1] if path in wrong else path for path in still}


def _without(data: dict[str, object], paths: Iterable[KeyPath], at: KeyPath = ()) -> dict[str, object]:
    """A copy of `data` that lacks what stands at `paths`; of a list, all of it."""
    gone = set(paths)
    if at in gone:
        return {}
    result: dict[str, object] = {}
    for key, value in data.items():
        here = (*at, key)
        if here in gone or (isinstance(value, list) and any(path[: len(here)] == here for path in gone)):
            continue
        result[key] = _without(value, gone, here) if isinstance(value, dict) else value
    return result


def _located(found: Finding, document: Document) -> Problem:
    """The problem with the line of a key that stands in the file: it may be about the default of another one."""
    problem, paths = found
    written = [path for path in (problem.path, *paths) if path in document.lines]
    return Problem(problem.path, problem.message, document.lines[written[0]]) if written else problem


def _touches(path: KeyPath, wrong: KeyPath) -> bool:
    shared = min(len(path), len(wrong))
    return shared > 0 and path[:shared] == wrong[:shared]


def _listed(name: str, problems: list[Problem], document: Document) -> str:
    located = [(problem.line or _line(problem.path, document), problem) for problem in problems]
    located.sort(key=lambda pair: pair[0] or 0)
    lines = [f"{name}: {len(problems)} problem{'s' if len(problems) > 1 else ''}"]
    for line, problem in located[:_MOST_SHOWN]:
        where = f"line {line}: " if line else ""
        message = document.without_taken(problem.message)
        lines.append(f"  {where}{dotted(problem.path)}{': ' if problem.path else ''}{message}")
    if len(located) > _MOST_SHOWN:
        lines.append(f"  and {len(located) - _MOST_SHOWN} more")
    return "\n".join(lines)


def _line(path: KeyPath, document: Document) -> int | None:
    while path:
        if path in document.lines:
            return document.lines[path]
        path = path[:-1]
    return None
