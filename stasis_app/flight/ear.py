"""A call's sound once more, through the ear of today. Pure: it takes as long as the machine needs for it.

What the ear was told from outside comes at the sample at which it came then. The wait for the end of an utterance is
told so long after the pause as then, when the caller pauses where they paused then.
"""

from collections.abc import Iterator, Sequence

from media_bridge.ear import Ear
from media_bridge.events import EndpointEvent
from media_bridge.level import level_dbfs
from media_bridge.settings import MediaSettings
from media_bridge.vad import Vad
from stasis_app.flight.ear_lines import (
    DeafFrom,
    EarLine,
    EndWait,
    HearsFrom,
    Lost,
    Paused,
    Said,
    Stopped,
    Told,
    said_line,
)
from stasis_app.flight.lines import EarHead
from stasis_app.flight.wav import StereoSound

_SAME_PAUSE_S = 0.25
"""The voice before a pause of now ends at most so far from where it ended before that of then."""


def listen_again(
    head: EarHead, recorded: Sequence[EarLine], sound: StereoSound, vad: Vad
) -> list[Said | EndWait]:
    """What the ear says of the sound, and the waits it is told, in this order.

    The sound has the rate of `head`; `vad` is fresh, and of its settings.
    """
    return list(_Listener(head, recorded, sound, vad).run())


_CHANGES = HearsFrom | DeafFrom | Stopped | Lost


class _Listener:
    def __init__(self, head: EarHead, recorded: Sequence[EarLine], sound: StereoSound, vad: Vad) -> None:
        self._rate = head.rate
        self._frame = head.rate // 50
        self._ear = Ear(MediaSettings(endpoint=head.endpoint, voice=head.voice), vad, head.rate)
        self._sound = sound
        self._turns = _turns(recorded, len(sound))
        self._waits = _waits(recorded)
        # the waits of the pause of now: when they come, and what they say
        self._coming: list[tuple[int, EndWait]] = []
        self._number = 0

    def run(self) -> Iterator[Said | EndWait]:
        hears = False
        at = 0
        for told, until in self._turns:
            match told:
                case HearsFrom():
                    at, hears = max(at, told.sample), True
                case DeafFrom():
                    hears = False
                case Lost():
                    yield from self._stop()
                    at = max(at, told.until)
                case Stopped():
                    yield from self._stop()
            while hears and at + self._frame <= until:
                at += self._frame
                yield from self._hear(at)

    def _hear(self, at: int) -> Iterator[Said | EndWait]:
        caller, bot = self._sound.cut(at - self._frame, at)
        yield from self._say(self._ear.listen(caller, at / self._rate, _level(bot)))
        while self._coming and self._coming[0][0] <= at:
            _, wait = self._coming.pop(0)
            self._ear.set_end_wait(self._number, wait.wait_ms)
            yield EndWait(at, self._number, wait.wait_ms)

    def _stop(self) -> Iterator[Said]:
        self._ear.stop()
        yield from self._say(self._ear.decide())

    def _say(self, events: Sequence[EndpointEvent]) -> Iterator[Said]:
        for event in events:
            said = said_line(event, lambda instant: round(instant * self._rate))
            if isinstance(said, Paused):
                self._number = said.number
                self._coming = self._waits_after(said)
            else:
                self._coming = []
            yield said

    def _waits_after(self, pause: Paused) -> list[tuple[int, EndWait]]:
        near = [then for then in self._waits if abs(then.last - pause.last) <= _SAME_PAUSE_S * self._rate]
        if not near:
            return []
        then = min(near, key=lambda one: abs(one.last - pause.last))
        return [(pause.sample + wait.sample - then.sample, wait) for wait in self._waits[then]]


def _turns(recorded: Sequence[EarLine], samples: int) -> list[tuple[Told, int]]:
    """What changes what is heard, and how far each holds."""
    told = sorted((one for one in recorded if isinstance(one, _CHANGES)), key=lambda one: one.sample)
    ends = [min(one.sample, samples) for one in told[1:]]
    return list(zip(told, [*ends, samples], strict=False))


def _waits(recorded: Sequence[EarLine]) -> dict[Paused, list[EndWait]]:
    """What was told in each pause of then."""
    latest: dict[int, Paused] = {}
    waits: dict[Paused, list[EndWait]] = {}
    for line in recorded:
        if isinstance(line, Paused):
            latest[line.number] = line
            waits[line] = []
        elif isinstance(line, EndWait) and line.number in latest:
            waits[latest[line.number]].append(line)
    return waits


def _level(bot: bytes) -> float | None:
    """A frame of nothing but zeros was silence, or counts as it."""
    return level_dbfs(bot) if any(bot) else None
