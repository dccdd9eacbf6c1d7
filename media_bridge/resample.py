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
# so many outputs in a row are one product of what lies under all of them
_GROUP = 16
# places between two inputs at which a group may begin, told apart at most; the error that leaves is 60 dB down
_MAX_PLACES = 512

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
        self._span = _span(self._up, self._down)
        # after so many groups all begin at the same places between two inputs again
        self._cycle = self._up // gcd(self._up, _GROUP)
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
        if self._up == self._down:
            return pcm[:whole]
        self._input = np.concatenate([self._input, np.frombuffer(pcm[:whole], "<i2").astype(np.float32)])
        taken = self._origin + len(self._input)
        # an output needs the input on both sides of it, and behind the last one there is silence
        until = ceil((taken - (0 if last else self._reach)) * self._up / self._down)
        if last:
            until = round(taken * self._up / self._down)
        return self._make(self._given, until) if until > self._given else b""

    def _make(self, first: int, until: int) -> bytes:
        """The outputs `first` to `until`, end exclusive; the input before them is forgotten."""
        groups = range(first // _GROUP, ceil(until / _GROUP))
        begins = np.arange(groups.start, groups.stop) * (_GROUP * self._down)
        starts = begins // self._up - (self._reach - 1 + self._origin)
        # the outputs of the last group that are not due yet get silence, and are left out
        padded = np.concatenate([self._input, np.zeros(self._span, np.float32)])
        shape, step = (len(padded) - self._span + 1, self._span), padded.itemsize
        under = np.ndarray(shape, np.float32, padded, 0, (step, step))[starts]
        made = np.empty((len(groups), _GROUP), np.float32)
        for at in range(min(self._cycle, len(groups))):
            filters = _filters(self._up, self._down, int(begins[at] % self._up))
            made[at :: self._cycle] = under[at :: self._cycle] @ filters
        self._given = until
        self._forget(until // _GROUP * _GROUP * self._down // self._up - self._reach + 1)
        offset = groups.start * _GROUP
        return _to_pcm(made.reshape(-1)[first - offset : until - offset])

    def _forget(self, before: int) -> None:
        gone = max(0, before - self._origin)
        self._input = self._input[gone:]
        self._origin += gone


def _reach(up: int, down: int) -> int:
    """The same in input samples."""
    return ceil(_REACH * max(1.0, down / up))


def _span(up: int, down: int) -> int:
    """So many inputs lie under a group."""
    return 2 * _reach(up, down) + ceil(_GROUP * down / up)


@lru_cache(maxsize=2 * _MAX_PLACES)
def _filters(up: int, down: int, part: int) -> _Floats:
    """Windowed sincs (Kaiser) for a group that begins `part` / `up` behind an input: (span, _GROUP)."""
    reach = _reach(up, down)
    place = part / up
    if up // gcd(up, _GROUP) > _MAX_PLACES:
        place = (int(place * _MAX_PLACES) + 0.5) / _MAX_PLACES
    outputs = place + np.arange(_GROUP) * down / up
    at = np.arange(_span(up, down))[:, None] - (reach - 1) - outputs
    inside = np.sqrt(np.maximum(0.0, 1 - (at / reach) ** 2))
    window = np.where(inside > 0, np.i0(_KAISER_BETA * inside), 0.0)
    filters = np.sinc(2 * _CUTOFF * min(1.0, up / down) * at) * window
    return np.asarray(filters / filters.sum(axis=0), np.float32)


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
