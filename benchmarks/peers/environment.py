"""A peer's environment: made once, from pinned packages with hashes, apart from ours and from every other.

It lies under the cache (`~/.cache/voicebot/peers/NAME-PYTHON`), so a checkout that is deleted costs no second download.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from voicebot.cache import default_cache_dir

Python = tuple[int, int]
Say = Callable[[str], None]

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
_STAMP = "made-from"
_DOWNLOAD = re.compile(r"^\s*Downloading (?:\S*/)?(\S+) (\([\d.]+ \w+\))")
_WHICH = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"


class PeerMissingError(Exception):
    """The peer cannot run here. Its text says why, in a few words."""


@dataclass(frozen=True, slots=True)
class Packages:
    """`name` is that of NAME.txt in `folder`; `size` is said before it is fetched."""

    name: str
    size: str
    folder: Path = REQUIREMENTS / "peers"

    @property
    def requirements(self) -> Path:
        return self.folder / f"{self.name}.txt"


def environment(packages: Packages, pythons: Sequence[Python], say: Say) -> Path:
    """The interpreter of the environment, which is made if need be. Raises PeerMissingError."""
    found = find_python(pythons, _asked)
    if found is None:
        wanted = ", ".join(_dotted(python) for python in pythons)
        raise PeerMissingError(f"needs Python {wanted}, which is not here")
    version, interpreter = found
    folder = default_cache_dir() / "peers" / f"{packages.name}-{_dotted(version)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_suffix(folder.suffix + ".lock")):
        if _stamp(folder) != _fingerprint(packages):
            _make(folder, packages, interpreter, say)
    return folder / "bin" / "python"


def find_python(pythons: Sequence[Python], ask: Callable[[str], Python | None]) -> tuple[Python, str] | None:
    """Version and command of an interpreter that will do, the first of `pythons` that is here.

    `ask` gives the version of a command that can make environments, else None: a command that is there may be a shim
    that only says so.
    """
    for version in pythons:
        for command in commands(version, os.environ):
            if ask(command) == version:
                return version, command
    return None


def commands(version: Python, env: "os._Environ[str] | dict[str, str]") -> Iterator[str]:
    """Where Python of this version may be: on the path, else among those of pyenv."""
    name = f"python{_dotted(version)}"
    yield name
    root = Path(env.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(root.glob(f"versions/{_dotted(version)}.*/bin/{name}")))


def downloading(line: str) -> str | None:
    """What pip says it downloads: `FILE (SIZE)`."""
    found = _DOWNLOAD.match(line)
    return f"{found[1]} {found[2]}" if found else None


def _asked(command: str) -> Python | None:
    try:
        answer = subprocess.run(
            [command, "-c", _WHICH], capture_output=True, text=True, timeout=30, check=True
        )
        major, minor = answer.stdout.split(".")
        return int(major), int(minor)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _make(folder: Path, packages: Packages, interpreter: str, say: Say) -> None:
    say(f"Making an environment for {packages.name} (about {packages.size}) in {folder}.")
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run(
        [interpreter, "-m", "venv", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise PeerMissingError(f"its environment could not be made: {_end(made.stderr)}")
    # no dependencies: the list is whole, less what is left out on purpose
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--require-hashes", "--no-deps"]
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off"}
    with subprocess.Popen(
        [*pip, "-r", str(packages.requirements)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | quiet,
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if file := downloading(line):
                say(f"  {file}")
    if process.returncode:
        raise PeerMissingError(f"its packages could not be installed: {_end(''.join(lines))}")
    (folder / _STAMP).write_text(_fingerprint(packages), encoding="ascii")
    mib = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    say(f"Made, {mib:.0f} MB.")


def _fingerprint(packages: Packages) -> str:
    return hashlib.sha256(packages.requirements.read_bytes()).hexdigest()


def _stamp(folder: Path) -> str:
    try:
        return (folder / _STAMP).read_text(encoding="ascii")
    except OSError:
        return ""


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two benchmarks at a time do not make the same environment."""
    with lock.open("w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _end(output: str) -> str:
    """The last line that says what is wrong, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no reason given"])[-1]


def _dotted(version: Python) -> str:
    return ".".join(map(str, version))
