"""How long nobody has said anything: counted from what the bot said last, and never while the caller is on hold."""

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

    def count(self, turn: int) -> None:
        """From now on, unless the caller is on hold: who cannot speak is not asked."""
        if not self._held:
            self._timers.call(NoInput, self._limit_s, lambda: self._passed(turn))

    def hold(self) -> None:
        self._held = True
        self._timers.forget(NoInput)

    def unhold(self, turn: int) -> None:
        """It counts from here. Without a hold before it nothing changes."""
        if self._held:
            self._held = False
            self.count(turn)
