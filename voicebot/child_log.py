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
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
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
    """`async with log.pipe() as write_end`: what is written there comes into `path`. Once at a time.

    `on_lost` is told why, on the event loop, the first time that the file does not take something.
    """

    def __init__(
        self,
        path: Path,
        on_lost: Callable[[OSError], object] = lambda _: None,
        max_bytes: int = MAX_BYTES,
        kept: int = KEPT,
    ) -> None:
        self.path = path
        self.lost = False
        self._on_lost = on_lost
        self._max_bytes = max_bytes
        self._kept = kept
        self._tail = bytearray()

    @asynccontextmanager
    async def pipe(self) -> AsyncIterator[int]:
        """On leaving, all that was written by then is in the file. What a disk does not take, or not in LAST_WRITES_S,
        is lost; a file that cannot be opened is tried again as long as something comes.

        Raises OSError when there is no pipe to be had, RuntimeError when there is no thread.
        """
        self._tail = tail = bytearray()
        loop, written = asyncio.get_running_loop(), asyncio.Event()

        def tell(what: Callable[..., object], *about: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop ended before the disk went on
                loop.call_soon_threadsafe(what, *about)

        def write() -> None:
            file = _File(self.path, self._max_bytes, self._kept)
            _pump(read_end, over, file, tail, lambda error: tell(self._tell_lost, error))
            tell(written.set)

        with ExitStack() as opened:
            read_end, write_end = _pipe(opened)
            over, end_it = _pipe(opened)
            if sys.platform == "linux":
                with contextlib.suppress(OSError):  # more than this user may
                    fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES)
            # a daemon: a disk that hangs shall not keep our process from its end
            threading.Thread(target=write, name=f"log of {self.path.name}", daemon=True).start()
            opened.pop_all()  # what is read from, the thread closes
        try:
            yield write_end
        finally:
            # whoever else holds the other end, a program that left the child's session, is heard no more
            os.close(write_end)
            os.close(end_it)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_WRITES_S):
                    await written.wait()

    def _tell_lost(self, error: OSError) -> None:
        if not self.lost:
            self.lost = True
            self._on_lost(error)

    def tail(self) -> str:
        """The end of what was printed since the pipe was opened."""
        return bytes(self._tail).decode(errors="replace")


def _pipe(opened: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        opened.callback(os.close, end)
    return ends


# --- in the writing thread ---


def _pump(
    read_end: int, over: int, file: "_File", tail: bytearray, lost: Callable[[OSError], object]
) -> None:
    """Closes all of them at its end, which on a disk that hangs may be long after the pipe's."""
    try:
        _try(file.open, lost)
        while True:
            ready, _, _ = select.select([read_end, over], [], [])
            if read_end not in ready:
                return
            data = os.read(read_end, _READ_BYTES)
            if not data:
                return
            tail += data
            del tail[:-TAIL_BYTES]
            _try(partial(file.write, data), lost)
    finally:
        for end in (read_end, over):
            os.close(end)
        _try(file.close, lost)


def _try(work: Callable[[], object], lost: Callable[[OSError], object]) -> None:
    try:
        work()
    except OSError as error:
        lost(error)


class _File:
    """Raises OSError."""

    def __init__(self, path: Path, max_bytes: int, kept: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._file: int | None = None
        self._at_line_start = True

    def open(self) -> int:
        """Once it is open it stays so."""
        if self._file is None:
            # at level debug it holds what callers said
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = self._open()
        return self._file

    def write(self, data: bytes) -> None:
        while data:
            size = os.fstat(self.open()).st_size
            end = len(data)
            if size + end > self._max_bytes:
                end = data.rfind(b"\n", 0, max(self._max_bytes - size, 0)) + 1
                if not end and size and self._at_line_start and self._begin_new():
                    continue
                # a single line longer than a file is kept in one all the same
                end = end or data.find(b"\n") + 1 or len(data)
            _write_all(self.open(), data[:end])
            self._at_line_start = data[end - 1] == ord("\n")
            data = data[end:]

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def _begin_new(self) -> bool:
        """Whether it could: a log that is too long is better than none."""
        try:
            set_aside(self._path, self._kept)
            new = self._open()
        except OSError:
            return False
        self.close()
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
