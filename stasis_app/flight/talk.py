"""A recorded conversation once more, on what it was told then. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from stasis_app.conversation import step
from stasis_app.flight.lines import Flight, given


@dataclass(frozen=True, slots=True)
class Replayed:
    """One step of a replay. `recorded` is what the call did then, `now` what this version does: (phase, commands)."""

    t: float
    event: str
    recorded: tuple[str, tuple[str, ...]]
    now: tuple[str, tuple[str, ...]]

    @property
    def same(self) -> bool:
        return self.recorded == self.now


def replay(flight: Flight) -> Iterator[Replayed]:
    """Run the conversation on what the recorded one was told, each step at its own time."""
    state = flight.state
    for recorded in flight.steps:
        state, commands = step(state, recorded.event)
        now = given(state, commands)
        yield Replayed(recorded.t, type(recorded.event).__name__, recorded.recorded, now)
