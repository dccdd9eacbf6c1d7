"""The figures of benchmarks.media: what goes into a row, and what the RESULT line says of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.media_load.callers import Heard, milliseconds
from benchmarks.media_load.rows import HEADER, OURS, Cost, Row, cells, result, row

SENT: Mapping[str, Any] = {
    "sent": 10_000,
    "missing": 3,
    "mute": 0,
    "spoken": 4000,
    "late_ms": {"p50": 0.1, "p99": 0.4, "max": 2.0},
    "gap_ms": {"p50": 20.0, "p99": 21.5, "max": 30.0},
}
SAID: Mapping[str, Any] = {"heard": 9999, "utterances": 60, "underruns": 2}


def of(calls: int = 200, name: str = OURS, cores: float = 0.8, **changed: Any) -> Row:
    return replace(row(name, calls, 30.0, SENT, [SAID], Cost(cores, 20.0)), **changed)


class TestRow:
    def test_what_was_measured(self) -> None:
        it = row(OURS, 20, 30.0, SENT, [SAID], Cost(0.1, 4.0))
        assert (it.processes, it.calls, it.core_pct, it.core_pct_per_call) == (1, 20, 10.0, 0.5)
        assert (it.rss_mib_per_call, it.lost_out, it.lost_in, it.lost, it.underruns) == (0.2, 3, 1, 4, 2)
        assert (it.utterances_per_call_min, it.speaking, it.carried, it.note) == (6.0, 0.4, True, "")
        assert len(cells(it)) == len(HEADER)

    def test_processes_are_added_up(self) -> None:
        halves = [
            {"heard": 5000, "utterances": 31, "underruns": 2},
            {"heard": 4990, "utterances": 29, "underruns": 1},
        ]
        it = row(OURS, 20, 30.0, SENT, halves, Cost(0.2, 4.0))
        assert (it.processes, it.lost_in, it.underruns, it.utterances_per_call_min) == (2, 10, 3, 6.0)

    def test_what_one_does_not_know_nobody_knows(self) -> None:
        it = row(OURS, 20, 30.0, SENT, [SAID, {"heard": None, "utterances": 1}], Cost(0.2, 4.0))
        assert (it.lost_in, it.lost, it.underruns) == (None, None, None)

    @pytest.mark.parametrize(
        ("sent", "note"),
        [
            ({"late_ms": {"p50": 0.1, "p99": 5.1, "max": 9.0}}, "the callers were late themselves"),
            ({"mute": 2}, "2 calls never spoke"),
            ({"spoken": 1000}, "more than it could carry"),
            ({"sent": 11_000}, "more than it could carry"),
            ({"missing": 101}, "more than it could carry"),
            ({"broken": 1}, "more than it could carry; 1 calls were cut"),
        ],
    )
    def test_what_is_noted(self, sent: dict[str, Any], note: str) -> None:
        it = row(OURS, 20, 30.0, {**SENT, **sent}, [SAID], Cost(0.1, 4.0))
        assert note in it.note
        assert it.carried is ("carry" not in note)

    def test_of_a_call_that_was_never_heard_nothing_is_known_to_be_lost(self) -> None:
        it = row(OURS, 20, 30.0, {**SENT, "mute": 1, "missing": 0}, [SAID], Cost(0.1, 4.0))
        assert (it.lost_out, it.lost) == (None, None)


class TestResult:
    def test_its_keys_in_their_order(self) -> None:
        assert list(result([of()])) == [
            "calls",
            "core_pct_per_call",
            "gap_p50_ms",
            "gap_p99_ms",
            "lost",
            "underruns",
            "peer",
            "peer_core_pct_per_call",
        ]

    def test_of_200_calls_or_the_nearest_number(self) -> None:
        rows = [of(calls) for calls in (1, 50, 200, 400)]
        assert result(rows)["calls"] == 200
        assert result(rows[:2])["calls"] == 50
        assert result([rows[0], rows[3]])["calls"] == 1

    @pytest.mark.parametrize(
        ("out", "into", "lost"), [(1, 2, 3), (0, 0, 0), (None, 0, "-"), (0, None, "-"), (None, None, "-")]
    )
    def test_what_is_not_known_is_not_nothing(self, out: int | None, into: int | None, lost: object) -> None:
        assert result([of(lost_out=out, lost_in=into)])["lost"] == lost
        assert result([of(underruns=None)])["underruns"] == "-"
        assert result([of(gap_ms=None)])["gap_p99_ms"] == "-"

    def test_its_peer_is_the_cheapest_at_the_most_calls_it_carried(self) -> None:
        rows = [
            of(),
            of(50, "dear", 2.0),
            of(100, "cheap", 0.3),
            of(200, "cheap", 0.1, carried=False),
            of(400, "cheap", 0.1),
        ]
        found = result(rows)
        assert (found["peer"], found["peer_core_pct_per_call"]) == ("cheap", 0.3)
        assert result([of()])["peer"] == "-"

    def test_more_processes_stand_behind_the_one(self) -> None:
        two = of(cores=0.9, processes=2, gap_ms={"p50": 20.0, "p99": 20.9, "max": 22.0})
        found = result([two, of(), of(50, processes=4)])
        assert (found["core_pct_per_call"], found["gap_p99_ms"]) == (0.4, 21.5)
        assert list(found.items())[-3:] == [
            ("processes", 2),
            ("processes_core_pct_per_call", 0.45),
            ("processes_gap_p99_ms", 20.9),
        ]


class TestHeard:
    """What callers make of the packets that came."""

    @staticmethod
    def heard(*packets: tuple[float, int, int]) -> Heard:
        it = Heard()
        stamps, sequences, timestamps = zip(*packets, strict=True)
        it.add(np.array(stamps), np.array(sequences, np.uint16), np.array(timestamps, np.uint32))
        return it

    def test_a_steady_stream_over_both_wraps(self) -> None:
        it = self.heard((0.0, 65535, 2**32 - 160), (0.02, 0, 0), (0.046, 1, 160))
        report = it.report()
        assert (it.missing, it.doubled, it.unsteady, it.received, it.mute) == (0, 0, 0, 3, 0)
        assert (report["over_25_ms"], report["gap_ms"]) == (1, {"p50": 23.0, "p99": 25.94, "max": 26.0})

    def test_a_missing_a_doubled_and_a_late_packet(self) -> None:
        it = self.heard((0.0, 1, 0), (0.02, 3, 320), (0.02, 3, 320), (0.04, 2, 160), (0.06, 5, 640))
        assert (it.missing, it.doubled) == (1, 1)

    def test_a_timestamp_that_is_no_frame_on(self) -> None:
        assert self.heard((0.0, 1, 0), (0.02, 2, 320)).unsteady == 0, "a frame was left out"
        assert self.heard((0.0, 1, 0), (0.02, 2, 161)).unsteady == 1
        assert self.heard((0.0, 1, 320), (0.02, 2, 160)).unsteady == 1

    def test_a_stream_that_stops_half_way_or_begins_late_is_a_gap_and_lacks_what_was_due(self) -> None:
        it = Heard()

        def add(first: int, last: int, since: float | None = 0.0) -> None:
            numbers = np.arange(first, last)
            stamps = (numbers * 0.02 + 0.001).astype(np.float64)
            it.add(stamps, numbers.astype(np.uint16), (160 * numbers).astype(np.uint32), since, 10.0)

        add(-10, 501, since=None)
        add(0, 500)
        assert (it.missing, it.report()["gap_ms"]) == (0, {"p50": 20.0, "p99": 20.0, "max": 20.0})
        add(0, 250)
        assert (it.missing, it.mute) == (250, 0)
        assert it.report()["gap_ms"] == {"p50": 20.0, "p99": 20.0, "max": 5019.0}
        add(400, 500)
        assert it.missing == 250 + 400
        assert milliseconds(np.concatenate(it.gaps))["max"] == 8001.0

    def test_a_stream_that_was_never_heard(self) -> None:
        assert self.heard((0.0, 1, 0)).mute == 1
        assert milliseconds(np.zeros(0)) == {"p50": 0.0, "p99": 0.0, "max": 0.0}
