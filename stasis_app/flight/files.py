"""The two files of a flight on the disk, CALL.flight and CALL.wav, and which of a folder are ours."""

import errno
import os
import re
import wave
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from stasis_app.retention import Kept

_OURS = re.compile(r"[0-9a-f]{8}\.(?:flight|wav)")
_FRAME_BYTES = 4
_SOME_SILENCE = bytes(_FRAME_BYTES * 16_000)


class FlightFiles:
    """For the writing thread. The methods raise OSError, once: what comes behind a gap is not written."""

    def __init__(self, directory: Path, call_id: str) -> None:
        self._directory = directory
        self._lines = directory / f"{call_id}.flight"
        self._wav = directory / f"{call_id}.wav"
        self._open = ExitStack()
        self._broken = True  # until it has begun
        self._samples = 0

    def begin(self, head: str, rate: int) -> None:
        with ExitStack() as stack:
            usable(self._directory)
            for path in (self._lines, self._wav):
                path.touch(mode=0o600)
            self._line_file = stack.enter_context(self._lines.open("w", encoding="utf-8"))
            self._sound = stack.enter_context(wave.open(str(self._wav), "wb"))
            self._sound.setnchannels(2)
            self._sound.setsampwidth(2)
            self._sound.setframerate(rate)
            self._open = stack.pop_all()
        self._broken = False
        self.lines([head])

    def lines(self, texts: Iterable[str]) -> None:
        with self._whole():
            if not self._broken:
                self._line_file.write("".join(text + "\n" for text in texts))
                self._line_file.flush()

    def sound(self, first: int, caller: bytes, bot: bytes) -> None:
        """Both sides from sample `first` on. What is missing before it is silence."""
        stereo = bytearray(2 * len(caller))
        for at in (0, 1):
            stereo[at::4] = caller[at::2]
            stereo[at + 2 :: 4] = bot[at::2]
        with self._whole():
            if self._broken:
                return
            missing = _FRAME_BYTES * (first - self._samples)
            for at in range(0, missing, len(_SOME_SILENCE)):
                self._sound.writeframes(_SOME_SILENCE[: missing - at])
            # not ...raw: the head then says how long it is whenever the process is killed
            self._sound.writeframes(bytes(stereo))
            self._samples = first + len(stereo) // _FRAME_BYTES

    def end(self) -> None:
        with self._whole():
            self._open.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            if self._broken:
                return
            self._broken = True
            raise


def usable(directory: Path) -> None:
    """Make the folder if it is not there. Raises OSError where no file can be made in it."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(directory))


def kept(directory: Path) -> list[Kept]:
    """The flights in a folder. Raises OSError."""
    found: dict[str, Kept] = {}
    for path in directory.iterdir():
        if _OURS.fullmatch(path.name):
            size, written = _state(path)
            one = found.get(path.stem, Kept(path.stem, 0, 0.0))
            found[path.stem] = Kept(path.stem, one.size + size, max(one.written, written))
    return list(found.values())


def remove(directory: Path, name: str) -> None:
    """Raises OSError."""
    for kind in ("flight", "wav"):
        (directory / f"{name}.{kind}").unlink(missing_ok=True)


def _state(path: Path) -> tuple[int, float]:
    """Size and time; of one that another process has just removed, nothing."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return 0, 0.0
    return state.st_size, state.st_mtime
