"""One turn of the bot: what it answers, how far it is, and what it is made with."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from media_bridge.events import Utterance
from media_bridge.session import MediaSession
from media_bridge.turn_end_waits import EndWaits
from stasis_app.conversation import (
    GoodbyeWanted,
    HangUpWanted,
    NothingSaid,
    Saying,
    TransferWanted,
    TurnFailed,
)
from stasis_app.hearing import Hearing
from stasis_app.history import History, ToolUse
from stasis_app.metrics import Metrics, TurnTimes
from stasis_app.phrases import PhraseBook
from stasis_app.seams import Speaker, Writer
from stasis_app.settings import Profile
from stasis_app.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Parts:
    """What the turns of one call are made with."""

    call_id: str
    profile: Profile
    media: MediaSession
    hearing: Hearing
    history: History
    llm: Writer
    tts: Speaker
    phrases: PhraseBook
    metrics: Metrics
    end_waits: EndWaits
    tools: Toolbox
    post: Callable[[GoodbyeWanted | HangUpWanted | NothingSaid | TransferWanted | TurnFailed], None]


@dataclass(slots=True)
class Turn:
    """The live state of one turn.

    `utterances` and `keyed`, what was entered on the phone's keys, are what it answers; a ready phrase has neither.
    """

    number: int
    saying: Saying
    utterances: tuple[Utterance, ...] = ()
    keyed: str = field(default="", repr=False)
    times: TurnTimes = field(default_factory=TurnTimes)
    caller_text: str | None = None
    language: str | None = None  # that the caller's words are in, two letters
    remembered: bool = False
    broken: set[str] = field(
        default_factory=set, repr=False
    )  # sentences that the voice did not bring to their end
    sound_s: float = 0.0  # of the answer, handed to playout so far
    sound_until: float = 0.0  # when that will have been heard, at the earliest [loop time]
    advanced: float = 0.0  # when a tool was begun or had ended, which begins a new wait [loop time]
    speaking: asyncio.Timeout | None = None  # of the newest sentence: who brings it forward breaks that off
    uses: list[ToolUse] = field(default_factory=list, repr=False)  # of tools, not remembered yet
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def released(self) -> bool:
        return self._released.is_set()

    async def until_released(self) -> None:
        await self._released.wait()

    def release(self, speech_end: float, now: float, history: History) -> None:
        """The caller has finished: what was made may be heard and remembered."""
        self.times.speech_end = speech_end
        self.times.decision = now
        self._released.set()
        self.remember_caller(history)

    def let_out(self) -> None:
        """A ready phrase waits for nobody."""
        self._released.set()

    def remember_caller(self, history: History) -> None:
        """Put the caller's words, and what tools gave, into the history once they are both known and released."""
        if not self.released or not self.caller_text:
            return
        if not self.remembered:
            self.remembered = True
            history.caller_said(self.caller_text)
        for use in self.uses:
            history.tool_used(use)
        self.uses.clear()

    def answer_anew(self, question: str) -> None:
        """The sound had no words, and has cost the caller the answer to `question`, which is remembered already."""
        self.caller_text, self.remembered = question, True
