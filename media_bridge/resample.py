"""Change of sample rate, block by block."""

from functools import lru_cache
from math import ceil, gcd

import numpy as np
from numpy.typing import NDArray

# the filter reaches so many samples of the lower rate to both sides: 2.9 ms at 8 kHz
_REACH = 23
# in parts of the lower rate: at 8 kHz it is whole up to 3.4 kHz and 60 dB down from 4.1 kHz on
_CUTOFF = 0.473
_KAISER_BETA = 5.65
# places between two input samples that are told apart at most; the error that leaves is 60 dB down
_MAX_PHASES = 1024
# outputs made at once: what they need stays in the processor's cache
_MAX_AT_ONCE = 1024

_Floats = NDArray[np.float32]


class Resampler:
    """One stream of pcm from one rate to another.

    A band-limited filter: what would alias is over 40 dB down. Less than 3 ms is held back until
    `last`. Blocks may have any size, an odd number of bytes included. Raises ValueError for a rate
    that is not positive or a ratio beyond 1:256, and on feeding after `last`.
    """

    def __init__(self, from_rate: int, to_rate: int) -> None:
        if from_rate <= 0 or to_rate <= 0 or not 1 / 256 <= to_rate / from_rate <= 256:
            raise ValueError(f"Cannot resample from {from_rate} to {to_rate} Hz")
        # output n lies at input n * down / up
        self._up, self._down = to_rate // gcd(from_rate, to_rate), from_rate // gcd(from_rate, to_rate)
        self._reach = _reach(self._up, self._down)
        self._bank = _filters(self._up, self._down) if from_rate != to_rate else None
        # the input from sample `_origin` on; before the first one there was silence
        self._input: _Floats = np.zeros(self._reach, np.float32)
        self._origin = -self._reach
        self._odd = b""
        self._given = 0
        self._ended = False

    def feed(self, pcm: bytes, last: bool = False) -> bytes:
        """Pcm in, pcm out; `last` also gives what the filter held. A half sample at the end is dropped."""
        if self._ended:
            raise ValueError("The stream has ended: make a new Resampler for the next one")
        self._ended = last
        pcm = self._odd + pcm
        whole = len(pcm) & ~1
        self._odd = pcm[whole:]
        if self._bank is None:
            return pcm[:whole]
        samples = np.frombuffer(pcm[:whole], "<i2").astype(np.float32)
        self._input = np.concatenate([self._input, samples])
        taken = self._origin + len(self._input)
        # an output needs the input on both sides of it
        until = ceil((taken - self._reach) * self._up / self._down)
        if last:
            until = round(taken * self._up / self._down)
            self._input = np.concatenate([self._input, np.zeros(2 * self._reach, np.float32)])
        return b"".join(
            self._make(first, min(first + _MAX_AT_ONCE, until), self._bank)
            for first in range(self._given, until, _MAX_AT_ONCE)
        )

    def _make(self, first: int, until: int, bank: _Floats) -> bytes:
        """The outputs `first` to `until`, end exclusive, and the input before them forgotten."""
        # each output's input sample, how far it is on to the next one, and the first sample under its filter
        whole, parts = np.divmod(np.arange(first * self._down, until * self._down, self._down), self._up)
        starts = whole - (self._reach - 1 + self._origin)
        size = self._input.itemsize
        shape = (len(self._input) - 2 * self._reach + 1, 2 * self._reach)
        under = np.ndarray(shape, np.float32, self._input, 0, (size, size))[starts]
        if len(bank) == 1:
            made = under @ bank[0]
        else:
            phases = parts if len(bank) == self._up else parts * len(bank) // self._up
            made = np.einsum("ij,ij->i", under, bank.take(phases, axis=0))
        self._given = until
        gone = max(0, until * self._down // self._up - self._reach + 1 - self._origin)
        self._input = self._input[gone:]
        self._origin += gone
        return _to_pcm(made)


def _reach(up: int, down: int) -> int:
    """The same in input samples."""
    return ceil(_REACH * max(1.0, down / up))


@lru_cache(maxsize=8)
def _filters(up: int, down: int) -> _Floats:
    """A windowed sinc at each place an output may have between two inputs: (places, 2 * reach)."""
    reach = _reach(up, down)
    phases = min(up, _MAX_PHASES)
    at = np.arange(2 * reach)[None] - (reach - 1) - np.arange(phases)[:, None] / phases
    cutoff = _CUTOFF * min(1.0, up / down)
    window = np.i0(_KAISER_BETA * np.sqrt(np.maximum(0.0, 1 - (at / reach) ** 2)))
    bank = np.sinc(2 * cutoff * at) * window
    return np.asarray(bank / bank.sum(axis=1, keepdims=True), np.float32)


def _to_pcm(samples: _Floats) -> bytes:
    return np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes()


_HALVER_TAPS = 45
_HALVER_AT = np.arange(_HALVER_TAPS) - _HALVER_TAPS // 2
# a windowed sinc: whole up to 3.4 kHz, over 40 dB down from 4.6 kHz on
_HALVER_FILTER = (np.sinc(_HALVER_AT / 2) * np.hamming(_HALVER_TAPS) / 2).astype(np.float32)


class Halver:
    """16 kHz to 8 kHz at a third of a Resampler's cost; 1.4 ms late. Blocks have an even number of samples."""

    def __init__(self) -> None:
        self._history = np.zeros(_HALVER_TAPS - 1, np.float32)

    def feed(self, pcm: bytes) -> bytes:
        """Half as many samples as came in."""
        samples = np.concatenate([self._history, np.frombuffer(pcm, "<i2").astype(np.float32)])
        self._history = samples[1 - _HALVER_TAPS :]
        return _to_pcm(np.convolve(samples, _HALVER_FILTER, "valid")[::2])
