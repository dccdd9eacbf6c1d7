"""What the machine wants done."""

from dataclasses import dataclass, field

from media_bridge.events import Utterance
from stasis_app.conversation.phases import Phase, Saying


@dataclass(frozen=True, slots=True)
class Say:
    """Speak a ready phrase as turn `turn`."""

    turn: int
    saying: Saying


@dataclass(frozen=True, slots=True)
class Prepare:
    """Begin to answer `utterance` as turn `turn`, held in front of playout."""

    turn: int
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class Release:
    """The caller has finished: the prepared turn may be heard and remembered."""

    turn: int
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class AnswerDigits:
    """Answer, as turn `turn`, what the caller has entered on the phone's keys."""

    turn: int
    digits: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeepDigits:
    """These belong to the next answer, together with what the caller is saying."""

    digits: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Discard:
    """Throw a prepared turn away; nothing of it was heard or is remembered."""

    turn: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop a released turn, flush playout and remember what was heard."""

    turn: int


@dataclass(frozen=True, slots=True)
class Remember:
    """A turn was played to its end."""

    turn: int


@dataclass(frozen=True, slots=True)
class PausePlayout:
    turn: int


@dataclass(frozen=True, slots=True)
class ResumePlayout:
    turn: int


@dataclass(frozen=True, slots=True)
class Judge:
    """Find out whether this speech, over a bot in phase `over`, was meant for it; answered by `InterruptionJudged`."""

    turn: int
    utterance: Utterance
    over: Phase


@dataclass(frozen=True, slots=True)
class JudgeOngoing:
    """The same of speech that goes on; answered by `OngoingJudged` unless it pauses first."""

    turn: int
    over: Phase


@dataclass(frozen=True, slots=True)
class Keep:
    """The words of this utterance belong to the next answer, together with what follows."""

    utterance: Utterance


@dataclass(frozen=True, slots=True)
class WatchInterruption:
    """Answered by `InterruptionLasts` when the speech goes on."""

    turn: int


@dataclass(frozen=True, slots=True)
class WatchPassage:
    """Answered by `PassageEnded`."""

    turn: int


@dataclass(frozen=True, slots=True)
class AwaitInput:
    """Start the no-input timer; answered by `NoInput` unless the caller speaks."""

    turn: int


@dataclass(frozen=True, slots=True)
class LimitClosing:
    """Answered by `ClosingLimit`."""


MODEL_HUNG_UP = "model_hung_up"
"""The cause of a call that its model has ended."""


@dataclass(frozen=True, slots=True)
class HangUp:
    cause: str


@dataclass(frozen=True, slots=True)
class PutThrough:
    """End the talk and send the caller to this target, as turn `turn` was allowed to."""

    turn: int
    target: str


Command = (
    Say
    | Prepare
    | Release
    | AnswerDigits
    | KeepDigits
    | Discard
    | Cancel
    | Remember
    | PausePlayout
    | ResumePlayout
    | Judge
    | JudgeOngoing
    | Keep
    | WatchInterruption
    | WatchPassage
    | AwaitInput
    | LimitClosing
    | HangUp
    | PutThrough
)
