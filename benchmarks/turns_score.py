"""From what happened in the calls to the figures. Pure; all milliseconds count from a clip's first sample."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.quantile import in_whole, quantile
from benchmarks.turns_corpus import Clip

MISSED_MS: Final = 3000
"""A turn that is not answered within this after its last sound was missed."""
_EARLY_MS: Final = 40
"""A decision so little before the end that the table names is at the end: edges are told in 10 ms, packets in 20."""
_RULERS: Final = ("finished", "unfinished", "dictation")


@dataclass(frozen=True)
class Decided:
    """What one way of deciding did with a clip: when it took the turn for finished."""

    clip: Clip
    ends_ms: tuple[float, ...]

    @property
    def wait_ms(self) -> float | None:
        """From the last sound to the decision after it; None: missed."""
        after = [at - self.clip.end_ms for at in self.ends_ms if at >= self.clip.end_ms - _EARLY_MS]
        return after[0] if after and after[0] <= MISSED_MS else None

    @property
    def cuts(self) -> int:
        """Pauses that were taken for the end; a decision that fell into the speech behind a pause counts for it."""
        return len([at for at in self.ends_ms if at < self.clip.end_ms - _EARLY_MS])

    @property
    def whole(self) -> bool:
        return not self.cuts and self.wait_ms is not None


@dataclass(frozen=True)
class Interrupted:
    """What one way of deciding did with a sound over the bot's voice: `silent_ms` is when its last packet came."""

    clip: Clip
    stopped: bool
    paused: bool
    silent_ms: float | None

    @property
    def cut_ms(self) -> float | None:
        return None if self.silent_ms is None else self.silent_ms - self.clip.start_ms


def figures(decided: Sequence[Decided], over: Sequence[Interrupted]) -> dict[str, object]:
    """One way of deciding: the keys of the RESULT line. An end, or an interruption, that was missed is a wait without
    end.
    """
    waits = [one.wait_ms for one in decided if one.clip.kind == "finished"]
    paused = [one for one in decided if one.clip.pauses_ms]
    ends = [one for one in decided if one.clip.kind in _RULERS]
    barge = [one.cut_ms if one.stopped else None for one in over if one.clip.kind == "interrupt"]
    sounds = [one for one in over if one.clip.kind in ("backchannel", "noise")]
    dictation = [one for one in decided if one.clip.kind == "dictation"]
    return {
        "wait_p50_ms": percentile(waits, 50),
        "wait_p95_ms": percentile(waits, 95),
        "false_cut_pct": percent(sum(one.cuts > 0 for one in paused), len(paused)),
        "missed_end_pct": percent(sum(one.wait_ms is None for one in ends), len(ends)),
        "barge_p95_ms": percentile(barge, 95),
        "barge_missed": barge.count(None),
        "false_stops": sum(one.stopped for one in sounds),
        "digits_whole": sum(one.whole for one in dictation),
    }


def cut_pauses(decided: Sequence[Decided]) -> tuple[int, int]:
    """Pauses taken for the end, of how many there are."""
    paused = [one for one in decided if one.clip.pauses_ms]
    return sum(one.cuts for one in paused), sum(len(one.clip.pauses_ms) for one in paused)


def words_lost(heard: Mapping[str, str], clips: Sequence[Clip]) -> float | str:
    """Percent of the words said that are in no answered turn; numbers are left out, they are written as figures."""
    said = lost = 0
    for clip in clips:
        if clip.name not in heard or clip.kind not in ("finished", "unfinished", "interrupt"):
            continue
        wanted, got = Counter(_words(clip.text)), Counter(_words(heard[clip.name]))
        said += wanted.total()
        lost += (wanted - got).total()
    return percent(lost, said)


def is_read(value: str, heard: str) -> bool:
    """Whether the digits, letters or address of a dictation stand in the words that were understood."""
    return _figures(value) in _figures(heard)


def percentile(values: Sequence[float | None], percent: float) -> int | str:
    """None is a wait without end."""
    return in_whole(quantile(values, percent))


def percent(count: int, of: int) -> float | str:
    return round(100 * count / of, 1) if of else "-"


_NUMBERS: Final = frozenset(
    "zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dollars cents first"
    " second third fourth fifth sixth seventh eighth ninth tenth um uh".split()
)


def _words(text: str) -> list[str]:
    found = re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower().replace("’", "'"))
    return [word for word in found if word not in _NUMBERS and not any(sign.isdigit() for sign in word)]


_DIGITS: Final = {
    word: str(figure)
    for figure, word in enumerate("zero one two three four five six seven eight nine".split())
}


def _figures(text: str) -> str:
    spoken = re.sub(r"\bdot\b", ".", re.sub(r"\bat\b", "@", text.lower()))
    written = re.sub(r"[a-z]+", lambda word: _DIGITS.get(word[0], word[0]), spoken)
    return re.sub(r"[^a-z0-9@]", "", written)
