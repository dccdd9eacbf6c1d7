"""How long nobody has said anything: counted from what the bot said last, and never while the caller is on hold."""

from stasis_app.conversation import NoInput
from stasis_app.timers import Timers


class Silence:
    def __init__(self, timers: Timers, limit_s: float) -> None:
        self._timers = timers
        self._limit_s = limit_s
        self._held = False

    def count(self, turn: int) -> None:
        """From now on, unless the caller is on hold: who cannot speak is not asked. Leads to NoInput."""
        if not self._held:
            self._timers.post(NoInput(turn), self._limit_s)

    def hold(self) -> None:
        self._held = True
        self._timers.forget(NoInput)

    def unhold(self, turn: int) -> None:
        """It counts from here."""
        self._held = False
        self.count(turn)
