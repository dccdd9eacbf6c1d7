"""How long nobody has said anything: counted from what was said last, and never while the caller is on hold."""

import asyncio
from collections.abc import Callable

from stasis_app.conversation import NoInput
from stasis_app.timers import Timers


class Silence:
    """`passed` is told the turn after which nobody spoke for `limit_s`."""

    def __init__(self, timers: Timers, limit_s: float, passed: Callable[[int], None]) -> None:
        self._timers = timers
        self._limit_s = limit_s
        self._passed = passed
        self._held = False
        self._spoke: float | None = None

    def caller_spoke(self, ended: float) -> None:
        """The caller's last sound, an instant of the loop: when nothing is said to it, the silence began there."""
        self._spoke = ended

    def bot_spoke(self) -> None:
        """What it says ends later than what the caller said before."""
        self._spoke = None

    def count(self, turn: int) -> None:
        """From what was said last, unless the caller is on hold: who cannot speak is not asked."""
        if not self._held:
            now = asyncio.get_running_loop().time()
            passed_s = 0.0 if self._spoke is None else now - self._spoke
            self._timers.call(NoInput, max(0.0, self._limit_s - passed_s), lambda: self._passed(turn))

    def hold(self) -> None:
        self._held = True
        self._spoke = None
        self._timers.forget(NoInput)

    def unhold(self, turn: int) -> None:
        """It counts from here. Without a hold before it nothing changes."""
        if self._held:
            self._held = False
            self.count(turn)
