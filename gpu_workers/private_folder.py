"""Folders that only this user can read; one for as long as a process runs is never left behind for good."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "lock"


def make_private(folder: Path) -> None:
    """For a folder of our own making, with all above it: nobody else may look into it, also where it was there already
    and others could. Raises OSError when it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(OSError):  # another user's, or on a read-only disk
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)


@contextmanager
def private_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder in `parent` that only this user can read; removed at the end, whatever happened inside.

    What killed runs have left under the same `prefix` is removed as well: the lock in each folder tells whether
    somebody uses it. A lock on the folder itself keeps systemd-tmpfiles away, which otherwise empties what lies below
    /tmp for ten days (systemd, "Using /tmp/ and /var/tmp/ Safely").
    """
    _sweep(parent, prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with _locked(folder), (folder / "lock.new").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "lock.new").rename(folder / LOCK)  # only now can a sweep see it
            yield folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _sweep(parent: Path, prefix: str) -> None:
    for folder in parent.glob(prefix + "*"):
        with contextlib.suppress(OSError):  # in use, another user's, or gone meanwhile
            if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
                continue
            with (folder / LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
