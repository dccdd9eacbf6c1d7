"""Files of a model hub over plain HTTPS."""

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpu_workers.errors import ModelError
from gpu_workers.models.catalogue import HubSource, ModelFile
from gpu_workers.models.progress import Progress

# a machine behind a closed network should get on to the next source soon
_TIMEOUT_S = 6.0
_BLOCK = 1 << 18
_DEFAULT_HOST = "https://huggingface.co"


def download(source: HubSource, files: tuple[ModelFile, ...], folder: Path, progress: Progress) -> None:
    """Writes `files` to `folder`. The host is HF_ENDPOINT where that is set; HF_HUB_OFFLINE=1 skips the hub.

    Raises ModelError when the hub does not give them; the content is not checked here.
    """
    if os.environ.get("HF_HUB_OFFLINE") in {"1", "true"}:
        raise ModelError("the model hub is switched off (HF_HUB_OFFLINE)")
    host = os.environ.get("HF_ENDPOINT", _DEFAULT_HOST).rstrip("/")
    if not host.startswith(("https://", "http://")):
        raise ModelError(f"HF_ENDPOINT must begin with https://, not {host[:40]!r}")
    done = 0
    for file in files:
        url = f"{host}/{source.repository}/resolve/{source.revision}/{source.paths[file.name]}"
        done = _one(url, file, folder / file.name, done, progress)


def _one(url: str, file: ModelFile, path: Path, done: int, progress: Progress) -> int:
    with _asking_for(file):
        answer = urllib.request.urlopen(url, timeout=_TIMEOUT_S)  # noqa: S310 - see above
    with answer, path.open("wb") as out:
        written = 0
        while True:
            with _asking_for(file):
                block = answer.read(_BLOCK)
            if not block:
                break
            written += len(block)
            # a login page or an endless stream must not fill the disk
            if written > file.size:
                raise ModelError(f"the model hub sends more than the {file.size} bytes of {file.name}")
            out.write(block)
            progress.reached(done + written)
    return done + written


@contextmanager
def _asking_for(file: ModelFile) -> Iterator[None]:
    """Around what the network does and nothing else: an OSError of the disk is no fault of the hub's."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise ModelError(f"the model hub does not give {file.name} ({_why(error)})") from error


def _why(error: Exception) -> str:
    match error:
        case urllib.error.HTTPError():
            return f"status {error.code}"
        case urllib.error.URLError():
            return f"not reachable: {error.reason}"
        case TimeoutError():
            return "no answer in time"
        case OSError(strerror=str(words)):
            return words
        case _:
            return type(error).__name__
