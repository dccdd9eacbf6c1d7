"""What the media bridge counts: snapshots for metrics and for a call's record."""

from collections.abc import Mapping
from dataclasses import dataclass

LATENESS_BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 300, 1000)
"""Upper bounds; a last bucket without a bound holds the rest."""


@dataclass(frozen=True, slots=True)
class PacerStats:
    """The grid of the process since it started. `late_ms[i]` counts the ticks up to
    `LATENESS_BUCKETS_MS[i]` late.
    """

    calls: int
    ticks: int
    skipped: int
    failed: int
    max_late_ms: float
    late_ms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PortStats:
    """Where the ports of the process are, and what came too late for its call."""

    free: int
    leased: int
    resting: int
    late_datagrams: int
    taken_elsewhere: int


@dataclass(frozen=True, slots=True)
class MediaStats:
    """One call's sound since it began.

    `dropped` counts datagrams that were not heard, by reason. `lost` never came, `late` came after their
    turn to be heard, `concealed` is the number of 20 ms frames made up for either. `underruns` are ticks in
    the middle of the bot's speech for which no sound was there. `skipped` ticks were left out after a stall
    of the process.
    """

    packets_in: int
    packets_out: int
    lost: int
    late: int
    duplicates: int
    concealed: int
    jitter_ms: float
    underruns: int
    dropped: Mapping[str, int]
    send_errors: int
    receive_errors: int
    skipped: int
    max_late_ms: float
