"""Calls of a load test, judged by captures in which every instant is known."""

from math import inf

import pytest

from benchmarks.load_kit.pcap import HEADER, PcapError, datagrams
from benchmarks.load_kit.ruler import Outcome, judge
from caller_phone.errors import SipError
from tests.support.load_capture import ASTERISK, SIPP, Span, call

# a ruler of 10 ms frames tells the first and last loud sample of a 500 Hz tone to a quarter of its period
EXACT_MS = 1.0

QUESTION = (3.0, 5.0)
GREETING = (0.2, 1.5)


def about(ms: float) -> object:
    return pytest.approx(ms, abs=EXACT_MS)


def test_a_question_and_its_answer() -> None:
    it = judge(call([QUESTION], [GREETING, (5.6, 9.0)], setup_s=0.031))
    assert (it.outcome, it.why) == (Outcome.FINISHED, "")
    assert it.setup_ms == about(31)
    assert it.greeting_ms == about(200)
    (said,) = it.utterances
    assert said.response_ms == about(600)
    assert (said.early, said.cut_ms, said.answered(3.0)) == (False, None, True)
    assert said.waited_s == pytest.approx(7.0, abs=0.01)
    assert it.seconds == pytest.approx(12.031, abs=0.001)


def test_several_questions_each_with_its_own_answer() -> None:
    it = judge(call([(2, 3), (6, 7), (10, 11)], [GREETING, (3.5, 5), (7.25, 9), (11.9, 14)], seconds=16))
    assert [one.response_ms for one in it.utterances] == [about(500), about(250), about(900)]


def test_an_answer_that_comes_after_the_next_question_is_none() -> None:
    it = judge(call([(2, 3), (8, 9)], [GREETING, (9.5, 11)], seconds=14))
    first, second = it.utterances
    assert (first.response_ms, first.answered(4.0), second.answered(4.0)) == (None, False, True)


def test_who_does_not_wait_cannot_say_that_there_was_no_answer() -> None:
    it = judge(call([(2, 3), (9.8, 12)], [GREETING, (3.4, 7)], seconds=10))
    assert [one.answered(4.0) for one in it.utterances] == [True, None]


def test_an_interruption_cuts_the_bot() -> None:
    it = judge(call([(2, 3), (5, 6.5)], [GREETING, (3.5, 5.24), (7.1, 9)]))
    first, interruption = it.utterances
    assert first.cut_ms is None
    assert interruption.cut_ms == about(240)
    assert interruption.response_ms == about(600)


@pytest.mark.parametrize(
    "more", [[], [(8.6, 9.5)]], ids=["silent then", "and goes on with its next sentence"]
)
def test_a_bot_that_talks_on_has_a_large_cut_and_gives_no_answer(more: list[Span]) -> None:
    _, interruption = judge(call([(2, 3), (5, 6.5)], [GREETING, (3.5, 8.0), *more])).utterances
    assert interruption.cut_ms == about(3000)
    assert (interruption.response_ms, interruption.early) == (None, False)
    assert interruption.answered(3.0) is False
    assert interruption.response(3.0) == inf


def test_what_goes_into_the_percentiles() -> None:
    answered, unanswered, hasty = judge(
        call([(2, 3), (6, 7), (11.2, 11.9)], [GREETING, (3.5, 5)], seconds=12)
    ).utterances
    assert [one.response(4.0) for one in (answered, unanswered, hasty)] == [about(500), inf, None]
    (early,) = judge(call([(2, 5)], [GREETING, (4, 6), (6.5, 8)])).utterances
    assert (early.response_ms, early.response(4.0)) == (about(1500), None), "a sentence, not the answer"


def test_a_bot_that_speaks_into_the_question_is_early() -> None:
    (said,) = judge(call([(2, 5)], [GREETING, (4, 7)])).utterances
    assert (said.early, said.response_ms, said.answered(4.0)) == (True, None, True)


@pytest.mark.parametrize(
    ("how", "outcome", "why"),
    [
        ({"bye": "asterisk", "cause": 17}, Outcome.REFUSED, ""),
        ({"bye": "asterisk", "cause": 41}, Outcome.LOST, "hung up on, cause 41"),
        ({"bye": "asterisk"}, Outcome.LOST, "hung up on, cause None"),
        ({"bye": None}, Outcome.LOST, "no BYE"),
        ({"status": 603}, Outcome.LOST, "rejected with 603"),
        ({"status": 180}, Outcome.LOST, "never answered"),
    ],
)
def test_how_a_call_ends(how: dict[str, object], outcome: Outcome, why: str) -> None:
    it = judge(call([(1, 2)], [GREETING], seconds=4, **how))  # type: ignore[arg-type]
    assert (it.outcome, it.why) == (outcome, why)
    # who was refused heard no bot
    assert outcome is not Outcome.REFUSED or it.utterances == ()


def test_packets_that_are_late_or_lost() -> None:
    # every second packet is 8 ms late: gaps of 28 and 12, and where four are missing 100
    it = judge(call([QUESTION], [GREETING], bot_jitter_s=(0.0, 0.008), lost=range(100, 104)))
    assert it.packets.missing == 4
    assert max(it.gaps_ms) == pytest.approx(92, abs=0.1)
    assert sorted(it.gaps_ms)[len(it.gaps_ms) // 4] == pytest.approx(12, abs=0.1)
    assert max(it.caller_gaps_ms) == pytest.approx(20, abs=0.1)


def test_a_stream_that_stops_before_the_end_is_a_gap_and_lacks_what_was_due() -> None:
    it = judge(call([QUESTION], [GREETING], seconds=12, lost=range(300, 600)))
    assert it.outcome is Outcome.FINISHED
    assert it.packets.missing == pytest.approx(300, abs=2)
    assert max(it.gaps_ms) == it.packets.gap_max_ms == pytest.approx(6020, abs=1)
    whole = judge(call([QUESTION], [GREETING], seconds=12))
    assert whole.packets.missing == 0
    assert max(whole.gaps_ms) == pytest.approx(20, abs=0.1)


def test_late_packets_move_a_response_by_no_more_than_they_are_late() -> None:
    it = judge(call([QUESTION], [GREETING, (5.6, 9.0)], bot_jitter_s=(0.0, 0.03, 0.01)))
    assert it.utterances[0].response_ms is not None
    assert 599 <= it.utterances[0].response_ms <= 631


def test_a_capture_that_was_cut_off_is_read_up_to_there() -> None:
    whole = call([QUESTION], [GREETING])
    assert len(list(datagrams(whole[:-5]))) == len(list(datagrams(whole))) - 1
    assert judge(whole[: len(whole) // 2]).outcome is Outcome.LOST


def test_what_is_no_capture_of_a_call_is_said() -> None:
    with pytest.raises(PcapError, match="too short"):
        judge(b"")
    with pytest.raises(PcapError, match="raw IP"):
        judge(b"\0" * 24)
    with pytest.raises(SipError, match="without an INVITE"):
        judge(HEADER)


def test_both_ends_are_told_apart() -> None:
    packets = list(datagrams(call([QUESTION], [GREETING])))
    assert (packets[0].source, packets[0].target) == (SIPP, ASTERISK)
    assert packets[0].data.startswith(b"INVITE ")
