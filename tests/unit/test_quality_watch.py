"""A call is rated by its whole time, and by its worst 10 s."""

import pytest

from media_bridge.quality_watch import CallQuality, QualityWatch
from media_bridge.stats import TransportStats


def watched(seconds: list[tuple[int, int, float, float]]) -> CallQuality | None:
    """Each second: packets missed of 50, in so many runs, delay and jitter in ms."""
    watch, due, missed, runs = QualityWatch("ulaw"), 0, 0, 0
    stats = TransportStats()
    for lost, lost_runs, delay_ms, jitter_ms in seconds:
        due, missed, runs = due + 50, missed + lost, runs + lost_runs
        stats = TransportStats(
            packets_in=due - missed,
            due=due,
            missed=missed,
            missed_runs=runs,
            delay_ms=delay_ms,
            jitter_ms=jitter_ms,
        )
        watch.sample(stats)
    return watch.result(stats)


CALM = (0, 0, 40.0, 2.0)


def test_delay_and_jitter_are_those_of_the_whole_call() -> None:
    rated = watched([(0, 0, 120.0, 30.0)] * 20 + [CALM] * 60)
    assert rated is not None
    assert rated.whole.delay_ms == pytest.approx(20 + 60)
    assert (rated.jitter_ms, rated.most_jitter_ms) == (9.0, 30.0)


def test_the_worst_ten_seconds_are_found_wherever_they_are() -> None:
    rated = watched([CALM] * 33 + [(5, 5, 40.0, 2.0)] * 10 + [CALM] * 50)
    assert rated is not None
    assert rated.worst.loss == pytest.approx(0.1)
    assert rated.whole.loss == pytest.approx(50 / (93 * 50))
    assert rated.whole.mos - rated.worst.mos > 0.5


def test_bursts_are_told_from_random_loss() -> None:
    random, bursts = watched([(5, 5, 40.0, 2.0)] * 30), watched([(5, 1, 40.0, 2.0)] * 30)
    assert random is not None
    assert bursts is not None
    assert random.whole.burst_ratio == 1.0
    assert bursts.whole.burst_ratio == pytest.approx(4.5)
    assert random.whole.mos > bursts.whole.mos


def test_a_short_call_is_its_own_worst_moment() -> None:
    rated = watched([(2, 2, 40.0, 2.0)] * 4)
    assert rated is not None
    assert rated.worst == rated.whole


def test_a_few_packets_in_a_long_silence_are_no_worst_moment() -> None:
    watch = QualityWatch("ulaw")
    stats = TransportStats(packets_in=500, due=500)
    for second in range(30):
        # comfort noise twice a second, a third of it lost
        stats = TransportStats(
            packets_in=500 + second, due=500 + 2 * second, missed=second // 2, missed_runs=second // 2
        )
        watch.sample(stats)
    rated = watch.result(stats)
    assert rated is not None
    assert rated.worst == rated.whole


def test_nothing_heard_nothing_rated() -> None:
    assert QualityWatch("ulaw").result(TransportStats()) is None
