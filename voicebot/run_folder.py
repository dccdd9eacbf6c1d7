"""A private folder for one run, with a path short enough for unix sockets."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpu_workers.private_folder import private_folder

LONGEST = 60  # a unix socket's path may have 107 bytes, and the programs inside add their own part


@contextmanager
def run_folder() -> Iterator[Path]:
    """A `private_folder` below TMPDIR, or below /tmp where that is too long."""
    parent = Path(tempfile.gettempdir())
    prefix = f"voicebot-{os.getuid()}-"
    if len(str(parent / prefix)) > LONGEST - 8:
        parent = Path("/tmp")  # noqa: S108 - mkdtemp makes a private folder there
    with private_folder(parent, prefix) as folder:
        yield folder
