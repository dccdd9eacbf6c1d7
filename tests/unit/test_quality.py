"""The E-model against the values that ITU-T published, and what it makes of a call's counts."""

import random

import pytest

from media_bridge.arrivals import Arrivals
from media_bridge.quality import (
    CODINGS,
    Quality,
    burst_ratio,
    delay_impairment,
    loss_impairment,
    mean_opinion_score,
    quality,
    transmission_rating,
)
from media_bridge.settings import Codec
from media_bridge.stats import TransportStats


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

    def test_wideband_is_rated_on_its_own_scale(self) -> None:
        # G.107.1: 129 without any impairment, 13 less for G.722 at 64 kbit/s
        assert transmission_rating(0, 0, coding=CODINGS["slin16"]) == 129
        assert transmission_rating(0, 0, coding=CODINGS["g722"]) == 116
        assert loss_impairment(0.05, coding=CODINGS["g722"]) == pytest.approx(13 + 82 * 5 / (5 + 25.1))

    @pytest.mark.parametrize(
        ("missed", "runs", "due", "ratio"),
        # the mean run over that of random loss, 1 / (1 - loss)
        [(0, 0, 1000, 1), (1, 1, 1000, 1), (100, 90, 1000, 1), (100, 20, 1000, 4.5), (10, 1, 1000, 9.9)],
    )
    def test_burst_ratio(self, missed: int, runs: int, due: int, ratio: float) -> None:
        assert burst_ratio(missed, runs, due) == pytest.approx(ratio)

    def test_random_loss_has_a_burst_ratio_near_one(self) -> None:
        rng = random.Random(1)
        arrivals = Arrivals()
        for number in range(50_000):
            if rng.random() >= 0.1:
                arrivals.note(number & 0xFFFF)
        due, missed, runs = arrivals.loss()
        assert burst_ratio(missed, runs, due) == pytest.approx(1, abs=0.03)


def rated(codec: Codec = "ulaw", *, missed: int = 0, runs: int = 1, delay_ms: float = 40) -> Quality:
    stats = TransportStats(packets_in=1, due=1000, missed=missed, missed_runs=runs, delay_ms=delay_ms)
    found = quality(stats, codec)
    assert found is not None
    return found


class TestCall:
    @pytest.mark.parametrize("codec", ["ulaw", "alaw", "slin"])
    def test_a_clean_call_is_as_good_as_the_telephone_gets(self, codec: Codec) -> None:
        clean = rated(codec)
        assert (clean.loss, clean.burst_ratio, clean.delay_ms, clean.rating) == (0, 1, 60, 93.2)

    def test_wideband_calls(self) -> None:
        assert rated("slin16").mos == 4.5
        assert rated("g722").mos == pytest.approx(4.34, abs=0.01)

    @pytest.mark.parametrize("codec", ["ulaw", "slin16", "g722"])
    def test_loss_delay_and_bursts_each_lower_it(self, codec: Codec) -> None:
        clean, lossy = rated(codec), rated(codec, missed=50, runs=50)
        assert clean.mos > lossy.mos > rated(codec, missed=50, runs=10).mos
        assert clean.mos - rated(codec, delay_ms=280).mos > 0.15

    def test_a_call_of_which_nothing_was_heard_is_not_rated(self) -> None:
        assert quality(TransportStats(packets_out=500), "ulaw") is None
