"""What a hole in the sound is: loss, or a pause of the sender. Pure.

The timestamps say how long it is, the sequence numbers how much of it was sent.
"""

from dataclasses import dataclass, field

from media_bridge.arrivals import Arrivals


@dataclass(order=True, slots=True)
class Piece:
    """A packet on the timeline of samples, which never wraps."""

    start: int
    end: int = field(compare=False)
    sequence: int = field(compare=False)
    # the packets of one source are numbered one after another, those of the next from somewhere else
    source: int = field(compare=False)
    payload: bytes = field(compare=False)


@dataclass(frozen=True, slots=True)
class Gap:
    """`lost`: the sample that was asked for had been sent. `paused`: the sender left something out. `after`: the packet
    behind the gap, None if none is there.
    """

    lost: bool
    paused: bool
    after: Piece | None


def gap_between(arrivals: Arrivals, before: Piece | None, after: Piece, at: int, frame: int) -> Gap:
    """What sample `at` is part of; `frame` is the least that a missing packet can have held."""
    if before is None:
        return Gap(lost=False, paused=True, after=after)
    if before.source != after.source:
        return Gap(lost=True, paused=False, after=after)
    length = max(frame, after.end - after.start)
    first = arrivals.missing_after(before.sequence)
    last = arrivals.missing_before(after.sequence)
    if first >= arrivals.since(before.sequence) - arrivals.since(after.sequence) - 1:
        # nothing came in between, so the two are the same; what is lost is taken to be what came before the pause
        last = 0
    is_lost = at < before.end + first * length or at >= after.start - last * length
    return Gap(is_lost, paused=(first + last) * length < after.start - before.end, after=after)


def gap_after(arrivals: Arrivals, before: Piece | None, at: int, frame: int) -> Gap:
    """The same when no sound is there behind it yet: lost, unless a packet without sound tells of a pause."""
    if before is None or not arrivals.since(before.sequence):
        return Gap(lost=True, paused=False, after=None)
    is_lost = at < before.end + arrivals.missing_after(before.sequence) * frame
    return Gap(is_lost, paused=True, after=None)
