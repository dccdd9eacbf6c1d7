"""What grew over a long time. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.load_kit.parts import Moment

# caches fill and pools grow to their size
WARM_UP_S = 60.0


@dataclass(frozen=True, slots=True)
class Growth:
    """Of one part: medians over the first and the last third of the time."""

    HEADER: ClassVar = ("part", "MiB", "files", "threads", "core %")

    name: str
    mib: tuple[float, float]
    files: tuple[float, float]
    threads: tuple[float, float]
    core_pct: float

    @property
    def key(self) -> str:
        return self.name.lower().replace(" ", "_")

    def cells(self) -> tuple[object, ...]:
        return (
            self.name,
            f"{self.mib[0]:.1f} to {self.mib[1]:.1f}",
            f"{self.files[0]:.0f} to {self.files[1]:.0f}",
            f"{self.threads[0]:.0f} to {self.threads[1]:.0f}",
            f"{self.core_pct:.0f}",
        )


def growth_rows(moments: Sequence[Moment]) -> list[Growth]:
    """One for each part that was there from the first moment to the last; the first minute does not count, if there
    is more than that.
    """
    if len(moments) < 2:
        return []
    warm = [one for one in moments if one.at_s - moments[0].at_s >= WARM_UP_S]
    counted = warm if len(warm) >= 3 else list(moments)
    third = max(1, len(counted) // 3)
    first, last = counted[:third], counted[-third:]
    names = [name for name in counted[0].parts if all(name in one.parts for one in counted)]
    return [_growth(name, counted, first, last) for name in names]


def _growth(name: str, counted: Sequence[Moment], first: Sequence[Moment], last: Sequence[Moment]) -> Growth:
    def medians(what: str) -> tuple[float, float]:
        early, late = ([getattr(one.parts[name], what) for one in part] for part in (first, last))
        return float(np.median(early)), float(np.median(late))

    seconds = counted[-1].at_s - counted[0].at_s
    used_s = counted[-1].parts[name].cpu_s - counted[0].parts[name].cpu_s
    return Growth(
        name, medians("rss_mib"), medians("files"), medians("threads"), 100 * used_s / max(seconds, 1e-9)
    )


def thirds(values: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Values with their instants: those of the first third of the time and those of the last."""
    if not values:
        return [], []
    start, end = min(at for at, _ in values), max(at for at, _ in values)
    third = (end - start) / 3
    return (
        [value for at, value in values if at <= start + third],
        [value for at, value in values if at >= end - third],
    )
