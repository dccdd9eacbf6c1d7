"""When the media clock has too much to do, and when no longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_bridge.overload import (
    BUSY_BELOW,
    BUSY_FOR,
    BUSY_FROM,
    CALM_FOR,
    FEWEST_CALLS,
    SECONDS_KEPT,
    SKIPPED_FOR,
    SKIPPED_FROM,
    USUAL_SHARE,
    Load,
    Overload,
)

CALM, BUSY, BETWEEN = Load(0.3, 0.0), Load(0.9, 0.0), Load((BUSY_FROM + BUSY_BELOW) / 2, 0.0)
LATE = Load(0.3, 0.3)


def states(loads: list[Load]) -> list[bool]:
    """Whether it is on after each."""
    overload, on = Overload(), []
    for load in loads:
        before = overload.on
        assert overload.observe(load) == (overload.on != before)
        on.append(overload.on)
    return on


def test_it_takes_some_seconds_in_a_row() -> None:
    assert states([CALM, BUSY, BUSY, CALM, BUSY, BUSY, BUSY]) == [False] * 6 + [True]


@pytest.mark.parametrize("stall", [LATE, Load(1.0, 0.9)])
def test_one_stall_is_none(stall: Load) -> None:
    assert not any(states([CALM] * 10 + [stall] + [CALM] * 10))


def test_ticks_that_are_left_out_all_the_time_are_one() -> None:
    assert states([LATE] * SKIPPED_FOR) == [False] * (SKIPPED_FOR - 1) + [True]
    assert not any(states([Load(0.3, SKIPPED_FROM / 2)] * 20))


def test_between_the_two_thresholds_it_stays_what_it_is() -> None:
    assert not any(states([CALM] + [BETWEEN] * 20))
    assert all(states([BUSY] * BUSY_FOR + [BETWEEN] * 20)[BUSY_FOR - 1 :])


def test_it_ends_after_a_longer_calm() -> None:
    on = states([BUSY] * 3 + [CALM] * (CALM_FOR - 1) + [BETWEEN] + [CALM] * CALM_FOR)
    assert on == [False, False] + [True] * (2 * CALM_FOR) + [False]


@given(st.lists(st.tuples(st.floats(0, 1.2), st.floats(0, 1)), max_size=60))
def test_it_never_turns_on_without_as_many_bad_seconds_nor_off_without_as_many_calm_ones(
    pattern: list[tuple[float, float]],
) -> None:
    loads = [Load(busy, skipped) for busy, skipped in pattern]
    on = [False, *states(loads)]
    for second in range(1, len(on)):
        if on[second] and not on[second - 1]:
            assert min(load.busy for load in loads[second - BUSY_FOR : second]) >= BUSY_FROM or (
                min(load.skipped for load in loads[second - SKIPPED_FOR : second]) >= SKIPPED_FROM
            )
        if on[second - 1] and not on[second]:
            assert max(load.busy for load in loads[second - CALM_FOR : second]) < BUSY_BELOW


def admitted(overload: Overload, running: int, newcomers: int) -> int:
    """How many are taken of `newcomers` who come in the same instant."""
    taken = 0
    while taken < newcomers and overload.has_room(running + taken):
        taken += 1
    return taken


@given(
    share=st.floats(0.002, 0.08),
    wakeups=st.floats(0, 0.02),
    running=st.integers(FEWEST_CALLS, 60),
    newcomers=st.integers(1, 600),
    noise=st.lists(st.floats(0, 0.5), max_size=SECONDS_KEPT - 1),
)
def test_a_burst_is_cut_where_its_load_would_be_too_much(
    share: float, wakeups: float, running: int, newcomers: int, noise: list[float]
) -> None:
    """Whatever else the machine did in all seconds but one."""
    busy = wakeups + running * share
    overload = Overload()
    for more in [*noise, 0.0]:
        overload.observe(Load(min(1.0, busy + more), 0.0, running))
    if overload.on:
        assert admitted(overload, running, newcomers) == 0
        return
    taken = admitted(overload, running, newcomers)
    load = wakeups + (running + taken) * share
    assert taken == 0 or load < BUSY_FROM
    if taken < newcomers:
        # one more would have been too much, or nearly: a call's share holds its part of the wake-ups
        assert load + (1 + taken) * wakeups / running + share >= BUSY_FROM - 1e-9


def test_before_anything_is_known_calls_take_the_usual() -> None:
    assert admitted(Overload(), 0, 1000) == int(BUSY_FROM / USUAL_SHARE)
    quiet = Overload()
    # one call on an idle machine: its wake-ups are not what a call takes
    quiet.observe(Load(0.03, 0.0, 1.0))
    assert admitted(quiet, 1, 150) == 150


def test_a_second_that_was_left_out_tells_nothing() -> None:
    overload = Overload()
    overload.observe(Load(0.4, 0.0, 20))
    overload.observe(Load(0.02, 0.9, 20))
    assert admitted(overload, 20, 100) == 17


def test_where_every_second_was_left_out_in_part_the_busiest_counts() -> None:
    overload = Overload()
    for busy in (0.6, *[0.74] * 20, 0.7):
        overload.observe(Load(busy, 0.05, 60))
    assert overload.expected(61) == pytest.approx(0.74 + USUAL_SHARE)
    assert not overload.has_room(150)
    assert admitted(overload, 60, 100) == 2


def test_who_was_taken_counts_before_it_is_measured_and_who_left_no_more() -> None:
    overload = Overload()
    overload.observe(Load(0.6, 0.0, 30))
    assert admitted(overload, 30, 100) == 7
    assert not overload.has_room(37)
    assert overload.has_room(36), "one has left"


@given(
    st.lists(st.tuples(st.floats(0, 1.2), st.floats(0, 1), st.floats(0, 100)), max_size=20),
    st.integers(0, 99),
)
def test_more_calls_never_make_room(pattern: list[tuple[float, float, float]], calls: int) -> None:
    overload = Overload()
    for busy, skipped, at_work in pattern:
        overload.observe(Load(busy, skipped, at_work))
    assert overload.has_room(calls) or not overload.has_room(calls + 1)
    assert overload.expected(calls) <= overload.expected(calls + 1)
