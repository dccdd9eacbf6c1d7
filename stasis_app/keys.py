"""The phone's keys as events of the talk: the first one at once, the digits when no more are to come."""

import asyncio
from collections.abc import Callable

from stasis_app.conversation import DigitPressed, DigitsEntered
from stasis_app.keypad import Keypad
from stasis_app.metrics import Metrics


class Keys:
    """One for each call. `wanted`: the number of digits that were asked for. `hold_s`: how long the bot must not be
    interrupted; digits pressed meanwhile are entered afterwards.
    """

    def __init__(
        self,
        post: Callable[[DigitPressed | DigitsEntered], None],
        pause_s: float,
        wanted: Callable[[], int | None],
        hold_s: Callable[[], float],
        metrics: Metrics,
    ) -> None:
        self._post = post
        self._pause_s = pause_s
        self._wanted = wanted
        self._hold_s = hold_s
        self._metrics = metrics
        self._pad = Keypad()
        self._timer: asyncio.TimerHandle | None = None

    def press(self, key: str) -> None:
        if not self._pad.press(key):
            # without the timer: a flood of keys comes to an end, and is answered once
            self._metrics.digits.labels("dropped").inc()
            return
        self._metrics.digits.labels("taken").inc()
        if not self._hold_s():
            self._post(DigitPressed())
        if self._pad.is_complete(self._wanted()):
            self._enter()
        else:
            self._later(self._pause_s)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def enter(self) -> None:
        """The caller has said something behind what they pressed: it belongs together."""
        if self._pad.is_begun and not self._hold_s():
            self._enter()

    def _enter(self) -> None:
        self.stop()
        hold_s = self._hold_s()
        if hold_s:
            self._later(hold_s)
        else:
            self._post(DigitsEntered(self._pad.take()))

    def _later(self, delay_s: float) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._enter)
