"""What happens to a talk. An event that carries a turn number counts only while that turn is live."""

from dataclasses import dataclass, field

from media_bridge.events import Utterance


@dataclass(frozen=True, slots=True)
class MediaReady:
    pass


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    pass


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    pass


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class SpeechOverPassage:
    """Speech began while a passage was heard, or about to be, that nothing may cut short."""


@dataclass(frozen=True, slots=True)
class PassageEnded:
    """That passage has been heard to its end."""

    turn: int


@dataclass(frozen=True, slots=True)
class DigitPressed:
    """The caller has pressed a key; more may follow. Which key, the machine does not learn."""


@dataclass(frozen=True, slots=True)
class DigitsEntered:
    """The caller has pressed all keys they wanted to; none but the terminator where `digits` is empty."""

    digits: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PlayoutStarted:
    turn: int


@dataclass(frozen=True, slots=True)
class PlayoutFinished:
    turn: int


@dataclass(frozen=True, slots=True)
class NothingSaid:
    """The caller's sound had no words, or the turn had nothing to say."""

    turn: int


@dataclass(frozen=True, slots=True)
class TurnFailed:
    turn: int


@dataclass(frozen=True, slots=True)
class GoodbyeWanted:
    """The turn found that the talk is over; a turn never ends its own call."""

    turn: int


@dataclass(frozen=True, slots=True)
class HangUpWanted:
    """The model ends the call, and the last words of the turn have been heard. Said again until it is heeded."""

    turn: int


@dataclass(frozen=True, slots=True)
class TransferWanted:
    """The same, of putting the caller through to `target`."""

    turn: int
    target: str


@dataclass(frozen=True, slots=True)
class InterruptionLasts:
    """The caller has spoken over the bot for so long that it is no cough."""

    turn: int


@dataclass(frozen=True, slots=True)
class InterruptionJudged:
    turn: int
    utterance: Utterance
    meant: bool


@dataclass(frozen=True, slots=True)
class OngoingJudged:
    """Whether speech that still goes on was meant, as far as it can be understood."""

    turn: int
    meant: bool


@dataclass(frozen=True, slots=True)
class NoInput:
    turn: int


@dataclass(frozen=True, slots=True)
class CallLimit:
    pass


@dataclass(frozen=True, slots=True)
class ClosingLimit:
    """The goodbye took too long."""


@dataclass(frozen=True, slots=True)
class CallerNotHeard:
    """No sound has come from the caller's phone at all."""


@dataclass(frozen=True, slots=True)
class MediaLost:
    """The caller's sound stopped for good, or cannot be handled any more."""

    cause: str


@dataclass(frozen=True, slots=True)
class CallerGone:
    cause: str


Event = (
    MediaReady
    | SpeechStarted
    | SpeechPaused
    | SpeechResumed
    | SpeechEnded
    | SpeechOverPassage
    | PassageEnded
    | DigitPressed
    | DigitsEntered
    | PlayoutStarted
    | PlayoutFinished
    | NothingSaid
    | TurnFailed
    | GoodbyeWanted
    | HangUpWanted
    | TransferWanted
    | InterruptionLasts
    | InterruptionJudged
    | OngoingJudged
    | NoInput
    | CallLimit
    | ClosingLimit
    | CallerNotHeard
    | MediaLost
    | CallerGone
)
