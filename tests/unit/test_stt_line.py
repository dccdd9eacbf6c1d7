"""Who is decoded next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.stt.line import LineFullError, Priority, Ticket, WaitingLine


def ticket(
    number: int,
    priority: Priority = Priority.FINAL,
    deadline: float = 10.0,
    window_s: float = 10.0,
    call_id: str | None = None,
) -> Ticket:
    return Ticket(number, priority, deadline, window_s, call_id)


def numbers(tickets: list[Ticket]) -> list[int]:
    return [ticket.number for ticket in tickets]


def test_finals_go_before_eager_before_partials_then_by_deadline() -> None:
    line = WaitingLine(10)
    line.add(ticket(1, Priority.PARTIAL, 1.0))
    line.add(ticket(2, Priority.EAGER, 9.0))
    line.add(ticket(3, Priority.FINAL, 8.0))
    line.add(ticket(4, Priority.FINAL, 7.0))
    line.add(ticket(5, Priority.EAGER, 2.0))
    assert [numbers(line.take(1))[0] for _ in range(5)] == [4, 3, 5, 2, 1]
    assert line.take(1) == []


def test_a_batch_is_of_one_window() -> None:
    line = WaitingLine(10)
    for number, window in enumerate((10.0, 15.0, 10.0, 10.0)):
        line.add(ticket(number, window_s=window))
    assert numbers(line.take(2)) == [0, 2]
    assert numbers(line.take(8)) == [1]
    assert numbers(line.take(8)) == [3]


def test_a_newer_request_of_the_call_takes_the_place_of_its_partial() -> None:
    line = WaitingLine(10)
    line.add(ticket(1, Priority.PARTIAL, call_id="a"))
    line.add(ticket(2, Priority.PARTIAL, call_id="b"))
    assert numbers(line.add(ticket(3, Priority.PARTIAL, call_id="a"))) == [1]
    assert numbers(line.add(ticket(4, Priority.FINAL, call_id="a"))) == [3]
    assert numbers(line.add(ticket(5, Priority.FINAL, call_id="a"))) == []
    assert [numbers(line.take(10)) for _ in range(2)] == [[4, 5], [2]]


def test_partials_without_a_call_do_not_replace_each_other() -> None:
    line = WaitingLine(10)
    line.add(ticket(1, Priority.PARTIAL))
    assert line.add(ticket(2, Priority.PARTIAL)) == []


def test_a_full_line_refuses_unless_somebody_is_worth_less() -> None:
    line = WaitingLine(2)
    line.add(ticket(1, Priority.FINAL))
    line.add(ticket(2, Priority.PARTIAL))
    with pytest.raises(LineFullError):
        line.add(ticket(3, Priority.PARTIAL))
    assert numbers(line.add(ticket(4, Priority.EAGER))) == [2]
    with pytest.raises(LineFullError):
        line.add(ticket(5, Priority.EAGER))
    assert len(line) == 2


def test_late_partials_leave_and_late_finals_stay() -> None:
    line = WaitingLine(10)
    line.add(ticket(1, Priority.PARTIAL, 5.0))
    line.add(ticket(2, Priority.FINAL, 5.0))
    line.add(ticket(3, Priority.EAGER, 7.0))
    assert numbers(line.late(6.0)) == [1]
    assert numbers(line.take(10)) == [2, 3]


def test_leaving_twice_is_no_error() -> None:
    line = WaitingLine(10)
    line.add(ticket(1))
    line.remove(1)
    line.remove(1)
    assert len(line) == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(Priority),
            st.floats(0, 100),
            st.sampled_from((10.0, 15.0)),
            st.sampled_from((None, "a")),
        ),
        max_size=40,
    ),
    st.integers(1, 8),
)
def test_nobody_is_lost_and_nobody_twice(
    asked: list[tuple[Priority, float, float, str | None]], limit: int
) -> None:
    line, left = WaitingLine(8), []
    refused = 0
    for number, (priority, deadline, window, call) in enumerate(asked):
        try:
            left += line.add(ticket(number, priority, deadline, window, call))
        except LineFullError:
            refused += 1
        assert len(line) <= 8
    taken: list[Ticket] = []
    while batch := line.take(limit):
        assert len({one.window_s for one in batch}) == 1
        taken += batch
    seen = numbers(taken) + numbers(left)
    assert len(seen) == len(set(seen)) == len(asked) - refused
