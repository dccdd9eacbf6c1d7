"""Change of sample rate, block by block."""

import numpy as np
import samplerate  # type: ignore[import-not-found]
from numpy.typing import NDArray

_FULL_SCALE = 32768.0
# more than the filter ever holds back, in seconds of input
_FLUSH_S = 0.01


class Resampler:
    """One stream of pcm from one rate to another.

    A band-limited filter: what would alias is over 40 dB down. Less than 3 ms is held back until
    `last`. Blocks may have any size, an odd number of bytes included. Raises ValueError for a rate
    that is not positive or a ratio beyond 1:256, and on feeding after `last`.
    """

    def __init__(self, from_rate: int, to_rate: int) -> None:
        if from_rate <= 0 or to_rate <= 0 or not 1 / 256 <= to_rate / from_rate <= 256:
            raise ValueError(f"Cannot resample from {from_rate} to {to_rate} Hz")
        self._ratio = to_rate / from_rate
        self._same = from_rate == to_rate
        self._filter = samplerate.Resampler("sinc_fastest", channels=1)
        # the package sizes its output by its input, so only a tail of silence brings out what is held
        self._tail = np.zeros(max(1, int(from_rate * _FLUSH_S)), np.float32)
        self._odd = b""
        self._taken = 0
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
        if self._same:
            return pcm[:whole]
        self._taken += whole // 2
        samples = np.frombuffer(pcm[:whole], "<i2").astype(np.float32) / _FULL_SCALE
        blocks = [self._process(samples)] if whole else []
        if last:
            missing = round(self._taken * self._ratio) - self._given
            blocks.append(self._process(self._tail)[: 2 * max(0, missing)])
        return b"".join(blocks)

    def _process(self, samples: NDArray[np.float32]) -> bytes:
        changed = np.rint(self._filter.process(samples, self._ratio) * _FULL_SCALE)
        self._given += len(changed)
        return bytes(np.clip(changed, -32768, 32767).astype("<i2").tobytes())


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
        halved = np.rint(np.convolve(samples, _HALVER_FILTER, "valid")[::2])
        return bytes(np.clip(halved, -32768, 32767).astype("<i2").tobytes())
