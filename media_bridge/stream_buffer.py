"""Sound that comes in order and without numbers, as over TCP; a clock wants 20 ms of it at a time.

Asterisk passes on what the caller's phone sends when it comes, so the phone's jitter is still there, and a
packet lost on the way to Asterisk is simply missing. Only the number of frames that wait can be steered by:
a frame too late is made up for and waits behind it, which is the delay growing; frames that nobody needed for
some seconds are left out, which is the delay falling again.
"""

from collections import deque
from dataclasses import dataclass

from media_bridge.jitter import FRAME_MS, Frame, Lost, Wait
from media_bridge.settings import JitterSettings

# a surplus must have been there for so long
_WINDOW = 250
# frames are left out so far apart
_SLIP_EVERY = 5
# after so many missing frames the sound counts as stopped
_LOST_RUN = 5
# so much beyond max_ms is made good at once, not frame by frame
_JUMP_MS = 200


@dataclass(slots=True)
class StreamStats:
    """Counts since the call began: frames, except `received`, which are messages."""

    received: int = 0
    empty: int = 0
    lost: int = 0
    # played, and how many runs the lost ones came in; those of a run that no sound followed are not in either
    played: int = 0
    missed: int = 0
    missed_runs: int = 0
    # what waits now
    delay_ms: int = 0
    # left out one by one, and all at once
    dropped: int = 0
    overflow: int = 0


class StreamBuffer:
    """One for each call. Raises nothing; memory is bounded whatever arrives.

    `frame_bytes` is 20 ms, `step_bytes` one sample.
    """

    def __init__(self, settings: JitterSettings, frame_bytes: int, step_bytes: int) -> None:
        self.stats = StreamStats()
        self._frame_bytes = frame_bytes
        self._step_bytes = step_bytes
        self._begin_at = max(1, settings.min_ms // FRAME_MS)
        self._spare_frames = self._begin_at - 1
        self._most_frames = max(settings.min_ms, settings.max_ms) // FRAME_MS
        self._jump_frames = self._most_frames + _JUMP_MS // FRAME_MS
        self._waiting = bytearray()
        self._running = False
        self._missing_run = 0
        self._ticks = 0
        self._spares: deque[int] = deque(maxlen=_WINDOW)

    def put(self, payload: bytes) -> None:
        """Take what came, any number of frames or parts of one. Part of a sample at its end is dropped."""
        self.stats.received += 1
        payload = payload[: len(payload) // self._step_bytes * self._step_bytes]
        if not payload:
            self.stats.empty += 1
            return
        self._waiting += payload
        too_many = self._frames - self._jump_frames
        if too_many > 0:
            self.stats.overflow += too_many
            self._forget(too_many)

    def take(self) -> Frame | Lost | Wait:
        """The next 20 ms. Call it once each 20 ms."""
        self._ticks += 1
        if not self._running and self._frames < self._begin_at:
            return Wait()
        self._running = True
        if not self._frames:
            return self._miss()
        if self._missing_run:
            self.stats.missed += self._missing_run
            self.stats.missed_runs += 1
            self._missing_run = 0
        self.stats.played += 1
        self._slip()
        frame = Frame(bytes(self._waiting[: self._frame_bytes]))
        self._forget(1)
        self._spares.append(self._frames)
        self.stats.delay_ms = self._frames * FRAME_MS
        return frame

    @property
    def _frames(self) -> int:
        return len(self._waiting) // self._frame_bytes

    def _forget(self, frames: int) -> None:
        del self._waiting[: frames * self._frame_bytes]

    def _miss(self) -> Lost | Wait:
        self._spares.clear()
        self._missing_run += 1
        if self._missing_run > _LOST_RUN:
            self._running = False
            self._missing_run = 0
            return Wait()
        self.stats.lost += 1
        return Lost()

    def _slip(self) -> None:
        """Leave out a frame if none of the last ones needed it, or if the delay is beyond its limit."""
        if self._ticks % _SLIP_EVERY:
            return
        unneeded = len(self._spares) == _WINDOW and min(self._spares) > self._spare_frames
        if self._frames > max(1, self._most_frames) or unneeded:
            self.stats.dropped += 1
            self._forget(1)
            # what the ones before had to spare, they would now have one less of
            self._spares = deque((spare - 1 for spare in self._spares), maxlen=_WINDOW)
