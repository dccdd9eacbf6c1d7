"""The figures of a call, taken from what went over the caller's wire. Pure.

A sample's instant is that of its packet plus its place in it, on both sides alike, so a figure is the time between two
sounds on the wire and holds nothing of the phone itself.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from caller_phone.recording import Sound, StampedPacket
from caller_phone.rtp import PTIME_S
from caller_phone.talkspurt import JOIN_MS, Talkspurt, TalkspurtFinder, audible_dbfs, levels_dbfs

# A pause between two sentences of one answer is at most about this long.
SENTENCE_PAUSE_MS = 900.0
# A bot that is heard for longer than this after an interruption began has talked through it: three times as long as one
# that stops needs. What it says next is no answer then.
TALKED_ON_MS = 1000.0


def talkspurts(sounds: Sequence[Sound], join_ms: float = JOIN_MS) -> list[Talkspurt]:
    """Every stretch of sound of this side, by the instants at which it is heard."""
    levels = [levels_dbfs(sound.samples) for sound in sounds]
    threshold = audible_dbfs([level for frames in levels for level in frames])
    finder = TalkspurtFinder(join_ms)
    for sound, frames in zip(sounds, levels, strict=True):
        finder.hear(sound.at_s, sound.samples, frames, threshold)
    return finder.spurts


def response_ms(bot: Sequence[Talkspurt], last_voiced_s: float) -> float | None:
    """Last voiced sample of the caller to the first audible sample of the answer that begins after it.

    None when none begins; a bot that spoke already is the matter of `early_ms`.
    """
    return next(
        (1000 * (spurt.start_s - last_voiced_s) for spurt in bot if spurt.start_s >= last_voiced_s), None
    )


def early_ms(bot: Sequence[Talkspurt], first_voiced_s: float, last_voiced_s: float) -> float | None:
    """How long before the caller's last voiced sample the bot began to speak into the utterance; None if it did not."""
    inside = (spurt.start_s for spurt in bot if first_voiced_s < spurt.start_s < last_voiced_s)
    return next((1000 * (last_voiced_s - start_s) for start_s in inside), None)


def cut_ms(bot: Sequence[Talkspurt], interruption_s: float, quiet_ms: float = JOIN_MS) -> float | None:
    """First voiced sample of an interruption to the last audible one of the bot before it is quiet for `quiet_ms`.

    0 when it was in a pause between sentences and did not go on; None when it was not speaking at all. A bot that
    talks on has a large figure, TALKED_ON_MS or more: its own end.
    """
    pause_s = SENTENCE_PAUSE_MS / 1000
    if not any(spurt.start_s <= interruption_s <= spurt.end_s + pause_s for spurt in bot):
        return None
    last_s = interruption_s
    for spurt in bot:
        if spurt.start_s - last_s < quiet_ms / 1000:
            last_s = max(last_s, spurt.end_s)
    return 1000 * (last_s - interruption_s)


def pause_ms(
    bot: Sequence[Talkspurt], first_s: float, last_s: float, until_s: float, join_ms: float = JOIN_MS
) -> float | None:
    """How long a bot that is coughed at fell silent before it went on; 0 when it talked on.

    `first_s` and `last_s` bound the caller's sound, `until_s` is when they speak next. None when nothing more was heard
    of the bot: it stopped, or it had just come to its end.
    """
    heard = [spurt for spurt in bot if spurt.start_s < until_s]
    if not any(spurt.end_s > last_s + join_ms / 1000 for spurt in heard):
        return None
    noticed_s = last_s + join_ms / 1000
    gaps = [
        1000 * (after.start_s - before.end_s)
        for before, after in pairwise(heard)
        if first_s <= before.end_s <= noticed_s
    ]
    return max(gaps, default=0.0)


def inner_pauses_ms(caller: Sequence[Talkspurt], first_s: float, last_s: float) -> tuple[float, ...]:
    """The pauses between the first and the last sound of what the caller said, in order."""
    said = [spurt for spurt in caller if first_s <= spurt.end_s and spurt.start_s <= last_s]
    return tuple(1000 * (after.start_s - before.end_s) for before, after in pairwise(said))


def answer_duration_ms(bot: Sequence[Talkspurt], last_voiced_s: float, until_s: float) -> float | None:
    """First to last audible sample of what the bot began to say after `last_voiced_s` and before `until_s`."""
    answer = [spurt for spurt in bot if last_voiced_s <= spurt.start_s < until_s]
    return 1000 * (answer[-1].end_s - answer[0].start_s) if answer else None


@dataclass(frozen=True, slots=True)
class PacketFigures:
    """How the packets of one side came. Gaps are between neighbouring arrivals of any payload type, and from the last
    one to the end of the call. `missing` are those that others were numbered around, and those due before that end.

    `timestamp_steps` counts the steps between packets of sound that follow each other in sequence; a steady stream of
    20 ms has nothing but 160 there. All None or 0 for a stream without packets.
    """

    packets: int
    seconds: float
    gap_p50_ms: float | None
    gap_p99_ms: float | None
    gap_max_ms: float | None
    missing: int
    duplicates: int
    overtaken: int
    sources: int
    timestamp_steps: dict[int, int]


def arrival_gaps_ms(packets: Sequence[StampedPacket], until_s: float | None) -> list[float]:
    """From each packet to the next, and from the last one to `until_s` where that is longer than a packet lasts."""
    gaps = [1000 * (after.at_s - before.at_s) for before, after in pairwise(packets)]
    if packets and until_s is not None and until_s - packets[-1].at_s > PTIME_S:
        gaps.append(1000 * (until_s - packets[-1].at_s))
    return gaps


def packet_figures(packets: Sequence[StampedPacket], until_s: float | None = None) -> PacketFigures:
    """Packets in the order of their arrival. A new SSRC is a new source with its own sequence (RFC 3550 section 8).

    `until_s`: the stream, of a packet each 20 ms, was due up to there; None where it may end at any time.
    """
    gaps = arrival_gaps_ms(packets, until_s)
    quantiles = [float(value) for value in np.percentile(gaps, [50, 99, 100])] if len(gaps) else [None] * 3
    by_source: dict[int, list[StampedPacket]] = {}
    for packet in packets:
        by_source.setdefault(packet.rtp.ssrc, []).append(packet)
    missing = 0 if until_s is None else _due_after(packets, until_s)
    duplicates = overtaken = 0
    steps: Counter[int] = Counter()
    for stream in by_source.values():
        numbers = _extended([packet.rtp.sequence for packet in stream])
        known = set(numbers)
        missing += max(numbers) - min(numbers) + 1 - len(known)
        duplicates += len(numbers) - len(known)
        highest = numbers[0]
        for number in numbers[1:]:
            overtaken += number < highest
            highest = max(highest, number)
        steps += _steps(stream, numbers)
    return PacketFigures(
        packets=len(packets),
        seconds=packets[-1].at_s - packets[0].at_s if packets else 0.0,
        gap_p50_ms=quantiles[0],
        gap_p99_ms=quantiles[1],
        gap_max_ms=quantiles[2],
        missing=missing,
        duplicates=duplicates,
        overtaken=overtaken,
        sources=len(by_source),
        timestamp_steps=dict(sorted(steps.items())),
    )


def _due_after(packets: Sequence[StampedPacket], until_s: float) -> int:
    """Packets that should have come behind the last one; the latest of them may still be on its way."""
    return max(0, int((until_s - packets[-1].at_s) / PTIME_S) - 1) if packets else 0


def _extended(sequence: Sequence[int]) -> list[int]:
    """16-bit sequence numbers as ever growing ones (RFC 3550 appendix A.1)."""
    numbers = [sequence[0]]
    for value in sequence[1:]:
        numbers.append(numbers[-1] + (value - numbers[-1] + 0x8000 & 0xFFFF) - 0x8000)
    return numbers


def _steps(stream: Sequence[StampedPacket], numbers: Sequence[int]) -> Counter[int]:
    steps: Counter[int] = Counter()
    ordered = sorted({number: packet.rtp for number, packet in zip(numbers, stream, strict=True)}.items())
    for (before, first), (after, second) in pairwise(ordered):
        if after == before + 1 and first.payload_type == second.payload_type and first.payload_type < 96:
            steps[second.timestamp - first.timestamp & 0xFFFFFFFF] += 1
    return steps
