"""Taps of a call's sound, for tests."""

from media_bridge.events import EndpointEvent
from media_bridge.tap import Tap


class CallerTap(Tap):
    """Keeps what the caller sounded like: pcm of 20 ms each, or of more where ticks were left out."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    @property
    def pcm(self) -> bytes:
        return b"".join(self.frames)

    def sound(self, at: float, caller: bytes, bot: bytes, heard: bool) -> None:
        self.frames.append(caller)

    def stopped(self) -> None:
        pass

    def end_wait(self, utterance_number: int, wait_ms: int) -> None:
        pass

    def said(self, event: EndpointEvent) -> None:
        pass


class CallerTapBefore(CallerTap):
    """The same, before another tap."""

    def __init__(self, behind: Tap) -> None:
        super().__init__()
        self._behind = behind

    def sound(self, at: float, caller: bytes, bot: bytes, heard: bool) -> None:
        super().sound(at, caller, bot, heard)
        self._behind.sound(at, caller, bot, heard)

    def stopped(self) -> None:
        self._behind.stopped()

    def end_wait(self, utterance_number: int, wait_ms: int) -> None:
        self._behind.end_wait(utterance_number, wait_ms)

    def said(self, event: EndpointEvent) -> None:
        self._behind.said(event)


class BrokenTap(CallerTap):
    """Has a bug."""

    def sound(self, at: float, caller: bytes, bot: bytes, heard: bool) -> None:
        raise ZeroDivisionError
