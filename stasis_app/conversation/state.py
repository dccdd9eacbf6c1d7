"""Where a talk stands, and what a step of it gives."""

from dataclasses import dataclass

from media_bridge.events import Utterance
from stasis_app.conversation.commands import Command
from stasis_app.conversation.phases import Phase, Saying


@dataclass(frozen=True, slots=True)
class State:
    phase: Phase = Phase.CONNECTING
    turn: int = 0  # the number of the live turn, or of the last one
    saying: Saying = Saying.GREETING  # what the live turn is made of
    prepared: int | None = None  # a turn being made ahead, while the caller pauses
    interrupted: Phase = Phase.SPEAKING  # where a false interruption goes back to
    unjudged: tuple[Utterance, ...] = ()  # said over the bot: one of each number, the newest piece of it
    lasts: bool = False  # it has kept the bot silent for so long that any verdict but "meant" ends that
    prompts: int = 0  # "are you still there?" in a row
    failures: int = 0  # failed answers in a row
    max_prompts: int = 2
    max_failures: int = 2


Step = tuple[State, tuple[Command, ...]]
