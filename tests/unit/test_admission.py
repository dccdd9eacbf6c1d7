"""One reservation for all that a call needs."""

import pytest

from stasis_app.admission import Admission, share


def test_what_is_scarce_gives_the_reason_and_nothing_is_taken() -> None:
    admission = Admission()
    needs, limits = {"calls", "port", "llm"}, {"calls": 9, "port": 9, "llm": 1}
    assert admission.reserve("1.1", needs, limits) is None  # type: ignore[arg-type]
    before = dict(admission.taken)
    assert admission.reserve("1.2", needs, limits) == "llm_full"  # type: ignore[arg-type]
    assert admission.taken == before


def test_a_call_that_needs_no_port_does_not_wait_for_one() -> None:
    admission = Admission()
    assert admission.reserve("1.1", {"calls"}, {"port": 0}) is None


def test_a_limit_that_shrinks_sends_nobody_away() -> None:
    admission = Admission()
    for number in range(3):
        assert admission.reserve(f"1.{number}", {"stt"}, {"stt": 3}) is None
    assert admission.reserve("1.9", {"stt"}, {"stt": 1}) == "stt_full"
    assert admission.taken["stt"] == 3
    for number in range(3):
        admission.release(f"1.{number}")
    assert admission.reserve("1.9", {"stt"}, {"stt": 1}) is None


def test_a_call_has_one_place_and_gives_it_back_once() -> None:
    admission = Admission()
    admission.reserve("1.1", {"calls"}, {})
    with pytest.raises(ValueError, match="has a place already"):
        admission.reserve("1.1", {"calls"}, {})
    admission.release("1.1")
    with pytest.raises(KeyError):
        admission.release("1.1")


@pytest.mark.parametrize(
    ("limit", "processes", "each"), [(None, 4, None), (10, 1, 10), (10, 4, 2), (3, 4, 1)]
)
def test_processes_share_what_a_worker_has_room_for(
    limit: int | None, processes: int, each: int | None
) -> None:
    assert share(limit, processes) == each
