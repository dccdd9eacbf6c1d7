"""The recogniser's line under any sequence of comings, leavings and takings, against the rule written down plainly."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gpu_workers.stt.line import LineFullError, Priority, Ticket, WaitingLine

CALLS = st.sampled_from([None, "a", "b", "c"])
WINDOWS = st.sampled_from([6.0, 10.0])
PRIORITIES = st.sampled_from(Priority)


class Line(RuleBasedStateMachine):
    """`here` is what must be waiting; whoever was refused, replaced, late or taken never comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.line = WaitingLine(1)
        self.limit = 1
        self.here: dict[int, Ticket] = {}
        self.gone: set[int] = set()
        self.now = 0.0
        self.next = 0

    @initialize(limit=st.integers(1, 4))
    def opened(self, limit: int) -> None:
        self.line, self.limit = WaitingLine(limit), limit

    @rule(newcomers=st.lists(st.tuples(PRIORITIES, st.floats(0, 8), WINDOWS, CALLS), min_size=1, max_size=6))
    def some_come(self, newcomers: list[tuple[Priority, float, float, str | None]]) -> None:
        for newcomer in newcomers:
            self._comes(*newcomer)

    def _comes(self, priority: Priority, wait_s: float, window_s: float, call: str | None) -> None:
        ticket = Ticket(self.next, priority, self.now + wait_s, window_s, call)
        self.next += 1
        try:
            left = self.line.add(ticket)
        except LineFullError:
            assert len(self.here) == self.limit
            assert all(one.priority <= priority for one in self.here.values())
            self.gone.add(ticket.number)
            return
        for old in left:
            older = old.call_id is not None and old.call_id == call
            assert old.priority > priority or (older and old.priority is Priority.PARTIAL)
            self._leaves(old)
        self.here[ticket.number] = ticket

    @precondition(lambda self: self.here)
    @rule(data=st.data())
    def hangs_up(self, data: Any) -> None:
        number = data.draw(st.sampled_from(sorted(self.here)))
        self.line.remove(number)
        self._leaves(self.here[number])

    @rule(seconds=st.floats(0, 5))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for ticket in self.line.late(self.now):
            assert ticket.priority is not Priority.FINAL
            self._leaves(ticket)
        assert all(
            one.deadline >= self.now for one in self.here.values() if one.priority is not Priority.FINAL
        )

    @rule(limit=st.integers(1, 4))
    def model_is_free(self, limit: int) -> None:
        batch = self.line.take(limit)
        in_order = sorted(self.here.values(), key=lambda one: (one.priority, one.deadline, one.number))
        alike = [one for one in in_order if self._together(one, in_order[0])]
        left = [one.priority for one in in_order if one not in alike]
        assert batch == [one for one in alike if all(one.priority <= other for other in left)][:limit]
        for ticket in batch:
            self._leaves(ticket)

    @staticmethod
    def _together(one: Ticket, other: Ticket) -> bool:
        partials = [ticket.priority is Priority.PARTIAL for ticket in (one, other)]
        return one.window_s == other.window_s and (all(partials) or not any(partials))

    @invariant()
    def nobody_is_lost(self) -> None:
        assert len(self.line) == len(self.here) <= self.limit

    @invariant()
    def a_call_has_one_partial_and_it_is_its_newest_request(self) -> None:
        for one in self.here.values():
            if one.priority is Priority.PARTIAL and one.call_id is not None:
                of_the_call = [other.number for other in self.here.values() if other.call_id == one.call_id]
                assert max(of_the_call) == one.number

    def _leaves(self, ticket: Ticket) -> None:
        assert self.here.pop(ticket.number) is ticket
        assert ticket.number not in self.gone
        self.gone.add(ticket.number)


def test_any_coming_and_going() -> None:
    run_state_machine_as_test(Line, settings=settings(max_examples=60, stateful_step_count=30))
