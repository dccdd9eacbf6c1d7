"""What a child prints, in a file of its owner's alone that does not grow without end.

The child writes into a pipe and a thread of ours into the file, so that the file can be changed for a new one between
two lines while the child, whatever program it is, knows nothing of it. The pipe also holds what comes while the disk is
slow.
"""

import contextlib
import fcntl
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_BYTES = 10_000_000
"""Of one file, and the rest of its last line."""
KEPT = 2
"""Files beside the one that is written: NAME.1 is the one before it, NAME.2 the one before that."""
TAIL_BYTES = 20_000
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_F_SETPIPE_SZ = 1031  # linux/fcntl.h; fcntl.F_SETPIPE_SZ is there on Linux alone


class ChildLog:
    """`with log.pipe() as write_end`: what is written there comes into `path`. Once at a time."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, kept: int = KEPT) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._tail = bytearray()
        self._file: int
        self._at_line_start: bool

    @contextmanager
    def pipe(self) -> Iterator[int]:
        """On leaving, all that was written by then is in the file. What a disk does not take is lost."""
        self._tail.clear()
        # at level debug it holds what callers said
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._open()
        read_end, write_end = os.pipe()
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # more than this user may
                fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES)
        over, end_it = os.pipe()
        writer = threading.Thread(target=self._pump, args=(read_end, over), name=f"log of {self.path.name}")
        writer.start()
        try:
            yield write_end
        finally:
            # whoever else holds the other end, a program that left the child's session, is heard no more
            os.close(write_end)
            os.close(end_it)
            writer.join()
            for end in (read_end, over):
                os.close(end)
            os.close(self._file)

    def tail(self) -> str:
        """The end of what was printed since the pipe was opened."""
        return bytes(self._tail).decode(errors="replace")

    # --- in the writing thread ---

    def _pump(self, read_end: int, over: int) -> None:
        while True:
            ready, _, _ = select.select([read_end, over], [], [])
            if read_end not in ready:
                return
            data = os.read(read_end, _READ_BYTES)
            if not data:
                return
            self._tail += data
            del self._tail[:-TAIL_BYTES]
            with contextlib.suppress(OSError):
                self._write(data)

    def _write(self, data: bytes) -> None:
        while data:
            size = os.fstat(self._file).st_size
            end = len(data)
            if size + end > self._max_bytes:
                end = data.rfind(b"\n", 0, max(self._max_bytes - size, 0)) + 1
                if not end and size and self._at_line_start:
                    self._begin_new()
                    continue
                # a single line longer than a file is kept in one all the same
                end = end or data.find(b"\n") + 1 or len(data)
            _write_all(self._file, data[:end])
            self._at_line_start = data[end - 1] == ord("\n")
            data = data[end:]

    def _begin_new(self) -> None:
        set_aside(self.path, self._kept)
        full = self._file
        self._open()
        os.close(full)

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self._at_line_start = True


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def set_aside(path: Path, kept: int = KEPT) -> None:
    """`path` becomes path.1, path.1 becomes path.2, and so on; the oldest is gone."""
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, kept + 1))]
    for older, newer in zip(names[:0:-1], names[-2::-1], strict=True):
        with contextlib.suppress(FileNotFoundError):
            newer.replace(older)
