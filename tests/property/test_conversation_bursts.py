"""Short sounds over the bot, one behind the other for a minute, on a clock: laughing, coughing, a dog. None of them is
meant, and the bot is never kept silent for long, however late that is known.
"""

from heapq import heappop, heappush
from itertools import count

from hypothesis import example, given, settings
from hypothesis import strategies as st

from stasis_app import conversation as talk
from stasis_app.effects import INTERRUPTION_LASTS_S
from tests.property.test_conversation_speech import Call, Do

PAUSED_S, RESUMED_S = 0.1, 0.06
"""What the endpoint needs to notice that a sound has paused, and that one has begun."""
LASTS_S = 60.0
LONGEST_S = 4.0


class Clocked(Call):
    """Each verdict takes `verdict_s`, and the bot always has something left to say."""

    def __init__(self, verdict_s: float) -> None:
        self.verdict_s = verdict_s
        self.now = 0.0
        self.silent_since: float | None = None
        self.longest_s = self.heard_s = 0.0
        self.order = count()
        self.soon: list[tuple[float, int, Do]] = []
        super().__init__()

    def later(self, delay_s: float, one: Do) -> None:
        heappush(self.soon, (self.now + delay_s, next(self.order), one))

    def only_later(self, delay_s: float, one: Do) -> None:
        """As a timer does: it forgets the one that waits."""
        self.soon = sorted(entry for entry in self.soon if entry[2] is not one)
        self.later(delay_s, one)

    def obey_aside(self, command: talk.Command) -> None:
        super().obey_aside(command)
        match command:
            case talk.PausePlayout() if self.silent_since is None:
                self.silent_since = self.now
            case talk.ResumePlayout():
                self.longest_s, self.silent_since = max(self.longest_s, self.silent_s), None
            case talk.Judge():
                self.soon = sorted(entry for entry in self.soon if entry[2] is not Do.ONGOING_NOT_MEANT)
                self.later(self.verdict_s, Do.NOT_MEANT_FIRST)
            case talk.WatchInterruption():
                self.only_later(INTERRUPTION_LASTS_S, Do.WAIT)
            case talk.JudgeOngoing():
                self.only_later(self.verdict_s, Do.ONGOING_NOT_MEANT)

    @property
    def silent_s(self) -> float:
        return 0.0 if self.silent_since is None else self.now - self.silent_since

    def run(self) -> None:
        while self.soon and self.now < LASTS_S:
            at, _, one = heappop(self.soon)
            if self.silent_since is None:
                self.heard_s += at - self.now
            self.now = at
            self.do(one)


def telling(verdict_s: float) -> Clocked:
    """In the middle of an answer."""
    call = Clocked(verdict_s)
    for one in (*[Do.PLAY] * 5, Do.SPEAK, Do.PAUSE, Do.END, Do.MAKE, Do.PLAY):
        call.do(one)
    assert call.state.phase is talk.Phase.SPEAKING
    return call


seconds = st.floats(0.1, 1.5)
bursts = st.lists(st.tuples(seconds, seconds), min_size=1, max_size=6)


@given(bursts, st.floats(0.05, 1.2), st.floats(0.5, 0.9))
@example([(0.6, 0.25)], 0.3, 0.5)
@example([(0.6, 0.25)], 0.9, 0.5)
@settings(max_examples=300)
def test_sounds_that_are_not_meant_never_keep_the_bot_silent_for_long(
    sounds: list[tuple[float, float]], verdict_s: float, ends_s: float
) -> None:
    call = telling(verdict_s)
    begins = 0.2
    while begins < LASTS_S:
        for lasts_s, gap_s in sounds:
            call.later(begins + RESUMED_S, Do.SPEAK)
            call.later(begins + lasts_s + PAUSED_S, Do.PAUSE)
            if gap_s > ends_s:
                call.later(begins + lasts_s + ends_s, Do.END)
            begins += lasts_s + gap_s
    call.run()
    assert max(call.longest_s, call.silent_s) <= LONGEST_S
