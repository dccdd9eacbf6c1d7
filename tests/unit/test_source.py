"""Which packets are the stream we listen to (RFC 3550 appendix A.1, A.3, A.8)."""

import pytest

from media_bridge.rtp import RtpPacket
from media_bridge.source import SourceGuard, Verdict

A = Verdict.ACCEPT


def voice(sequence: int, ssrc: int = 1, timestamp: int | None = None, payload_type: int = 0) -> RtpPacket:
    stamp = 160 * sequence if timestamp is None else timestamp
    return RtpPacket(payload_type, sequence & 0xFFFF, stamp & 0xFFFFFFFF, ssrc, b"\xff" * 160)


def running(first: int = 10) -> SourceGuard:
    """A guard that has heard packets `first` and `first + 1` of source 1."""
    guard = SourceGuard(0)
    for at, sequence in enumerate((first, first + 1)):
        guard.accept(voice(sequence), at * 0.02)
    return guard


def judge(guard: SourceGuard, *packets: RtpPacket) -> list[Verdict]:
    return [guard.accept(packet, 1 + at * 0.02) for at, packet in enumerate(packets)]


def test_two_packets_in_sequence_make_a_source_and_neither_is_lost() -> None:
    guard = SourceGuard(0)
    assert guard.accept(voice(10), 5.0) is Verdict.PROBATION
    assert guard.accept(voice(11), 5.02) is Verdict.RESTART
    assert guard.held == ((voice(10), 5.0), (voice(11), 5.02))
    assert guard.accept(voice(12), 5.04) is A
    assert guard.stats.received == guard.stats.expected == 3


def test_packets_out_of_sequence_never_make_a_source() -> None:
    guard = SourceGuard(0)
    assert set(judge(guard, *[voice(n) for n in (10, 500, 20, 900)])) == {Verdict.PROBATION}
    assert guard.stats.ssrc is None


def test_another_ssrc_takes_over_after_its_second_packet() -> None:
    guard = running()
    assert judge(guard, voice(900, ssrc=2), voice(901, ssrc=2), voice(902, ssrc=2)) == [
        Verdict.PROBATION,
        Verdict.RESTART,
        A,
    ]
    assert [packet.sequence for packet, _ in guard.held] == [900, 901]
    assert guard.stats.ssrc == 2


def test_a_stray_ssrc_between_the_streams_packets_does_not_take_over() -> None:
    guard = running()
    packets = (voice(900, ssrc=2), voice(12), voice(901, ssrc=2), voice(13))
    assert judge(guard, *packets) == [Verdict.PROBATION, A, Verdict.PROBATION, A]


def test_a_jump_of_20000_is_accepted_with_the_second_packet() -> None:
    guard = running()
    assert judge(guard, voice(20_012), voice(20_013)) == [Verdict.PROBATION, Verdict.RESTART]


@pytest.mark.parametrize(("step", "verdict"), [(2999, A), (3000, Verdict.PROBATION)])
def test_a_gap_counts_as_loss_up_to_max_dropout(step: int, verdict: Verdict) -> None:
    assert judge(running(), voice(11 + step)) == [verdict]


@pytest.mark.parametrize(("back", "verdict"), [(100, A), (101, Verdict.PROBATION)])
def test_a_packet_may_be_late_up_to_max_misorder(back: int, verdict: Verdict) -> None:
    assert judge(running(200), voice(201 + 50), voice(251 - back)) == [A, verdict]


def test_the_wrap_of_the_sequence_is_no_event() -> None:
    guard = running(65_534)
    assert judge(guard, voice(65_536), voice(65_537)) == [A, A]
    assert guard.stats.expected == 4
    assert guard.stats.lost == 0


def test_duplicates_are_found_near_and_far() -> None:
    guard = running()
    judge(guard, *[voice(n) for n in range(12, 112)])
    assert judge(guard, voice(111), voice(110), voice(11)) == [Verdict.DUPLICATE] * 3
    assert guard.stats.verdicts[Verdict.DUPLICATE] == 3
    assert guard.stats.received == 102


def test_a_late_packet_is_no_duplicate_and_no_loss() -> None:
    guard = running()
    assert judge(guard, voice(13), voice(12), voice(12)) == [A, A, Verdict.DUPLICATE]
    assert guard.stats.lost == 0


def test_losses_are_counted_across_a_change_of_source() -> None:
    guard = running()
    judge(guard, voice(15), voice(900, ssrc=2), voice(901, ssrc=2), voice(904, ssrc=2))
    stats = guard.stats
    assert (stats.received, stats.expected, stats.lost, stats.restarts) == (6, 11, 5, 2)


@pytest.mark.parametrize("payload_type", [13, 19, 101])
def test_comfort_noise_and_digits_are_no_voice_and_no_loss(payload_type: int) -> None:
    guard = running()
    packets = (voice(12, payload_type=payload_type), voice(13))
    assert judge(guard, *packets) == [Verdict.NOT_VOICE, A]
    assert guard.stats.lost == 0


def test_a_digit_on_probation_is_handed_on_for_its_number() -> None:
    guard = SourceGuard(0)
    judge(guard, voice(10, payload_type=101), voice(11))
    assert [packet.sequence for packet, _ in guard.held] == [10, 11]


@pytest.mark.parametrize("payload_type", [8, 111, 96])
def test_an_unknown_type_changes_nothing(payload_type: int) -> None:
    guard = running()
    assert judge(guard, voice(12, payload_type=payload_type), voice(12)) == [Verdict.UNKNOWN_TYPE, A]


def test_jitter_is_that_of_the_rfc() -> None:
    guard = SourceGuard(0)
    # every other packet 8 ms late: each change of transit is 8 ms
    for n in range(400):
        guard.accept(voice(n), n * 0.02 + (0.008 if n % 2 else 0.0))
    assert guard.stats.jitter_ms == pytest.approx(8.0, abs=0.01)


def test_a_silent_minute_adds_no_jitter() -> None:
    guard = running()
    guard.accept(voice(12, timestamp=160 * 11 + 60 * 8000), 60.02)
    assert guard.stats.jitter_ms == pytest.approx(0.0, abs=0.01)
