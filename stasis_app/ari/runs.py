"""Whether other runs of this bot live that have calls in Asterisk: one that was replaced finishes them. Pure.

A replaced run keeps counting up a global variable of Asterisk's (docs/decisions/0018). Clocks of two machines need not
agree: what counts is that the value changes between two looks.
"""

from dataclasses import dataclass

SILENT_S = 4.0
"""A run whose variable has stood still for so long is dead: it writes every BEAT_S."""
BEAT_S = 0.5
LOOK_BESIDE_S = 5.0
"""How often Asterisk is looked over while another run finishes its calls: should it die, they are in silence."""
LONGEST_GAP_S = LOOK_BESIDE_S + 2.0
"""Between two looks that tell of silence. Over a longer one we were silent ourselves: Asterisk was away, or frozen."""


class OtherRuns:
    """What was seen of them."""

    def __init__(self) -> None:
        self._beats: dict[str, _Beat] = {}

    def saw(self, run: str, beat: str, now: float) -> None:
        """`beat`: the value of its variable; "" when it has set none, or says that it has ended."""
        last = self._beats.get(run, _Beat("", now, now))
        same = beat == last.value and now - last.seen <= LONGEST_GAP_S
        self._beats[run] = _Beat(beat, last.since if same else now, now)

    def alive(self, now: float) -> frozenset[str]:
        """Those that were seen at work."""
        return frozenset(
            run
            for run, beat in self._beats.items()
            if beat.value and beat.seen - beat.since < SILENT_S and now - beat.seen <= LONGEST_GAP_S
        )


@dataclass(frozen=True, slots=True)
class _Beat:
    """A value, first and last seen."""

    value: str
    since: float
    seen: float
