"""How long recordings are kept (S4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stasis_app.retention import LIVE_S, Kept, Retention
from stasis_app.settings import CallSettings

KEPT = [Kept("a", 400, 10.0), Kept("b", 300, 30.0), Kept("c", 200, 20.0), Kept("d", 100, 40.0)]


def over(calls: int = 9, age_s: float = 1e9, size: int = 10**9, now: float = 200.0) -> list[str]:
    return Retention(calls, age_s, size).over(KEPT, now)


def test_each_limit_takes_the_oldest() -> None:
    assert over() == []
    assert over(calls=2) == ["c", "a"]
    assert over(age_s=175) == ["c", "a"]
    assert over(age_s=170) == ["c", "a"]
    assert over(size=600) == ["a"]
    assert over(size=599) == ["c", "a"]
    assert over(calls=1, age_s=165, size=100) == ["b", "c", "a"]


def test_no_call_that_goes_on_loses_its_recording() -> None:
    now = 40.0 + LIVE_S
    assert over(calls=1, now=now) == ["b", "c", "a"]
    assert over(calls=1, size=0, age_s=0, now=now - 10) == ["c", "a"]
    assert over(calls=1, size=0, age_s=0, now=now - 30) == []


@pytest.mark.parametrize(
    ("calls", "size", "full"), [(3, 1000, False), (2, 1000, True), (3, 400, True), (3, 401, False)]
)
def test_the_calls_that_go_on_may_leave_no_room(calls: int, size: int, full: bool) -> None:
    assert Retention(calls, 1e9, size).is_full(KEPT, 30.0 + LIVE_S) is full


def test_the_configuration_says_days_and_megabytes() -> None:
    settings = CallSettings(flight_keep_calls=7, flight_keep_days=0.5, flight_keep_mb=20)
    assert settings.flight_retention == Retention(7, 43_200, 20_000_000)


@given(
    kept=st.lists(
        st.builds(Kept, st.uuids().map(str), st.integers(0, 10**9), st.floats(0, 1e9 - LIVE_S - 1)),
        unique_by=lambda k: k.name,
    ),
    calls=st.integers(1, 20),
    size=st.integers(0, 10**10),
    age_s=st.floats(0, 1e9),
)
def test_what_is_left_is_within_all_limits(kept: list[Kept], calls: int, size: int, age_s: float) -> None:
    gone = set(Retention(calls, age_s, size).over(kept, 1e9))
    left = [one for one in kept if one.name not in gone]
    assert len(left) <= calls
    assert sum(one.size for one in left) <= size
    assert all(1e9 - one.written <= age_s for one in left)
