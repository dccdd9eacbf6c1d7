"""What a call's ear was told and what it said, as lines of a flight. Pure.

A `sample` counts in the flight's wav: how much of it had been heard by then. The wav begins when `t` of the other lines
does, and its clock is theirs: sample / rate is `t`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import get_args

from media_bridge.events import (
    EndpointEvent,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    Utterance,
)

_MOST = 2**40


@dataclass(frozen=True, slots=True)
class HearsFrom:
    """From here on the ear hears the caller, 20 ms after 20 ms."""

    sample: int


@dataclass(frozen=True, slots=True)
class DeafFrom:
    """From here on it does not, though the sound goes on: on hold, or silence that stands for ticks left out."""

    sample: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The caller was put on hold: what was being said ends here."""

    sample: int


@dataclass(frozen=True, slots=True)
class EndWait:
    """So much silence ends this utterance, it was told: its words are known."""

    sample: int
    number: int
    wait_ms: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The recorder lost the sound up to `until`, and the wav has silence for it. The ear had heard it."""

    sample: int
    until: int


@dataclass(frozen=True, slots=True)
class Started:
    """The ear was certain of speech."""

    sample: int


@dataclass(frozen=True, slots=True)
class Resumed:
    sample: int


@dataclass(frozen=True, slots=True)
class Paused:
    """Of utterance `number` the voice is from `first` to `last`; see media_bridge.events.Utterance."""

    sample: int
    number: int
    first: int
    last: int
    voiced_ms: int
    paused_ms: float


@dataclass(frozen=True, slots=True)
class Ended:
    sample: int
    number: int
    first: int
    last: int
    voiced_ms: int
    paused_ms: float


Told = HearsFrom | DeafFrom | Stopped | EndWait | Lost
Said = Started | Paused | Resumed | Ended
EarLine = Told | Said

_KINDS: Mapping[str, type[EarLine]] = {kind.__name__: kind for kind in get_args(EarLine)}


def said_line(event: EndpointEvent, sample_at: Callable[[float], int]) -> Said:
    """`sample_at`: of an instant of the media's clock, where the wav is then."""
    match event:
        case SpeechStarted():
            return Started(sample_at(event.at))
        case SpeechResumed():
            return Resumed(sample_at(event.at))
        case SpeechPaused():
            return Paused(sample_at(event.at), *_voice(event.utterance, sample_at))
        case SpeechEnded():
            return Ended(sample_at(event.at), *_voice(event.utterance, sample_at))


def _voice(utterance: Utterance, sample_at: Callable[[float], int]) -> tuple[int, int, int, int, float]:
    first, last = sample_at(utterance.started), sample_at(utterance.ended)
    return utterance.number, first, last, utterance.voiced_ms, utterance.paused_ms


def plain(line: EarLine) -> dict[str, dict[str, object]]:
    return {type(line).__name__: asdict(line)}


def from_plain(said: Mapping[str, object]) -> EarLine:
    """Raises KeyError, TypeError, ValueError for anything else than `plain` makes."""
    ((name, given),) = said.items()
    if not isinstance(given, dict):
        raise TypeError(name)
    for field, value in given.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole and not (field == "paused_ms" and isinstance(value, float)):
            raise TypeError(f"{field} is no number")
        if not isfinite(value) or not -_MOST < value < _MOST:
            raise ValueError(f"{field} is out of bounds")
    line: EarLine = _KINDS[name](**given)
    if min(line.sample, line.until if isinstance(line, Lost) else 0) < 0:
        raise ValueError("a sample before the first")
    return line
