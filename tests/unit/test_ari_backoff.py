from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stasis_app.ari.backoff import Backoff, NoPage, Waits, longest_wait_s

WAITS = Waits()


@pytest.mark.parametrize(
    ("status", "refused", "longest_s"),
    [
        (None, True, 1.0),
        (404, False, 1.0),
        (503, False, 1.0),
        (None, False, 5.0),
        (500, False, 5.0),
        (400, False, 5.0),
        (401, False, None),
        (403, False, None),
    ],
)
def test_what_is_tried_again_and_how_soon(status: int | None, refused: bool, longest_s: float | None) -> None:
    assert longest_wait_s(WAITS, status, refused) == longest_s


def test_waits_double_up_to_the_cap() -> None:
    backoff = Backoff(replace(WAITS, soon_tries=0))
    assert [backoff.next_s(5.0, jitter=1.0) for _ in range(7)] == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_none_of_the_first_waits_is_longer_than_a_second() -> None:
    """P7: whatever the trouble is, a line that is healed within a minute is found so within a second."""
    backoff = Backoff(WAITS)
    waits = [backoff.next_s(5.0, jitter=1.0) for _ in range(61)]
    assert waits[:4] == [0.25, 0.5, 1.0, 1.0]
    assert max(waits[:60]) == 1.0
    assert waits[60] == 5.0


def test_only_health_ends_the_row_of_failures() -> None:
    backoff = Backoff(replace(WAITS, soon_tries=0))
    for _ in range(5):
        backoff.next_s(5.0, 1.0)
    backoff.lost(lived_s=29.9)
    assert backoff.next_s(5.0, 1.0) == 5.0
    backoff.lost(lived_s=30.0)
    assert backoff.next_s(5.0, 1.0) == 0.25


@given(st.integers(0, 5000), st.floats(0, 1))
def test_a_wait_is_never_hot_and_never_over_the_cap(failures: int, jitter: float) -> None:
    backoff = Backoff(WAITS)
    backoff.failures = failures
    assert 0.125 <= backoff.next_s(5.0, jitter) <= 5.0


def test_a_page_that_stays_away_is_told_once_and_no_starting_asterisk_is_taken_for_it() -> None:
    page = NoPage(WAITS)
    assert [page.lasts(404, now) for now in (0.0, 5.0, 9.9, 10.0, 11.0, 99.0)] == [False] * 3 + [True] + [
        False
    ] * 2
    for other in (503, None):
        assert [
            page.lasts(status, now) for status, now in ((404, 0.0), (other, 6.0), (404, 7.0), (404, 16.0))
        ] == [False] * 4
        assert page.lasts(404, 17.0)
