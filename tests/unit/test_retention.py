"""How long recordings are kept (S4)."""

from hypothesis import given
from hypothesis import strategies as st

from stasis_app.retention import Kept, Retention
from stasis_app.settings import CallSettings

KEPT = [Kept("a", 400, 10.0), Kept("b", 300, 30.0), Kept("c", 200, 20.0), Kept("d", 100, 40.0)]


def over(calls: int = 9, age_s: float = 1e9, size: int = 10**9, now: float = 50.0) -> list[str]:
    return Retention(calls, age_s, size).over(KEPT, now)


def test_each_limit_takes_the_oldest() -> None:
    assert over() == []
    assert over(calls=2) == ["c", "a"]
    assert over(age_s=25) == ["c", "a"]
    assert over(age_s=20) == ["c", "a"]
    assert over(size=600) == ["a"]
    assert over(size=599) == ["c", "a"]
    assert over(calls=1, age_s=15, size=100) == ["b", "c", "a"]


def test_the_configuration_says_days_and_megabytes() -> None:
    settings = CallSettings(flight_keep_calls=7, flight_keep_days=0.5, flight_keep_mb=20)
    assert settings.flight_retention == Retention(7, 43_200, 20_000_000)


@given(
    kept=st.lists(
        st.builds(Kept, st.uuids().map(str), st.integers(0, 10**9), st.floats(0, 1e9)),
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
