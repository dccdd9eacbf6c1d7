"""What the media of a call has to say: facts with their instants, no behaviour.

`at`, `started` and `ended` are seconds of the clock that `now` came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Literal


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the caller said without a long pause.

    `pcm`, of `rate`, begins with the pre-roll and ends 200 ms after the last voiced sample of a pause. `started` and
    `ended` are the instants of the first and the last voiced sample. `voiced_ms` leaves out the pauses inside, the
    longest of which lasted `paused_ms`.
    """

    number: int
    pcm: bytes = field(repr=False)
    started: float
    ended: float
    voiced_ms: int
    rate: int = 8000
    paused_ms: float = 0.0


def longest_pause_ms(utterances: Sequence[Utterance]) -> float:
    """Of a turn: within its utterances, or between one and the next."""
    inside = (utterance.paused_ms for utterance in utterances)
    between = (1000 * (after.started - before.ended) for before, after in pairwise(utterances))
    return max(chain(inside, between), default=0.0)


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller certainly speaks; they began a little before `at`."""

    at: float


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """The caller may have finished: time for work that can be thrown away."""

    at: float
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """They had not: the utterance goes on."""

    at: float


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The caller has finished."""

    at: float
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class PlayoutStarted:
    """The first sound of a turn goes out."""

    turn: int
    at: float


@dataclass(frozen=True, slots=True)
class PlayoutFinished:
    """The last sample of a turn has gone out, or the turn ended without any."""

    turn: int
    at: float


EndpointEvent = SpeechStarted | SpeechPaused | SpeechResumed | SpeechEnded
PlayoutEvent = PlayoutStarted | PlayoutFinished


@dataclass(frozen=True, slots=True)
class CallerHeard:
    """The first packet came from Asterisk: the caller's phone has opened its audio. Once a call."""

    at: float


@dataclass(frozen=True, slots=True)
class MediaTimeout:
    """No sound came from Asterisk for too long, counted while the bot was silent and since it fell silent: none at all
    (`first_packet`), or none any more (`stopped`).
    """

    at: float
    kind: Literal["first_packet", "stopped"]


@dataclass(frozen=True, slots=True)
class MediaFailed:
    """A bug in the handling of this call's sound; `error` is the name of the exception. Reported once a
    call.
    """

    at: float
    error: str


@dataclass(frozen=True, slots=True)
class MediaClosed:
    """The connection to Asterisk ended; `reason` is a short clause for the log. Once a call."""

    at: float
    reason: str


MediaEvent = EndpointEvent | PlayoutEvent | CallerHeard | MediaTimeout | MediaFailed | MediaClosed
