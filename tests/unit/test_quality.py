"""The E-model against the values that ITU-T published, and what it makes of a call's counts."""

import pytest

from media_bridge.quality import (
    delay_impairment,
    loss_impairment,
    mean_opinion_score,
    quality,
    transmission_rating,
)
from media_bridge.stats import MediaStats


class TestModel:
    def test_the_default_connection(self) -> None:
        assert transmission_rating(loss=0, delay_ms=0) == 93.2
        assert mean_opinion_score(93.2) == pytest.approx(4.41, abs=0.005)

    @pytest.mark.parametrize(
        ("rating", "mos"),
        # G.107 annex B, table B.1: the lower limits of the classes of users' satisfaction
        [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)],
    )
    def test_the_classes_of_satisfaction(self, rating: float, mos: float) -> None:
        assert mean_opinion_score(rating) == pytest.approx(mos, abs=0.011)

    @pytest.mark.parametrize(("rating", "mos"), [(-5, 1), (0, 1), (3, 1), (100, 4.5), (120, 4.5)])
    def test_its_ends(self, rating: float, mos: float) -> None:
        assert mean_opinion_score(rating) == mos

    @pytest.mark.parametrize(
        ("percent", "impairment"),
        # 95 * Ppl / (Ppl + 25.1)
        [(0, 0), (1, 3.640), (2, 7.011), (5, 15.781), (10, 27.066), (20, 42.129)],
    )
    def test_random_loss_of_g711_with_concealment(self, percent: float, impairment: float) -> None:
        assert loss_impairment(percent / 100) == pytest.approx(impairment, abs=0.001)

    @pytest.mark.parametrize(("percent", "mos"), [(1, 4.33), (5, 3.92), (10, 3.41)])
    def test_what_loss_costs_the_listener(self, percent: float, mos: float) -> None:
        assert mean_opinion_score(transmission_rating(percent / 100, 60)) == pytest.approx(mos, abs=0.01)

    def test_bursts_are_worse_than_random_loss(self) -> None:
        assert loss_impairment(0.05, burst_ratio=2) == pytest.approx(95 * 5 / (2.5 + 25.1))
        assert loss_impairment(0.05, burst_ratio=2) > loss_impairment(0.05)

    @pytest.mark.parametrize(
        ("delay_ms", "impairment"),
        [(0, 0), (100, 0), (150, 0.164), (200, 3.040), (300, 14.808), (400, 24.076)],
    )
    def test_delay_without_echo(self, delay_ms: float, impairment: float) -> None:
        assert delay_impairment(delay_ms) == pytest.approx(impairment, abs=0.06)

    def test_all_lost_is_the_worst_there_is(self) -> None:
        assert mean_opinion_score(transmission_rating(1, 400)) == 1


class TestCall:
    def test_a_clean_call_is_as_good_as_the_telephone_gets(self) -> None:
        # the frames made up after the caller has hung up are no loss
        rated = quality(
            MediaStats(packets_in=1500, expected=1500, concealed=5, jitter_ms=0.4, delay_ms=40), "rtp"
        )
        assert rated is not None
        assert (rated.loss, rated.delay_ms, rated.rating) == (0, 60, 93.2)

    def test_what_comes_too_late_is_lost_to_the_listener(self) -> None:
        rated = quality(MediaStats(packets_in=960, expected=1000, lost=40, late=10), "rtp")
        assert rated is not None
        assert rated.loss == 0.05

    def test_packets_that_came_twice_or_are_no_voice_dilute_no_loss(self) -> None:
        rated = quality(MediaStats(packets_in=2 * 950 + 100, expected=1000, lost=50), "rtp")
        assert rated is not None
        assert rated.loss == 0.05

    def test_where_nothing_is_numbered_the_frames_made_up_count(self) -> None:
        rated = quality(MediaStats(packets_in=950, concealed=50), "websocket")
        assert rated is not None
        assert rated.loss == 0.05

    def test_a_long_delay_lowers_it(self) -> None:
        near = quality(MediaStats(packets_in=1000, expected=1000, delay_ms=60), "rtp")
        far = quality(MediaStats(packets_in=1000, expected=1000, delay_ms=280), "rtp")
        assert near is not None
        assert far is not None
        assert near.mos - far.mos > 0.4

    def test_a_call_of_which_nothing_was_heard_is_not_rated(self) -> None:
        assert quality(MediaStats(packets_out=500), "rtp") is None
