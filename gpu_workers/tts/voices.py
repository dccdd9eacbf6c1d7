"""The voices of one worker, by name."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Final, Protocol

from gpu_workers.errors import ModelError, RequestError

_ANY: Final = frozenset({None, "", "default"})


class Voice(Protocol):
    """A loaded voice. What `sentences` gives is taken in a thread, by several requests at once."""

    @property
    def name(self) -> str: ...

    @property
    def rate(self) -> int: ...

    def sentences(self, text: str, speed: float) -> Iterator[bytes]:
        """`text` as mono s16le of `rate`, a sentence at a time, each made when it is asked for."""


class Voices:
    """At least one; the first is that of whoever names none."""

    def __init__(self, voices: Sequence[Voice]) -> None:
        self._first = voices[0]
        self._voices: Mapping[str, Voice] = {voice.name: voice for voice in voices}

    @property
    def names(self) -> Collection[str]:
        return self._voices.keys()

    def named(self, name: str | None) -> Voice:
        """By its name, or by the path it was configured with. Raises RequestError 400, which names those there are."""
        if name in _ANY or name is None:
            return self._first
        voice = self._voices.get(name) or self._voices.get(voice_name(name))
        if voice is None:
            raise RequestError(
                400,
                f"unknown voice {name[:60]!r}: this worker has {', '.join(map(repr, self._voices))}",
                code="unknown_voice",
                param="voice",
            )
        return voice


def voice_name(setting: str) -> str:
    """`joe` for joe, `anna` for /opt/voices/anna.onnx: a path of the worker's machine is nobody else's business."""
    return PurePath(setting).name.removesuffix(".onnx") if setting.endswith(".onnx") else setting


def named_settings(settings: Sequence[str]) -> dict[str, str]:
    """What is configured, each once, by the name it gets. Raises ModelError for two files of one name."""
    named: dict[str, str] = {}
    for setting in settings:
        other = named.setdefault(voice_name(setting), setting)
        if other != setting:
            raise ModelError(
                f"the voices {other} and {setting} would both be called {voice_name(setting)}: rename a file"
            )
    return named
