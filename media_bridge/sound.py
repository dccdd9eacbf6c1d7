"""The latest sound of a call, addressed by sample number since the call began."""

import numpy as np
from numpy.typing import NDArray

from media_bridge.level import block_levels_dbfs


class SoundMemory:
    """Grows with `append`, shrinks with `forget`; whatever is asked for is cut to what is still there."""

    def __init__(self) -> None:
        self._pcm = bytearray()
        self._origin = 0

    @property
    def position(self) -> int:
        """The number of samples appended so far."""
        return self._origin + len(self._pcm) // 2

    def append(self, pcm: bytes) -> None:
        self._pcm += pcm

    def forget(self, before: int) -> None:
        """Drop the samples before this one."""
        samples = max(0, min(before, self.position) - self._origin)
        del self._pcm[: 2 * samples]
        self._origin += samples

    def cut(self, first: int, last: int) -> bytes:
        """The pcm of samples `first` to `last`, end exclusive."""
        first = max(first, self._origin)
        return bytes(self._pcm[2 * (first - self._origin) : 2 * max(last - self._origin, 0)])

    def levels(self, first: int, last: int, block: int) -> tuple[int, NDArray[np.float32]]:
        """The levels of whole blocks in dBFS, and the sample at which the first of them begins."""
        first = max(first, self._origin)
        return first, block_levels_dbfs(self.cut(first, last), block)
