"""What a child prints, in a file of its owner's alone that does not grow without end.

The child writes into a pipe and a thread of ours into the file, so that the file can be changed for a new one between
two lines while the child, whatever program it is, knows nothing of it. The pipe also holds what comes while the disk is
slow.
"""

import asyncio
import contextlib
import fcntl
import os
import select
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

MAX_BYTES = 10_000_000
"""Of one file, and the rest of its last line."""
KEPT = 2
"""Files beside the one that is written: NAME.1 is the one before it, NAME.2 the one before that."""
TAIL_BYTES = 20_000
LAST_WRITES_S = 5.0
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_F_SETPIPE_SZ = 1031  # linux/fcntl.h; fcntl.F_SETPIPE_SZ is there on Linux alone


class ChildLog:
    """`async with log.pipe() as write_end`: what is written there comes into `path`. Once at a time."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, kept: int = KEPT) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._tail = bytearray()

    @asynccontextmanager
    async def pipe(self) -> AsyncIterator[int]:
        """On leaving, all that was written by then is in the file. What a disk does not take, or not in LAST_WRITES_S,
        is lost.
        """
        # at level debug it holds what callers said
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = _File(self.path, self._max_bytes, self._kept)
        self._tail = tail = bytearray()
        read_end, write_end = os.pipe()
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # more than this user may
                fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES)
        over, end_it = os.pipe()
        writer = threading.Thread(
            target=_pump,
            args=(read_end, over, file, tail),
            name=f"log of {self.path.name}",
            daemon=True,  # a disk that hangs shall not keep our process from its end
        )
        writer.start()
        try:
            yield write_end
        finally:
            # whoever else holds the other end, a program that left the child's session, is heard no more
            os.close(write_end)
            os.close(end_it)
            await asyncio.to_thread(writer.join, LAST_WRITES_S)

    def tail(self) -> str:
        """The end of what was printed since the pipe was opened."""
        return bytes(self._tail).decode(errors="replace")


# --- in the writing thread ---


def _pump(read_end: int, over: int, file: "_File", tail: bytearray) -> None:
    """Closes all of them at its end, which on a disk that hangs may be long after the pipe's."""
    try:
        while True:
            ready, _, _ = select.select([read_end, over], [], [])
            if read_end not in ready:
                return
            data = os.read(read_end, _READ_BYTES)
            if not data:
                return
            tail += data
            del tail[:-TAIL_BYTES]
            with contextlib.suppress(OSError):
                file.write(data)
    finally:
        for end in (read_end, over):
            os.close(end)
        file.close()


class _File:
    """Raises OSError."""

    def __init__(self, path: Path, max_bytes: int, kept: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._file = self._open()
        self._at_line_start = True

    def write(self, data: bytes) -> None:
        while data:
            size = os.fstat(self._file).st_size
            end = len(data)
            if size + end > self._max_bytes:
                end = data.rfind(b"\n", 0, max(self._max_bytes - size, 0)) + 1
                if not end and size and self._at_line_start and self._begin_new():
                    continue
                # a single line longer than a file is kept in one all the same
                end = end or data.find(b"\n") + 1 or len(data)
            _write_all(self._file, data[:end])
            self._at_line_start = data[end - 1] == ord("\n")
            data = data[end:]

    def close(self) -> None:
        os.close(self._file)

    def _begin_new(self) -> bool:
        """Whether it could: a log that is too long is better than none."""
        try:
            set_aside(self._path, self._kept)
            new = self._open()
        except OSError:
            return False
        os.close(self._file)
        self._file = new
        return True

    def _open(self) -> int:
        return os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def set_aside(path: Path, kept: int = KEPT) -> None:
    """`path` becomes path.1, path.1 becomes path.2, and so on; the oldest is gone."""
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, kept + 1))]
    for older, newer in zip(names[:0:-1], names[-2::-1], strict=True):
        with contextlib.suppress(FileNotFoundError):
            newer.replace(older)
