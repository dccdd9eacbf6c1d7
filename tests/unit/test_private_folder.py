"""Private folders: nobody else's, none left behind, and not emptied meanwhile."""

import fcntl
import os
from pathlib import Path

import pytest

from gpu_workers.private_folder import private_folder


def test_what_empties_old_folders_below_tmp_leaves_it_alone(tmp_path: Path) -> None:
    """systemd-tmpfiles skips a folder that it cannot lock for itself, and all that is in it."""
    with private_folder(tmp_path, "run-") as folder:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
    assert not folder.exists()


def test_what_a_killed_run_left_is_removed_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    left = tmp_path / "run-killed"
    left.mkdir()
    (left / "lock").touch()
    with private_folder(tmp_path, "run-") as first, private_folder(tmp_path, "run-") as second:
        assert not left.exists()
        assert first.is_dir() and second.is_dir()
