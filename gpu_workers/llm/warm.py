"""Beginnings of talks that every slot knows before the first call.

llama.cpp keeps the read prompt per slot: with four slots, the second, third and fourth call at once would each read
the system prompt anew (seconds on a CPU). So it is read once, with what every talk begins with, its state is kept
in a file, and every slot starts from it.
"""

import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from gpu_workers.private_folder import make_private
from gpu_workers.settings import TalkMessage, begun

log = logging.getLogger(__name__)

_READ_S: Final = 300.0
_RESTORE_S: Final = 10.0
_KEPT_S: Final = 30 * 24 * 3600
_REASON_BYTES: Final = 500


Talk = tuple[TalkMessage, ...]


class SlotStates:
    """Files in `folder`, one a model and beginning. A state that cannot be had costs time in a call, nothing else.

    Where nothing can be written, as in a cache folder that is read-only, those that are there are used.
    """

    def __init__(self, folder: Path, model: Path, layout: str) -> None:
        """`layout` names all else that a state depends on: a state fits only a server that is set up alike."""
        self.folder = folder
        self._model = f"{model.name} {model.stat().st_size} {model.stat().st_mtime_ns} {layout}"
        try:
            make_private(folder)  # a state holds the prompt
        except OSError as error:
            log.warning(
                "%s cannot be made: %s; what talks begin with is read anew at each start (workers.cache_dir)",
                folder,
                error.strerror or error,
            )
        self._forget_old()

    def prepare(self, base: str, talks: Sequence[Talk], api_key: SecretStr | None) -> None:
        """Has the server at `base` read the beginnings that have no file yet."""
        missing = [talk for talk in dict.fromkeys(talks) if not (self.folder / self._name(talk)).exists()]
        if missing:
            log.info("reading the beginning of %d talk(s) for the first time", len(missing))
        for talk in missing:
            asked = {**begun(talk), "max_tokens": 1, "id_slot": 0}
            if post(f"{base}/v1/chat/completions", asked, _READ_S, api_key):
                post(f"{base}/slots/0?action=save", {"filename": self._name(talk)}, _RESTORE_S, api_key)

    def restore(self, base: str, talks: Sequence[Talk], slots: int, api_key: SecretStr | None) -> None:
        """Gives each slot of the server at `base` one of the beginnings, in turn."""
        if not talks:
            return
        for slot in range(slots):
            state = self.folder / self._name(talks[slot % len(talks)])
            if not state.exists():
                continue
            if post(f"{base}/slots/{slot}?action=restore", {"filename": state.name}, _RESTORE_S, api_key):
                with suppress(OSError):
                    state.touch()
            else:
                with suppress(OSError):
                    state.unlink()  # the next start reads it again

    def _name(self, talk: Talk) -> str:
        asked = begun(talk)
        said = json.dumps(asked if "tools" in asked else asked["messages"])
        return sha256(f"{self._model}\0{said}".encode()).hexdigest()[:32] + ".state"

    def _forget_old(self) -> None:
        for state in self.folder.glob("*.state"):
            with suppress(OSError):  # read-only, or another worker's and gone meanwhile
                if time.time() - state.stat().st_mtime > _KEPT_S:
                    state.unlink()


def post(
    url: str,
    body: dict[str, Any],
    timeout_s: float,
    api_key: SecretStr | None,
    more: Mapping[str, str] | None = None,
) -> bool:
    """Asks our own server; False, and a warning with its reason, when it refuses. `more`: further headers."""
    headers = {"Content-Type": "application/json", **(more or {})}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key.get_secret_value()}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
            answer.read()
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(_REASON_BYTES).decode("utf-8", "replace")
        log.warning("the beginning of a talk could not be made ready: status %d, %s", error.code, said)
        return False
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        log.warning("the beginning of a talk could not be made ready: %s", error)
        return False
    return True
