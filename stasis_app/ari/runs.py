"""Whether other runs of this bot live that have calls in Asterisk: one that was replaced finishes them. Pure.

A replaced run keeps counting up a global variable of Asterisk's (docs/decisions/0018). Clocks of two machines need not
agree: what counts is that the value changes between two looks.
"""

SILENT_S = 4.0
"""A run whose variable has stood still for so long is dead: it writes every BEAT_S."""
BEAT_S = 0.5


class OtherRuns:
    """What was seen of them."""

    def __init__(self) -> None:
        self._beats: dict[str, tuple[str, float]] = {}

    def saw(self, run: str, beat: str, now: float) -> None:
        """`beat`: the value of its variable; "" when it has set none, or says that it has ended."""
        if beat != self._beats.get(run, ("", now))[0]:
            self._beats[run] = (beat, now)

    def alive(self, now: float) -> frozenset[str]:
        """Those that were seen at work."""
        return frozenset(run for run, (beat, since) in self._beats.items() if beat and now - since < SILENT_S)
