"""Percentiles of waits of which some were never over. Pure."""

import math
from collections.abc import Sequence


def quantile(values: Sequence[float | None], percent: float) -> float | None:
    """Interpolated as numpy does it. A wait that was never over, None, is longer than all others; None of nothing.

    Left out instead, the more were never over the better the figure would be.
    """
    ordered = sorted(math.inf if value is None else value for value in values)
    if not ordered:
        return None
    at = (len(ordered) - 1) * percent / 100
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return high if math.isinf(high) else low + (high - low) * (at - math.floor(at))


def in_whole(value: float | None) -> int | str:
    """For a table or the RESULT line: `inf` is one that was never over, `-` one that is not there."""
    if value is None:
        return "-"
    return "inf" if math.isinf(value) else round(value)
