"""Whose sound is made next: who runs dry first; nobody is lost, nobody starves, what is begun is never refused."""

import heapq
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from gpu_workers.tts.line import LineFullError, Ticket, WaitingLine

LIMIT = 4


class Line(RuleBasedStateMachine):
    """The line beside a plain list of who is in it."""

    tickets = Bundle("tickets")

    def __init__(self) -> None:
        super().__init__()
        self.line = WaitingLine(LIMIT)
        self.model: dict[int, Ticket] = {}
        self.numbers = 0

    @rule(target=tickets, runs_dry=st.floats(0, 100), begun=st.booleans())
    def comes(self, runs_dry: float, begun: bool) -> int:
        self.numbers += 1
        ticket = Ticket(self.numbers, runs_dry, begun)
        fresh = [one for one in self.model.values() if not one.begun]
        try:
            left = self.line.add(ticket)
        except LineFullError:
            assert not begun
            assert len(fresh) == LIMIT
            assert all(one.order < ticket.order for one in fresh)
            return self.numbers
        if left is not None:
            assert left == max(fresh, key=lambda one: one.order)
            assert left.order > ticket.order
            del self.model[left.number]
        self.model[ticket.number] = ticket
        return self.numbers

    @rule(number=consumes(tickets))
    def leaves(self, number: int) -> None:
        self.line.remove(number)
        self.model.pop(number, None)

    @rule()
    def is_taken(self) -> None:
        ticket = self.line.take()
        if ticket is None:
            assert not self.model
            return
        assert ticket == min(self.model.values(), key=lambda one: one.order)
        del self.model[ticket.number]

    @invariant()
    def holds_who_came(self) -> None:
        assert len(self.line) == len(self.model)
        assert sum(not one.begun for one in self.model.values()) <= LIMIT


TestLine = Line.TestCase


@dataclass
class Caller:
    """Asks at `asks_at` for sentences of `lengths` seconds and listens to each from when it is there."""

    asks_at: float
    lengths: tuple[float, ...]
    hears_until: float = 0.0
    silent_s: float = 0.0

    def gets(self, length: float, now: float) -> None:
        if self.hears_until:
            self.silent_s += max(0.0, now - self.hears_until)
        self.hears_until = max(self.hears_until, now) + length


def worst_silence(callers: list[Caller], cost: float, *, by_need: bool) -> float:
    """One thread makes a second of sound in `cost` seconds; the longest silence inside anybody's answer."""
    line, clock, number = WaitingLine(1000), 0.0, 0
    waiting: dict[int, tuple[Caller, int]] = {}
    asking = [(caller.asks_at, index) for index, caller in enumerate(callers)]
    heapq.heapify(asking)
    while asking or waiting:
        if not waiting:
            clock = max(clock, asking[0][0])
        while asking and asking[0][0] <= clock:
            at, index = heapq.heappop(asking)
            line.add(Ticket(number, at))
            waiting[number] = (callers[index], 0)
            number += 1
        ticket = line.take()
        assert ticket
        caller, part = waiting.pop(ticket.number)
        clock += caller.lengths[part] * cost
        caller.gets(caller.lengths[part], clock)
        if part + 1 < len(caller.lengths):
            following = ticket.after(caller.lengths[part], clock)
            # a line that goes by arrival puts everybody at its end
            line.add(following if by_need else Ticket(number, clock, begun=True))
            waiting[following.number if by_need else number] = (caller, part + 1)
            number += 1
    return max(caller.silent_s for caller in callers)


def the_callers() -> list[Caller]:
    """One of long sentences who has sound for a long time, and many who ask for short ones."""
    patient = Caller(0.0, (8.0, 8.0, 8.0))
    short = [Caller(0.5 + 0.2 * number, (0.8, 0.8, 0.8)) for number in range(6)]
    return [patient, *short]


def test_nobody_falls_silent_where_a_line_by_arrival_leaves_callers_in_silence() -> None:
    assert worst_silence(the_callers(), 0.1, by_need=True) == 0.0
    assert worst_silence(the_callers(), 0.1, by_need=False) > 0.1


@given(
    st.lists(
        st.builds(Caller, st.floats(0, 5), st.lists(st.floats(0.5, 6), min_size=1, max_size=5).map(tuple)),
        min_size=1,
        max_size=8,
    )
)
def test_everybody_gets_all_of_it(callers: list[Caller]) -> None:
    worst_silence(callers, 0.1, by_need=True)
    assert all(caller.hears_until >= sum(caller.lengths) for caller in callers)


def test_one_who_waits_longest_becomes_the_nearest() -> None:
    line = WaitingLine(8)
    line.add(Ticket(0, 30.0))
    for now in range(29):
        line.add(Ticket(now + 1, float(now)))
        taken = line.take()
        assert taken
        assert taken.number == now + 1
    line.add(Ticket(99, 31.0))
    taken = line.take()
    assert taken
    assert taken.number == 0
