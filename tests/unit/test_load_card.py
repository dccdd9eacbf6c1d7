"""The capacity card: what stands in it, and what it calls a fault; and SIPp's scenario."""

import os
import re
import socket
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.load import SPEECH, read_clips, rungs_of
from benchmarks.load_kit.card import HEARD, Step, cost_table, faults, heard_row, result
from benchmarks.load_kit.growth import growth_rows
from benchmarks.load_kit.leaks import more_than
from benchmarks.load_kit.parts import Held, Moment, Open, Spent, held_open, spent
from benchmarks.load_kit.plan import in_one_breath
from benchmarks.load_kit.ruler import CallFigures, judge
from benchmarks.load_kit.scenario import injection, scenario, sound_name
from benchmarks.load_kit.soak import losses, places_for
from benchmarks.load_kit.tap import ends_a_call
from caller_phone.rtp import SAMPLE_RATE
from tests.support.load_capture import call

GREETING = (0.2, 1.5)
QUIET = Spent({"Asterisk": 0.3, "call process": 0.5}, 0.1, 2, {"Asterisk": 60.0, "call process": 80.0})
NOTHING = {"channels": 0, "files": 0}


def answered(after_s: float) -> CallFigures:
    return judge(call([(2, 4)], [GREETING, (4 + after_s, 9)]))


UNANSWERED = judge(call([(2, 4)], [GREETING]))
REFUSED = judge(call([(2, 4)], [GREETING], bye="asterisk", cause=17))
LOST = judge(call([(2, 4)], [GREETING, (5, 7)], bye="asterisk", cause=38))


def step(figures: Sequence[CallFigures], places: int = 9, spent: Spent = QUIET, calls: int = 0) -> Step:
    return Step(calls or len(figures), places, figures, spent, 4.0, 0)


class TestSoak:
    def test_why_calls_were_lost_and_when(self) -> None:
        later = replace(LOST, began_s=LOST.began_s + 130)
        assert losses([LOST, later, REFUSED], LOST.began_s) == (
            "Lost: 2 hung up on, cause 38 (minute 0, 2); 1 refused (minute 0)."
        )

    @pytest.mark.parametrize(("calls", "places"), [(1, 3), (16, 20), (32, 40)])
    def test_who_follows_another_caller_has_a_place(self, calls: int, places: int) -> None:
        assert places_for(calls) == places


class TestRows:
    def test_what_callers_had(self) -> None:
        cells = dict(zip(HEARD, heard_row(step([answered(0.5), answered(0.7)])), strict=True))
        assert (cells["calls"], cells["refused"], cells["lost"]) == ("2", 0, 0)
        assert (cells["questions"], cells["missing"], cells["early"]) == (2, 0, 0)
        assert (cells["response p50"], cells["set-up p95"], cells["greeting p95"]) == ("600", "50", "200")
        assert (cells["gap p99"], cells["packets lost"]) == ("20.0", 0)

    def test_an_answer_that_never_came_is_the_longest_and_an_early_one_is_none(self) -> None:
        early = judge(call([(2, 4)], [GREETING, (3, 4.5), (4.6, 6)]))
        cells = dict(
            zip(HEARD, heard_row(step([answered(0.5), answered(0.5), early, UNANSWERED])), strict=True)
        )
        assert (cells["missing"], cells["early"]) == (1, 1)
        assert (cells["response p50"], cells["p95"]) == ("500", "inf")

    def test_a_row_beside_other_work_is_marked(self) -> None:
        noisy = replace(QUIET, others=0.5)
        assert heard_row(step([answered(1)], spent=noisy))[0] == "1 *"
        assert heard_row(step([answered(1)]))[0] == "1"

    def test_what_it_cost(self) -> None:
        header, rows = cost_table([step([answered(1)])])
        assert header == ["calls", "Asterisk % / MiB", "call process % / MiB", "all else %", "machine in use"]
        assert rows == [("1", "30 / 60", "50 / 80", "10", "45%")]

    def test_between_two_moments(self) -> None:
        def at(at_s: float, busy_s: float, cpu_s: float) -> Moment:
            return Moment(at_s, busy_s, {"Asterisk": Held(cpu_s, 50 + at_s, 9, 4)})

        it = spent(at(10, 100, 5), at(14, 106, 7))
        assert (it.cores, it.others, it.mib) == ({"Asterisk": 0.5}, 1.0, {"Asterisk": 64})


class TestResult:
    def test_the_line_holds_what_was_asked_for(self) -> None:
        steps = [step([answered(0.5)]), step([answered(1.0), REFUSED], places=1)]
        assert result(steps, 3) == {
            "calls": 3,
            "failed": 0,
            "response_p95_ms_1": "500",
            "response_p95_ms_32": "-",
            "gap_p99_ms": "20.0",
            "leaked": 3,
        }

    def test_the_largest_step_is_told_too(self) -> None:
        assert result([step([answered(0.5)] * 2)], 0)["response_p95_ms_2"] == "500"


class TestFaults:
    def test_none(self) -> None:
        assert faults([step([answered(0.5), REFUSED], places=1)], NOTHING) == []

    @pytest.mark.parametrize(
        ("figures", "places", "calls", "said"),
        [
            ([answered(0.5), LOST], 9, 2, r"2 calls: 1 lost: hung up on, cause 38 \(1\)"),
            ([answered(0.5)], 9, 2, "2 calls: 1 lost$"),
            ([answered(0.5), REFUSED], 9, 2, "2 calls, 9 places: 1 were refused"),
            ([answered(0.5)] * 2, 1, 2, "2 calls, 1 places: 0 were refused"),
            ([UNANSWERED], 9, 1, "1 calls: 1 questions were never answered"),
        ],
    )
    def test_what_no_load_may_do(
        self, figures: Sequence[CallFigures], places: int, calls: int, said: str
    ) -> None:
        (fault,) = faults([step(figures, places, calls=calls)], NOTHING)
        assert re.match(said, fault)

    def test_apologies_and_silence(self) -> None:
        silent = judge(call([], []))
        assert faults([replace(step([silent]), apologies=2)], NOTHING) == [
            "1 calls: 2 answers were apologies",
            "1 calls: 1 heard no greeting",
        ]

    def test_what_was_left_behind(self) -> None:
        assert faults([], {"channels": 2, "files": 0}) == ["left behind: 2 channels"]


class TestGrowth:
    def test_medians_of_the_thirds_after_the_first_minute(self) -> None:
        # the first minute allocates, then a MiB and a file every 100 s
        moments = [
            Moment(at, 0.0, {"it": Held(at / 10, 10 + at / 100 if at >= 60 else 500, 5 + at // 100, 3)})
            for at in range(0, 360, 10)
        ]
        (it,) = growth_rows(moments)
        assert it.name == it.key == "it"
        assert it.mib[1] - it.mib[0] == pytest.approx(2.0, abs=0.05)
        assert it.files == (6.0, 8.0)
        assert it.threads == (3.0, 3.0)
        assert it.core_pct == pytest.approx(10)

    def test_a_part_that_was_not_there_all_the_time_is_left_out(self) -> None:
        held = Held(1, 1, 1, 1)
        moments = [Moment(0, 0, {"a": held, "b": held}), Moment(5, 0, {"a": held})]
        assert [it.name for it in growth_rows(moments)] == ["a"]
        assert growth_rows(moments[:1]) == []


class TestScenario:
    def test_every_caller_has_a_branch_of_their_own(self) -> None:
        root = ElementTree.fromstring(scenario([5000, 7000, 9000]))
        played = [it.attrib["rtp_stream"] for it in root.iter("exec")]
        assert played == [f"{sound_name(number)},1,0" for number in range(3)]
        waits = [it.attrib["timeout"] for it in root.iter("recv") if "timeout" in it.attrib]
        assert waits == ["5000", "7000", "9000"]
        labels = {it.attrib["id"] for it in root.iter("label")}
        jumps = {it.attrib[key] for it in root.iter() for key in ("next", "ontimeout") if key in it.attrib}
        assert jumps <= labels

    def test_the_injection_names_them_in_turn(self) -> None:
        assert injection(range(2)) == "SEQUENTIAL\n0\n1\n"


class TestTap:
    @pytest.mark.parametrize(
        ("message", "ends"),
        [
            (b"SIP/2.0 200 OK\r\nCSeq: 2 BYE\r\n\r\n", True),
            (b"SIP/2.0 481 Gone\r\nCSeq: 2 BYE\r\n\r\n", True),
            (b"SIP/2.0 603 Decline\r\nCSeq: 1 INVITE\r\n\r\n", True),
            (b"SIP/2.0 200 OK\r\nCSeq: 1 INVITE\r\n\r\n", False),
            (b"SIP/2.0 100 Trying\r\nCSeq: 2 BYE\r\n\r\n", False),
            (b"BYE sip:1000@127.0.0.1 SIP/2.0\r\nCSeq: 2 BYE\r\n\r\n", False),
            (b"SIP/2.0 200 OK\r\n\r\n", False),
        ],
    )
    def test_which_message_ends_a_call(self, message: bytes, ends: bool) -> None:
        assert ends_a_call(message) is ends


class TestLadder:
    def test_the_last_step_is_past_the_limit(self) -> None:
        assert rungs_of([8, 1, 64]) == [1, 8, 64, 72]
        assert rungs_of([2]) == [2, 3]

    def test_fakes_hear_only_questions_in_one_breath(self) -> None:
        tone = np.full(SAMPLE_RATE, 8000, np.int16)
        silence = np.zeros(SAMPLE_RATE // 2, np.int16)
        assert in_one_breath(np.concatenate([silence, tone, silence]))
        assert not in_one_breath(np.concatenate([tone, silence, tone]))
        assert not in_one_breath(silence)

    def test_the_clips_that_come_along_are_enough(self) -> None:
        every, whole = read_clips(SPEECH, one_breath=False), read_clips(SPEECH, one_breath=True)
        assert len(every) == 20
        assert len(whole) >= 6

    def test_a_folder_without_clips_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match=r"needs WAV files of questions .* and no01\.wav"):
            read_clips(tmp_path, one_breath=True)


class TestLeaks:
    def test_ports_and_files_beyond_what_was_there(self) -> None:
        before = {"a": Open(udp=1, tcp=5, files=20), "b": Open(udp=0, tcp=0, files=3)}
        now = {"a": Open(udp=3, tcp=10, files=19), "b": Open(udp=0, tcp=20, files=5)}
        assert more_than(before, before) == {"ports": 0, "connections": 0, "files": 0}
        # one saved by a part is not one lost by another, and some connections are kept alive
        assert more_than(before, now) == {"ports": 2, "connections": 12, "files": 2}

    def test_what_this_process_has_open(self, tmp_path: Path) -> None:
        before = held_open(os.getpid())
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
            socket.create_server(("127.0.0.1", 0)),
            (tmp_path / "file").open("w"),
        ):
            udp.bind(("127.0.0.1", 0))
            now = held_open(os.getpid())
        assert now == Open(before.udp + 1, before.tcp + 1, before.files + 1)
