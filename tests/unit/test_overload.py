"""When the media clock has too much to do, and when no longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_bridge.overload import (
    BUSY_BELOW,
    BUSY_FOR,
    BUSY_FROM,
    CALM_FOR,
    SKIPPED_FOR,
    SKIPPED_FROM,
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
