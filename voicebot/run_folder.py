"""A private folder for one run, with a path short enough for unix sockets, that no run leaves behind."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 60  # a unix socket's path may have 107 bytes, and the programs inside add their own part
LOCK = "lock"


@contextmanager
def run_folder() -> Iterator[Path]:
    """A new folder that only this user can read; removed at the end, whatever happened inside.

    What killed runs have left is removed as well: the lock in each folder tells whether somebody uses it.
    """
    parent = Path(tempfile.gettempdir())
    prefix = f"voicebot-{os.getuid()}-"
    if len(str(parent / prefix)) > LONGEST - 8:
        parent = Path("/tmp")  # noqa: S108 - mkdtemp makes a private folder there
    _sweep(parent, prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / "lock.new").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "lock.new").rename(folder / LOCK)  # only now can a sweep see it
            yield folder


def _sweep(parent: Path, prefix: str) -> None:
    for folder in parent.glob(prefix + "*"):
        with contextlib.suppress(OSError):  # in use, another user's, or gone meanwhile
            if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
                continue
            with (folder / LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
