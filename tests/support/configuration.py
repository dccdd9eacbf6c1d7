"""voicebot.yaml in a test: a text, and what is said of it."""

import pytest

from voicebot.config import Config, ConfigError, parse


def problems(text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, "test.yaml", environ or {})
    head, *rest = str(caught.value).splitlines()
    assert head == f"test.yaml: {len(rest)} problem{'s' if len(rest) > 1 else ''}"
    return [line.strip() for line in rest]


def only_problem(text: str, environ: dict[str, str] | None = None) -> str:
    found = problems(text, environ)
    assert len(found) == 1, found
    return found[0]


def config(text: str, **environ: str) -> Config:
    return parse(text, "test.yaml", environ)
