"""Which of several workers is asked, and when one is left alone."""

import pytest

from gpu_workers.client.replicas import FAILURES, REST_S, Choice, Replicas
from gpu_workers.client.retry_after import retry_after_s

A, B = "http://a", "http://b"


def asked(replicas: Replicas, now: float, but: str | None = None) -> str | None:
    choice = replicas.choose(now, but)
    return choice.url if choice else None


def opened(*urls: str) -> Replicas:
    """With the breaker of the first one open, at 0."""
    replicas = Replicas(urls or (A,))
    assert [replicas.failed(urls[0] if urls else A, 0.0) for _ in range(FAILURES)] == [False, False, True]
    return replicas


def test_replicas_take_turns() -> None:
    replicas = Replicas([A + "/", B + "/v1"])
    assert [asked(replicas, 0.0) for _ in range(3)] == [A, B, A]


@pytest.mark.parametrize("what", [Replicas.failed, Replicas.slow])
def test_one_that_failed_or_was_slow_comes_last_for_a_while(what: object) -> None:
    replicas = Replicas([A, B])
    assert callable(what)
    what(replicas, A, 10.0)
    assert [asked(replicas, 11.0) for _ in range(2)] == [B, B]
    assert not replicas.has_another(B, 11.0)
    assert [asked(replicas, 10.0 + REST_S) for _ in range(2)] == [A, B]


def test_an_answer_brings_it_back_at_once() -> None:
    replicas = Replicas([A, B])
    replicas.failed(B, 16.0)
    replicas.began(B, 16.0)
    assert [asked(replicas, 16.0) for _ in range(2)] == [A, B]


def test_a_slow_answer_does_not() -> None:
    replicas = Replicas([A, B])
    replicas.began(B, 16.0, slow=True)
    replicas.answered(B)
    assert [asked(replicas, 16.0) for _ in range(2)] == [A, A]


def test_the_second_try_goes_to_another_one_even_if_that_is_not_its_turn() -> None:
    replicas = Replicas([A, B])
    assert asked(replicas, 0.0) == A
    replicas.failed(A, 0.0)
    assert asked(replicas, 0.0, but=A) == B
    assert asked(Replicas([A]), 0.0, but=A) == A, "the only one is asked again"


def test_what_was_on_its_way_when_one_failed_fails_with_it_and_counts_once() -> None:
    """Behind one address may be many workers, of which one has died with three requests in hand."""
    replicas = Replicas([A])
    assert not any(replicas.failed(A, 10.0 + number / 100, begun=9.0) for number in range(5))
    assert asked(replicas, 10.1, but=A) == A
    assert not replicas.failed(A, 10.2, begun=10.1)
    assert replicas.failed(A, 10.4, begun=10.3), "three that were begun one after the other"


def test_one_that_wants_time_gets_it() -> None:
    replicas = Replicas([A, B])
    replicas.busy(A, 10.0, 2.0)
    assert [asked(replicas, 11.0) for _ in range(2)] == [B, B]
    replicas.busy(B, 11.0, 0.5)
    assert replicas.choose(11.0) == Choice(B, 0.5), "whoever is free first"
    assert replicas.choose(11.5) == Choice(B, 0.0)
    assert {asked(replicas, 12.0) for _ in range(2)} == {A, B}


def test_nobody_rests_for_an_hour() -> None:
    replicas = Replicas([A])
    replicas.busy(A, 0.0, 3600.0)
    assert replicas.choose(0.0) == Choice(A, 60.0)


class TestBreaker:
    def test_three_failures_in_30_s_open_it(self) -> None:
        replicas = opened(A)
        assert replicas.is_open(A)
        assert replicas.choose(0.0) is None

    def test_an_answer_between_them_or_time_does_not(self) -> None:
        replicas = Replicas([A])
        for at in (0.0, 1.0, 31.5):
            assert not replicas.failed(A, at)
        replicas = Replicas([A])
        for at in (0.0, 1.0):
            replicas.failed(A, at)
        replicas.answered(A)
        assert not replicas.failed(A, 2.0)

    def test_slow_and_full_ones_do_not(self) -> None:
        """W2: where all are slow, a breaker would leave all callers without a worker."""
        replicas = Replicas([A])
        for at in (0.0, 1.0, 2.0, 3.0):
            replicas.slow(A, at)
            replicas.busy(A, at, 1.0)
        assert not replicas.is_open(A)

    def test_the_others_get_all(self) -> None:
        replicas = opened(A, B)
        assert [asked(replicas, 100.0) for _ in range(3)] == [B, B, B]
        assert not replicas.has_another(B, 100.0)

    def test_a_good_probe_lets_one_request_through_and_its_answer_the_rest(self) -> None:
        replicas = opened(A)
        assert replicas.well(A)
        assert asked(replicas, 5.0) == A
        assert asked(replicas, 5.0) is None, "one is on its way"
        replicas.began(A, 5.0)
        assert asked(replicas, 5.1) == A
        replicas.answered(A)
        assert not replicas.failed(A, 6.0), "closed: it counts from nought"

    def test_on_trial_the_next_failure_opens_it(self) -> None:
        replicas = opened(A)
        replicas.well(A)
        asked(replicas, 5.0)
        assert replicas.failed(A, 5.5)
        assert asked(replicas, 5.6) is None

    @pytest.mark.parametrize("how", ["undecided", "slow", "busy"])
    def test_a_trial_without_a_verdict_is_held_again(self, how: str) -> None:
        replicas = opened(A)
        replicas.well(A)
        asked(replicas, 5.0)
        match how:
            case "undecided":
                replicas.undecided(A)
            case "slow":
                replicas.slow(A, 5.0)
            case _:
                replicas.busy(A, 5.0, 0.0)
        assert [asked(replicas, 6.0) for _ in range(2)] == [A, None]

    def test_a_bad_probe_opens_it_at_once(self) -> None:
        replicas = Replicas([A])
        assert [replicas.dead(A), replicas.dead(A)] == [True, False]
        assert replicas.choose(0.0) is None
        assert not Replicas([A]).well(A), "nothing to let through"

    def test_a_late_failure_of_one_that_is_open_changes_nothing(self) -> None:
        replicas = opened(A)
        assert not replicas.failed(A, 1.0)


def test_no_replica_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Replicas([])


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        ("0.5", 0.5),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("Fri, 31 Dec", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header) == seconds
