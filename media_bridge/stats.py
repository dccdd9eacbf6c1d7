"""What the media bridge counts: snapshots for metrics and for a call's record."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LATENESS_BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 300, 1000)
"""Upper bounds; a last bucket without a bound holds the rest."""


@dataclass(frozen=True, slots=True)
class PacerStats:
    """The grid of the process since it started. `late_ms[i]` counts the ticks up to
    `LATENESS_BUCKETS_MS[i]` late. `busy_s`: how long the ticks took, all together.
    """

    calls: int
    ticks: int
    skipped: int
    failed: int
    max_late_ms: float
    late_ms: tuple[int, ...]
    busy_s: float


@dataclass(frozen=True, slots=True)
class PortStats:
    """Where the ports of the process are, and what came too late for its call."""

    free: int
    leased: int
    resting: int
    late_datagrams: int
    taken_elsewhere: int


@dataclass(frozen=True, slots=True)
class TransportStats:
    """One call's packets, or messages, since it began.

    `expected`: of the voice packets that the peer numbered, so many, lost ones included (RFC 3550 A.3); RTP only.
    `dropped` counts those that were not heard, by reason. `lost` never came, `late` came after their turn to
    be heard, `concealed` is the number of 20 ms frames made up for either. `jitter_ms` (RFC 3550 A.8), the
    `delay_ms` that the jitter buffer adds and its `target_ms` are those of now; the first and the last of RTP only.

    Of `due` parts of the caller's sound, `missed` never came or came too late, in `missed_runs` runs. Parts are packets
    where they are numbered and frames of 20 ms where they are not.
    """

    packets_in: int = 0
    packets_out: int = 0
    expected: int = 0
    lost: int = 0
    late: int = 0
    duplicates: int = 0
    concealed: int = 0
    due: int = 0
    missed: int = 0
    missed_runs: int = 0
    jitter_ms: float = 0.0
    delay_ms: float = 0.0
    target_ms: float = 0.0
    dropped: Mapping[str, int] = field(default_factory=dict)
    send_errors: int = 0
    receive_errors: int = 0


@dataclass(frozen=True, slots=True)
class MediaStats(TransportStats):
    """One call's sound since it began.

    `underruns` are ticks in the middle of the bot's speech for which no sound was there. `skipped` ticks were
    left out after a stall of the process.
    """

    underruns: int = 0
    skipped: int = 0
    max_late_ms: float = 0.0
