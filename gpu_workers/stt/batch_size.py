"""How many utterances a device decodes at once. Pure: the seconds come from the caller."""

from collections.abc import Callable
from typing import Final

_WORTH: Final = 0.9


def best_batch(seconds: Callable[[int], float], most: int) -> int:
    """The largest of 1, 2, 4, ... up to `most` that still pays.

    `seconds(size)` is what a batch takes. It pays while each doubling lowers the time for one utterance by a tenth: a
    larger batch keeps the first of it waiting for the last.
    """
    size, each = 1, seconds(1)
    while size * 2 <= most and (larger := seconds(size * 2) / (size * 2)) <= each * _WORTH:
        size, each = size * 2, larger
    return size
