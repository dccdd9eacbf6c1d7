"""Whatever comes and goes: never more than there is room for, nobody refused who has room, nothing kept (D24)."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stasis_app.admission import NO_ROOM, WORKERS, Admission, Resource

ALL: tuple[Resource, ...] = ("calls", "port", *WORKERS)
limits = st.fixed_dictionaries({name: st.none() | st.integers(0, 6) for name in ALL})
needs = st.sets(st.sampled_from(ALL)).map(lambda some: some | {"calls"})


class ComingAndGoing(RuleBasedStateMachine):
    """The books beside a plain list of who holds what."""

    @initialize(limits=limits)
    def begin(self, limits: dict[Resource, int | None]) -> None:
        self.admission = Admission()
        self.limits = limits
        self.held: dict[str, frozenset[Resource]] = {}
        self.came = 0
        self.closed = False

    @rule(needs=needs)
    def comes(self, needs: set[Resource]) -> None:
        self.came += 1
        full = [name for name in ALL if name in needs and self.left(name) <= 0]
        reason = self.admission.reserve(f"1.{self.came}", needs, self.limits)
        if self.closed:
            assert reason == "draining"
        elif full:
            assert reason == NO_ROOM[full[0]]
        else:
            assert reason is None
            self.held[f"1.{self.came}"] = frozenset(needs)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def goes(self, data: st.DataObject) -> None:
        call_id = data.draw(st.sampled_from(sorted(self.held)))
        self.admission.release(call_id)
        del self.held[call_id]

    @rule(limits=limits)
    def rooms_change(self, limits: dict[Resource, int | None]) -> None:
        self.limits = limits

    @rule()
    def drains(self) -> None:
        self.admission.close()
        self.closed = True

    def left(self, name: Resource) -> float:
        limit = self.limits[name]
        return float("inf") if limit is None else limit - self.taken(name)

    def taken(self, name: Resource) -> int:
        return sum(name in held for held in self.held.values())

    @invariant()
    def the_books_are_right(self) -> None:
        assert self.admission.taken == {name: self.taken(name) for name in ALL}


TestComingAndGoing = ComingAndGoing.TestCase


@settings(max_examples=10)
@given(n=st.integers(1, 40), seed=st.integers(), scarce=st.sampled_from(ALL))
def test_five_too_many_at_once_are_five_refusals_a_thousand_times(
    n: int, seed: int, scarce: Resource
) -> None:
    chance, admission = random.Random(seed), Admission()
    for again in range(1000):
        answers = [
            (call_id, admission.reserve(call_id, ALL, {scarce: n}))
            for call_id in (f"{again}.{call}" for call in range(n + 5))
        ]
        taken = [call_id for call_id, reason in answers if reason is None]
        assert len(taken) == n
        assert [reason for _, reason in answers if reason] == [NO_ROOM[scarce]] * 5
        chance.shuffle(taken)
        for call_id in taken:
            admission.release(call_id)
        assert not any(admission.taken.values())
