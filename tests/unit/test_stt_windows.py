"""How much of a window an utterance needs, and how many a device decodes at once."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.stt.batch_size import GPU_BATCH, best_batch, most_at_once, parts
from gpu_workers.stt.windows import FULL_WINDOW_S, coarse_window_s, fine_window_s, safe_window_s


@pytest.mark.parametrize(
    ("length_s", "fine", "safe", "coarse"),
    [(0.5, 4, 10, 10), (1.4, 5, 10, 10), (3.0, 6, 10, 10), (3.01, 7, 10, 10), (6.5, 10, 12, 15), (9.0, 12, 14, 15),
     (17.5, 25, 25, 25), (28.0, 30, 30, 30), (30.0, 30, 30, 30)],
)  # fmt: skip
def test_the_window_of_a_length(length_s: float, fine: float, safe: float, coarse: float) -> None:
    assert (fine_window_s(length_s), safe_window_s(length_s), coarse_window_s(length_s)) == (
        fine,
        safe,
        coarse,
    )


@given(st.floats(0.01, 30))
def test_every_utterance_fits_with_room_or_has_all_there_is(length_s: float) -> None:
    for window, room in ((fine_window_s, 3), (safe_window_s, 4), (coarse_window_s, 4)):
        assert length_s + room <= window(length_s) or window(length_s) == FULL_WINDOW_S
    assert fine_window_s(length_s) <= safe_window_s(length_s) <= FULL_WINDOW_S


@pytest.mark.parametrize(
    ("seconds", "best"),
    [
        ({1: 0.111, 2: 0.188, 4: 0.396}, 2),  # two cores: two at once save 15 %, four nothing
        ({1: 0.1, 2: 0.19}, 1),
        ({1: 0.05, 2: 0.055, 4: 0.06, 8: 0.07, 16: 0.12, 32: 0.24}, 16),  # a card that fills up at 16
        ({1: 0.05, 2: 0.051, 4: 0.052, 8: 0.053, 16: 0.054, 32: 0.055}, 32),
        ({1: 0.05, 2: 0.055, 4: math.inf}, 2),  # no memory for four
    ],
)
def test_a_batch_is_as_large_as_it_pays(seconds: dict[int, float], best: int) -> None:
    assert best_batch(seconds.__getitem__, 32) == best


@pytest.mark.parametrize(
    ("window_s", "most"), [(30.0, GPU_BATCH), (10.0, 3 * GPU_BATCH), (20.0, 12), (25.0, 9)]
)
def test_shorter_windows_share_the_memory_that_the_plan_counts(window_s: float, most: int) -> None:
    assert most_at_once(window_s) == most
    assert most * window_s <= GPU_BATCH * 30


def test_a_batch_that_is_too_large_is_decoded_in_parts() -> None:
    assert list(parts([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(parts([], 2)) == []
