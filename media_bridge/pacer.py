"""One 20 ms grid for every call of the process.

`PacerCore` is pure and says which calls are due; `Pacer` is the thin shell that owns the loop's timer.
Calls are spread over phase slots, so that a hundred calls do not all wake in the same millisecond. Due
times are absolute: a late tick does not move the next one.
"""

import asyncio
import logging
import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from media_bridge.stats import LATENESS_BUCKETS_MS, PacerStats

PTIME_S = 0.020
# each wake-up fetches the code and the voice detector's weights into the cache anew, so fewer of them cost less; two
# are enough for the process to come to its other work in between (docs/decisions/0006)
SLOTS = 2
# what is decided on the caller's sound goes out with the next packet: half a period before it there is time for all
# that an answer which waits has to pass, and the other slot is awake then anyway
LATER_S = PTIME_S / SLOTS
# Asterisk forwards a burst as a burst and a phone's jitter buffer drops most of it, so a longer stall is
# not made up
MAX_CATCH_UP = 3

# while later steps run, so often (in calls) is it looked whether the first step of another slot is due
_LOOK_EVERY = 8

Tick = Callable[[float, int], None]
"""`tick(due, skipped)`: the instant it was due, and how many ticks of this call were left out just before
it.
"""

Failed = Callable[[float, Exception], None]
"""`failed(due, error)`: this call's tick raised, for the first time."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Member:
    """One call on the grid."""

    call_id: str
    steps: tuple[Tick, ...]
    failed: Failed
    slot: int
    errors: int = 0
    live: bool = True


@dataclass(slots=True)
class Due:
    """Run this call's tick now."""

    member: Member
    at: float
    skipped: int


@dataclass(slots=True)
class _Slot:
    """The calls of one phase; `next_at` is the instant of their next tick."""

    next_at: float = 0.0
    members: list[Member] = field(default_factory=list)


class PacerCore:
    """Which calls are due. The grid begins at `epoch`; every call gets one tick each `period_s` after
    that.
    """

    def __init__(self, epoch: float, slots: int = SLOTS, period_s: float = PTIME_S) -> None:
        self._epoch = epoch
        self._period_s = period_s
        self._slots = [_Slot() for _ in range(slots)]

    def __len__(self) -> int:
        return sum(len(slot.members) for slot in self._slots)

    def add(self, now: float, call_id: str, steps: tuple[Tick, ...], failed: Failed) -> Member:
        """Put a call into the emptiest slot. Its first tick is due within one period."""
        index = min(range(len(self._slots)), key=lambda i: len(self._slots[i].members))
        slot = self._slots[index]
        if not slot.members:
            phase = self._epoch + index * self._period_s / len(self._slots)
            slot.next_at = phase + math.ceil((now - phase) / self._period_s) * self._period_s
        member = Member(call_id, steps, failed, index)
        slot.members.append(member)
        return member

    def remove(self, member: Member) -> None:
        """Take a call off the grid; ticks already handed out for it are void (`member.live`)."""
        member.live = False
        self._slots[member.slot].members.remove(member)

    def next_at(self) -> float | None:
        """The instant of the next tick of any call; None without calls."""
        return min((slot.next_at for slot in self._slots if slot.members), default=None)

    def due(self, now: float) -> list[Due]:
        """The ticks to run at `now`, earliest first; they are not handed out again.

        Up to MAX_CATCH_UP missed ticks of a call are all there. If it missed more, only the latest is, and
        it says how many were skipped.
        """
        ticks: list[Due] = []
        for slot in self._slots:
            if not slot.members or slot.next_at > now:
                continue
            missed = math.floor((now - slot.next_at) / self._period_s) + 1
            skipped = 0 if missed <= MAX_CATCH_UP else missed - 1
            for step in range(skipped, missed):
                at = slot.next_at + step * self._period_s
                ticks += [Due(member, at, skipped) for member in slot.members]
            slot.next_at += missed * self._period_s
        ticks.sort(key=lambda due: due.at)
        return ticks


class Pacer:
    """The grid on the running event loop. `async with Pacer() as pacer`; one for each process."""

    def __init__(self) -> None:
        self._late_counts = [0] * (len(LATENESS_BUCKETS_MS) + 1)
        self._max_late_ms = 0.0
        self._ticks = 0
        self._skipped = 0
        self._failed = 0
        self._busy_s = 0.0
        self._timer: asyncio.Handle | None = None
        # ticks whose first step has run, oldest first, and when the others are due
        self._begun: deque[tuple[float, list[Due]]] = deque()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._core = PacerCore(self._loop.time())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def register(self, call_id: str, steps: tuple[Tick, ...], failed: Failed) -> Member:
        """Run each of `steps` with `(due, skipped)` every 20 ms, from the next 20 ms on.

        The first on the grid, the others LATER_S behind it. First steps that are due run before the later ones of
        any call, and between those of two calls if they fall due then: what must not be late goes first. A step that
        raises is logged (once for each call) and counted, `failed` is called once, soon after, and everything goes on:
        what one frame broke, the next may not.
        """
        member = self._core.add(self._loop.time(), call_id, steps, failed)
        self._schedule()
        return member

    def unregister(self, member: Member) -> None:
        """No tick of this call runs any more."""
        self._core.remove(member)

    def stats(self) -> PacerStats:
        return PacerStats(
            calls=len(self._core),
            ticks=self._ticks,
            skipped=self._skipped,
            failed=self._failed,
            max_late_ms=self._max_late_ms,
            late_ms=tuple(self._late_counts),
            busy_s=self._busy_s,
        )

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        instants = [
            at for at in (self._core.next_at(), self._begun[0][0] if self._begun else None) if at is not None
        ]
        if self._is_behind():
            # whatever else waits for the loop has its turn first
            self._timer = self._loop.call_soon(self._wake)
        else:
            self._timer = self._loop.call_at(min(instants), self._wake) if instants else None

    def _wake(self) -> None:
        woken_at = self._loop.time()
        _, dues = self._begun.popleft() if self._is_behind() else (0.0, [])
        self._begin()
        for step in range(1, max((len(due.member.steps) for due in dues), default=0)):
            for number, due in enumerate(dues, 1):
                self._run(due, step)
                if number % _LOOK_EVERY == 0:
                    self._begin()
        self._busy_s += self._loop.time() - woken_at
        self._schedule()

    def _is_behind(self, by_s: float = 0.0) -> bool:
        """Later steps are due, since so long."""
        return bool(self._begun) and self._begun[0][0] + by_s <= self._loop.time()

    def _begin(self) -> None:
        """Run the first steps that are due now, unless the later steps of some that were begun are late:
        then hearing falls behind, and ticks have to be skipped.
        """
        if self._is_behind(LATER_S):
            return
        dues = self._core.due(self._loop.time())
        for due in dues:
            self._count(due)
            self._run(due, 0)
        if dues:
            self._begun.append((max(due.at for due in dues) + LATER_S, dues))

    def _count(self, due: Due) -> None:
        late_ms = (self._loop.time() - due.at) * 1000
        self._late_counts[bisect_left(LATENESS_BUCKETS_MS, late_ms)] += 1
        self._max_late_ms = max(self._max_late_ms, late_ms)
        self._ticks += 1
        self._skipped += due.skipped

    def _run(self, due: Due, step: int) -> None:
        member = due.member
        if not member.live or step >= len(member.steps):
            return
        try:
            member.steps[step](due.at + (LATER_S if step else 0.0), due.skipped)
        except Exception as error:  # noqa: BLE001 - the datagram fence: one call's bug must not silence the others
            self._fence(due, error)

    def _fence(self, due: Due, error: Exception) -> None:
        self._failed += 1
        due.member.errors += 1
        if due.member.errors > 1:
            return
        _log.error(
            "call %s: its media tick failed; further failures are only counted",
            due.member.call_id,
            exc_info=error,
        )
        self._loop.call_soon(due.member.failed, due.at, error)
