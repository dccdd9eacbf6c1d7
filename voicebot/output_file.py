"""A file that a command is told to write is looked at before anything begins, not when all is done."""

import os
from pathlib import Path

from voicebot.errors import UsageError


def check_output(option: str, path: Path | None, *, makes_folder: bool = False) -> None:
    """Raises UsageError where `path` cannot be written; leaves nothing behind but, with `makes_folder`, its folder."""
    if path is None:
        return
    try:
        if makes_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        path = path.resolve()  # of a link that leads to nothing yet, what it leads to
        new = not path.exists()
        if new or path.is_file() or path.is_dir():  # opening a pipe would wait for its reader
            os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        if new:
            path.unlink()
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}: name a file that can be written here") from None
