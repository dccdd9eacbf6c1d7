"""The bot's own media plane, with every call's sound, events and session kept for the test to look at."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import pytest

from media_bridge.events import MediaEvent
from media_bridge.plane import MediaPlane
from media_bridge.session import MediaSession
from media_bridge.settings import MediaOverride
from media_bridge.stats import MediaStats
from media_bridge.tap import Tap
from tests.support.taps import CallerTap, CallerTapBefore


@dataclass
class Observed:
    """What the bot heard and did in one call. `frames` are the caller's 20 ms of pcm, from the leg's first tick on."""

    call_id: str
    session: MediaSession
    frames: list[bytes] = field(default_factory=list)
    events: list[MediaEvent] = field(default_factory=list)

    @property
    def pcm(self) -> bytes:
        return b"".join(self.frames)

    def stats(self) -> MediaStats:
        return self.session.stats()


@contextmanager
def observed_calls() -> Iterator[list[Observed]]:
    """The calls of every bot that is started meanwhile in this process, in the order in which they began."""
    calls: list[Observed] = []

    class ObservedPlane(MediaPlane):
        @asynccontextmanager
        async def open(
            self,
            call_id: str,
            on_event: Callable[[MediaEvent], None],
            tap: Tap | None = None,
            override: MediaOverride | None = None,
        ) -> AsyncIterator[MediaSession]:
            keep = CallerTap() if tap is None else CallerTapBefore(tap)
            events: list[MediaEvent] = []

            def note(event: MediaEvent) -> None:
                events.append(event)
                on_event(event)

            async with super().open(call_id, note, keep, override) as session:
                calls.append(Observed(call_id, session, keep.frames, events))
                yield session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stasis_app.running.MediaPlane", ObservedPlane)
        yield calls
