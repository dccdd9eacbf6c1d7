"""What the ear said then and what it says now, side by side. Pure."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import get_args

from media_bridge.vad import Vad
from stasis_app.flight.ear import listen_again
from stasis_app.flight.ear_lines import EarLine, Ended, EndWait, Lost, Paused, Said
from stasis_app.flight.lines import EarHead, Flight, FlightError
from stasis_app.flight.wav import StereoSound

_SAME_THING_S = 1.0
"""Two that say the same belong together when they are no further apart, and nothing is nearer to either."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One thing that was said of the caller's speech: then, now, or both times.

    Not `known`: the recorder lost the sound, and what the ear said of it then cannot be looked at. `same`: no further
    apart than a frame, and so is the voice they tell of.
    """

    then: Said | None
    now: Said | None
    known: bool
    same: bool

    @property
    def sample(self) -> int:
        return min(one.sample for one in (self.then, self.now) if one is not None)

    @property
    def differs(self) -> bool:
        return self.known and not self.same


@dataclass(frozen=True, slots=True)
class Heard:
    """`until`: so many samples of the sound could be compared; the pairs are all there is up to there.

    `now`: what the ear says now, with the waits it is told now.
    """

    pairs: tuple[Pair, ...]
    until: int
    now: tuple[Said | EndWait, ...]


def hear_again(flight: Flight, head: EarHead, sound: StereoSound, vad: Vad) -> Heard:
    """The flight's sound through today's ear, beside what was heard then. `vad` is fresh, with `head`'s settings.

    Raises FlightError for a sound of another rate.
    """
    if sound.rate != head.rate:
        raise FlightError(
            f"has {sound.rate} Hz and its flight {head.rate}: it is of another call, or was changed"
        )
    until = len(sound)
    if flight.end is not None:
        until = min(until, flight.end.samples)
    if flight.end is None or not flight.end.whole:
        told = [step.t * head.rate for step in flight.steps] + [line.sample for line in flight.ear]
        until = min(until, int(max(told, default=0)))
    now = tuple(line for line in listen_again(head, flight.ear, sound, vad) if line.sample <= until)
    then = [line for line in flight.ear if line.sample <= until]
    return Heard(tuple(side_by_side(then, now, head.rate)), until, now)


def side_by_side(recorded: Sequence[EarLine], heard: Sequence[EarLine], rate: int) -> list[Pair]:
    """What the ear said, in the order of its time."""
    then, now = ([line for line in lines if isinstance(line, Said)] for lines in (recorded, heard))
    unknown = list(_unknown(then, now, [line for line in recorded if isinstance(line, Lost)]))
    pairs: list[Pair] = []
    for a, b in _pairs(then, now, _SAME_THING_S * rate):
        samples = [one.sample for one in (a, b) if one is not None]
        known = not any(first <= sample <= last for sample in samples for first, last in unknown)
        pairs.append(Pair(a, b, known, _are_same(a, b, rate // 50)))
    return sorted(pairs, key=lambda pair: pair.sample)


def _pairs(
    then: Sequence[Said], now: Sequence[Said], apart: float
) -> Iterator[tuple[Said | None, Said | None]]:
    for kind in get_args(Said):
        old, new = ([one for one in said if isinstance(one, kind)] for said in (then, now))
        partners = {
            a: b for a, b in _nearest(old, new, apart).items() if _nearest([new[b]], old, inf)[0] == a
        }
        yield from ((one, new[partners[at]] if at in partners else None) for at, one in enumerate(old))
        yield from ((None, one) for at, one in enumerate(new) if at not in partners.values())


def _nearest(those: Sequence[Said], to: Sequence[Said], apart: float) -> dict[int, int]:
    """By their places: for each of `those` the nearest of `to`, where there is one. Both are in order."""
    samples = [one.sample for one in to]
    found: dict[int, int] = {}
    for at, one in enumerate(those):
        behind = bisect_left(samples, one.sample)
        near = [place for place in (behind - 1, behind) if 0 <= place < len(to)]
        place = min(near, key=lambda place: abs(samples[place] - one.sample), default=None)
        if place is not None and abs(samples[place] - one.sample) <= apart:
            found[at] = place
    return found


def _are_same(then: Said | None, now: Said | None, frame: int) -> bool:
    if then is None or now is None or abs(then.sample - now.sample) > frame:
        return False
    if isinstance(then, Paused | Ended) and isinstance(now, Paused | Ended):
        return max(abs(then.first - now.first), abs(then.last - now.last)) <= frame
    return True


def _unknown(
    then: Sequence[Said], now: Sequence[Said], lost: Sequence[Lost]
) -> Iterator[tuple[float, float]]:
    """From where sound is lost to where neither hears speech going on any more."""
    moments = sorted(
        ((one.sample, side, one) for side, said in enumerate((then, now)) for one in said),
        key=lambda moment: moment[:2],
    )
    for hole in lost:
        going_on, quiet_at = [False, False], float(hole.until)
        for sample, side, one in moments:
            if sample > hole.until and not any(going_on):
                break
            going_on[side] = not isinstance(one, Ended)
            quiet_at = max(quiet_at, sample)
        yield hole.sample, inf if any(going_on) else quiet_at
