"""The sound of a flight: stereo s16le, the caller left and the bot right. Pure.

Of a process that was killed the wav has a head that was never finished. Unless it is of this file's length, the sound
goes on to the end of the file.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stasis_app.flight.lines import FlightError

_PCM, _EXTENSIBLE = 1, 0xFFFE
_FRAME_BYTES = 4


@dataclass(frozen=True, slots=True, eq=False)
class StereoSound:
    """`both`: (samples, 2)."""

    rate: int
    both: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.both)

    def cut(self, first: int, last: int) -> tuple[bytes, bytes]:
        """The pcm of the caller and of the bot, samples `first` to `last`, end exclusive."""
        part = self.both[first:last]
        return part[:, 0].tobytes(), part[:, 1].tobytes()


def read_wav(data: bytes) -> StereoSound:
    """Raises FlightError for what a flight recorder did not write."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise FlightError("is no wav" if data else "is empty")
    finished = struct.unpack_from("<I", data, 4)[0] + 8 == len(data)
    at, rate = 12, 0
    while at + 8 <= len(data):
        name, (size,) = data[at : at + 4], struct.unpack_from("<I", data, at + 4)
        at += 8
        if name == b"fmt ":
            rate = _rate(data[at : at + size])
        elif name == b"data":
            if not rate:
                break
            whole = (len(data) - at) // _FRAME_BYTES
            samples = min(size // _FRAME_BYTES, whole) if finished else whole
            return StereoSound(rate, np.frombuffer(data, "<i2", 2 * samples, at).reshape(-1, 2))
        at += size + size % 2
    raise FlightError("is a wav that ends before its sound begins")


def _rate(form: bytes) -> int:
    if len(form) < 16:
        raise FlightError("is a wav whose head is broken")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", form)
    if kind == _EXTENSIBLE and len(form) >= 26:
        (kind,) = struct.unpack_from("<H", form, 24)
    if (kind, channels, bits) != (_PCM, 2, 16) or not rate:
        raise FlightError(
            f"has {channels} channels of {bits} bits in format {kind}: "
            "a flight's wav, as it was written, has 2 of 16 bits of pcm"
        )
    return int(rate)
