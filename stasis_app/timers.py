"""What a call does later, unless something else comes first."""

import asyncio
from collections.abc import Callable

from stasis_app.conversation import Event


class Timers:
    """At most one of each kind; the kind is that of the event it leads to."""

    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._waiting: dict[type[Event], asyncio.TimerHandle] = {}

    def post(self, event: Event, delay_s: float) -> None:
        """Post `event` then; one of its kind that still waits is forgotten."""
        self.call(type(event), delay_s, lambda: self._post(event))

    def call(self, kind: type[Event], delay_s: float, callback: Callable[[], None]) -> None:
        self.forget(kind)
        self._waiting[kind] = asyncio.get_running_loop().call_later(delay_s, self._fire, kind, callback)

    def waits(self, kind: type[Event]) -> bool:
        return kind in self._waiting

    def forget(self, kind: type[Event]) -> None:
        timer = self._waiting.pop(kind, None)
        if timer is not None:
            timer.cancel()

    def stop(self) -> None:
        for kind in list(self._waiting):
            self.forget(kind)

    def _fire(self, kind: type[Event], callback: Callable[[], None]) -> None:
        del self._waiting[kind]
        callback()
