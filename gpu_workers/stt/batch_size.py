"""How many utterances a device decodes at once. Pure: the seconds come from the caller."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from gpu_workers.stt.windows import FULL_WINDOW_S

T = TypeVar("T")

# utterances in whole windows that a card decodes at a time: their memory is what the plan counts
GPU_BATCH: Final = 8
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


def most_at_once(window_s: float) -> int:
    """So many utterances in a window of that length need no more memory of a card than GPU_BATCH in whole ones."""
    return max(1, int(GPU_BATCH * FULL_WINDOW_S / window_s))


def parts(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """In order, `most` of them at a time."""
    for start in range(0, len(items), most):
        yield items[start : start + most]
