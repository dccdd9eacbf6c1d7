"""Passwords and keys that can be guessed. Pure."""

from collections.abc import Iterator
from typing import Final

from pydantic import SecretStr

from voicebot.config.checks import dotted, worker_parts
from voicebot.config.model import Config
from voicebot.config.source import KeyPath

_SHORTEST: Final = 12
_LEAST_DIFFERENT: Final = 6


def weak_secrets(config: Config) -> Iterator[str]:
    """A sentence for each secret that is short, of few different characters, or a word of the documentation."""
    secrets: list[tuple[KeyPath, SecretStr | None]] = [
        (("ari", "password"), config.ari.password),
        (("web", "token"), config.web.token),
    ]
    secrets += [(("workers", name, "api_key"), part.api_key) for name, part in worker_parts(config).items()]
    for path, secret in secrets:
        if secret is not None and (why := _weakness(secret.get_secret_value())):
            yield f"{dotted(path)} {why}: `openssl rand -hex 24` makes one that nobody guesses"


def _weakness(secret: str) -> str:
    plain = "".join(char for char in secret.casefold() if char.isalnum())
    if plain in {"alongrandomword", "anotherlongrandomword"}:
        return "is the word that the documentation shows"
    if len(secret) < _SHORTEST:
        return f"has fewer than {_SHORTEST} characters"
    if len(set(secret)) < _LEAST_DIFFERENT:
        return f"has fewer than {_LEAST_DIFFERENT} different characters"
    return ""
