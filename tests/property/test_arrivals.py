"""What came in time, against a list of all numbers."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from media_bridge.arrivals import Arrivals

FIRST = 65_000


def holes(came: list[bool]) -> list[int]:
    """The lengths of the runs that did not come."""
    return [len(list(run)) for has_come, run in groupby(came) if not has_come]


# whether the number came, and by how many others it was overtaken
fates = st.tuples(st.booleans(), st.integers(0, 20))


@given(st.lists(fates, min_size=1, max_size=700))
def test_loss_and_its_runs_are_counted_exactly(pattern: list[tuple[bool, int]]) -> None:
    came = [True] * 21 + [has_come for has_come, _ in pattern] + [True]
    overtaken = [0] * 21 + [by for _, by in pattern] + [0]
    order = sorted((n for n, has_come in enumerate(came) if has_come), key=lambda n: n + overtaken[n])
    arrivals = Arrivals()
    for number in order:
        arrivals.note((FIRST + number) & 0xFFFF)
    lost = holes(came)
    assert arrivals.loss() == (len(came), sum(lost), len(lost))


@given(st.lists(st.booleans(), max_size=100), st.data())
def test_the_holes_beside_a_number_are_found(pattern: list[bool], data: st.DataObject) -> None:
    came = [True, *pattern, True]
    arrivals = Arrivals()
    for number, has_come in enumerate(came):
        if has_come:
            arrivals.note((FIRST + number) & 0xFFFF)
    at = data.draw(st.sampled_from([n for n, has_come in enumerate(came) if has_come]))
    behind, before = came[at + 1 :], came[:at]
    assert arrivals.missing_after((FIRST + at) & 0xFFFF) == (behind.index(True) if behind else 0)
    assert arrivals.missing_before((FIRST + at) & 0xFFFF) == (before[::-1].index(True) if before else 0)
    assert arrivals.since((FIRST + at) & 0xFFFF) == len(behind)


@given(st.lists(st.booleans(), max_size=600), st.lists(st.booleans(), max_size=600))
def test_another_numbering_adds_to_the_count(one: list[bool], other: list[bool]) -> None:
    arrivals, total, lost = Arrivals(), 0, []
    for first, pattern in ((FIRST, one), (7, other)):
        arrivals.restart()
        came = [True, *pattern, True]
        for number, has_come in enumerate(came):
            if has_come:
                arrivals.note((first + number) & 0xFFFF)
        total += len(came)
        lost += holes(came)
    assert arrivals.loss() == (total, sum(lost), len(lost))
