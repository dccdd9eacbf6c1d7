"""Who looks on at a call's ear: told of all that goes in and all that comes out, in this order."""

from typing import Protocol

from media_bridge.events import EndpointEvent


class Tap(Protocol):
    """Each method returns at once."""

    def sound(self, at: float, caller: bytes, bot: bytes, heard: bool) -> None:
        """What both sides sounded like in the same time, which ended at `at`: pcm of equal length, 20 ms or more of it.

        `heard`: it went into the ear, with the level of `bot`. It does not on hold, nor when ticks were left out, whose
        sound is told as silence.
        """

    def stopped(self) -> None:
        """See Ear.stop."""

    def end_wait(self, utterance_number: int, wait_ms: int) -> None:
        """See Endpoint.set_end_wait."""

    def said(self, event: EndpointEvent) -> None:
        """What the ear made of it."""
