"""Which targets there are, their corpora, and one input tried without the fuzzer."""

import importlib
import platform
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

NAMES = ("answers", "ari", "audiosocket", "config", "rtp", "sentences", "tools", "wav", "websocket")
ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
FOUND = ROOT / "var" / "fuzz"

INSTRUMENTED = ("chunk", "gpu_workers", "media_bridge", "stasis_app", "voicebot", "wave", "yaml")
"""The packages whose branches guide the search."""

TIMEOUT_S = 20
"""For one input. The longest take well under a second on a slow machine: what takes this long is a loop without end."""


@dataclass(frozen=True)
class Target:
    """`one_input` raises whatever is a finding."""

    one_input: Callable[[bytes], None]
    tokens: Sequence[bytes]
    max_len: int


def load(module: str) -> Target:
    """The target of a module: `module_of(name)`, or the full name of another one."""
    loaded = importlib.import_module(module)
    return Target(loaded.one_input, loaded.TOKENS, loaded.MAX_LEN)


def module_of(name: str) -> str:
    return f"tests.fuzz.targets.{name}"


def corpus(name: str) -> list[Path]:
    return sorted(path for path in (CORPUS / name).iterdir() if path.is_file())


def has_fuzzer_wheel() -> bool:
    """Whether requirements/dev.txt brings the fuzzer to this machine (the marker of it in pyproject.toml)."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def try_one(one_input: Callable[[bytes], None], data: bytes) -> str | None:
    """The traceback of one input, None when all is well."""
    try:
        with warnings.catch_warnings():
            # as in a test run
            warnings.simplefilter("error")
            one_input(data)
    except Exception:  # noqa: BLE001 - whatever it is, it is the finding
        return traceback.format_exc()
    return None


def inputs(names: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Every file of the corpora, with its target's name."""
    for name in names:
        for path in corpus(name):
            yield name, path
