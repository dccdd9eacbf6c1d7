"""Frames that Asterisk has of us and has not played yet. Pure.

Asterisk plays one every 20 ms, or nothing when it has none. Which ones it has played is known by the clock,
and its own word (a mark) sets the clock right.
"""

from collections import deque
from dataclasses import replace

from media_bridge.playout import PlayoutFrame

PTIME_S = 0.020

# its word comes late when this process is busy, and never early
_LATER = 0.25
# so many frames that were taken for heard can still turn out not to be
_REMEMBERED = 5


class Lead:
    """One for each call. Frames are numbered from 1 on, those taken back left out."""

    def __init__(self) -> None:
        self._waiting: deque[PlayoutFrame] = deque()
        self._heard: deque[PlayoutFrame] = deque(maxlen=_REMEMBERED)
        self._heard_count = 0
        self._next_at: float | None = None

    def __len__(self) -> int:
        """How many frames wait in Asterisk."""
        return len(self._waiting)

    @property
    def sent(self) -> int:
        """The number of the latest frame."""
        return self._heard_count + len(self._waiting)

    @property
    def is_silent(self) -> bool:
        """No speech waits."""
        return all(frame.kind != "speech" for frame in self._waiting)

    @property
    def speech_samples(self) -> int:
        """How many of playout's samples wait."""
        return sum(len(frame.taken) for frame in self._waiting) // 2

    def add(self, frame: PlayoutFrame, now: float) -> None:
        """This frame was sent at `now`."""
        if self._next_at is None:
            self._next_at = now
        self._waiting.append(frame)

    def advance(self, now: float) -> list[PlayoutFrame]:
        """The frames that were played up to `now` and not told before."""
        if self._next_at is None or now < self._next_at:
            return []
        began = self._next_at
        ticks = int((now - began) / PTIME_S) + 1
        self._next_at += ticks * PTIME_S
        played = self._play(min(ticks, len(self._waiting)))
        return [_stamped(frame, began + index * PTIME_S) for index, frame in enumerate(played)]

    def mark(self, number: int, at: float) -> None:
        """At `at` Asterisk had played frame `number`, and took the next one."""
        if self._next_at is None or number > self.sent:
            return
        off = at - (self._next_at - (self._heard_count - number) * PTIME_S)
        moved = self._next_at + (off if off < 0 else off * _LATER)
        # however old this word is, Asterisk goes on: after a stall of ours nothing may be taken for still waiting
        self._next_at = min(moved, at + PTIME_S)

    def clear(self) -> list[PlayoutFrame]:
        """Asterisk has thrown away what waited: those frames."""
        thrown = list(self._waiting)
        self._waiting.clear()
        return thrown

    def settle(self, waiting: int) -> tuple[list[PlayoutFrame], list[PlayoutFrame]]:
        """Asterisk says that so many waited when it threw them away.

        Gives the frames that were played after all, and those that were not.
        """
        played = self._play(max(0, len(self._waiting) - waiting))
        thrown = self.clear()
        while len(thrown) < waiting and self._heard:
            thrown.insert(0, self._heard.pop())
            self._heard_count -= 1
        return played, thrown

    def _play(self, count: int) -> list[PlayoutFrame]:
        played = [self._waiting.popleft() for _ in range(count)]
        self._heard.extend(played)
        self._heard_count += count
        return played


def _stamped(frame: PlayoutFrame, at: float) -> PlayoutFrame:
    """What became true with the frame did so when it was played."""
    if not frame.events:
        return frame
    return replace(frame, events=tuple(replace(event, at=at) for event in frame.events))
