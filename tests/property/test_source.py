"""The source guard under any packets."""

from hypothesis import given
from hypothesis import strategies as st

from media_bridge.rtp import RtpPacket
from media_bridge.source import SourceGuard, Verdict

packets = st.builds(
    RtpPacket,
    payload_type=st.sampled_from([0, 0, 0, 8, 13, 101]),
    sequence=st.one_of(st.integers(0, 300), st.integers(0, 0xFFFF)),
    timestamp=st.integers(0, 0xFFFFFFFF),
    ssrc=st.sampled_from([1, 1, 2]),
    payload=st.just(b"x"),
)


@given(st.lists(packets, max_size=80))
def test_counts_agree_and_no_packet_is_handed_on_twice(arrivals: list[RtpPacket]) -> None:
    guard = SourceGuard(0)
    since_restart: list[tuple[int, int]] = []
    for number, packet in enumerate(arrivals):
        verdict = guard.accept(packet, number * 0.02)
        if verdict is Verdict.RESTART:
            since_restart = [(held.ssrc, held.sequence) for held, _ in guard.held]
        elif verdict is Verdict.ACCEPT:
            since_restart.append((packet.ssrc, packet.sequence))
        assert len(set(since_restart[-100:])) == len(since_restart[-100:])
        assert {ssrc for ssrc, _ in since_restart} <= {guard.stats.ssrc}
    stats = guard.stats
    assert sum(stats.verdicts.values()) == len(arrivals)
    assert 0 <= stats.received <= stats.expected
    assert stats.lost == stats.expected - stats.received
    assert stats.jitter_ms >= 0


@given(st.permutations(range(60)), st.integers(0, 0xFFFF))
def test_any_order_of_a_streams_packets_is_accepted_whole(order: list[int], first: int) -> None:
    guard = SourceGuard(0)
    for number in (0, 1):
        guard.accept(RtpPacket(0, (first + number) & 0xFFFF, 0, 1, b"x"), 0.0)
    verdicts = {guard.accept(RtpPacket(0, (first + 2 + n) & 0xFFFF, 0, 1, b"x"), 0.0) for n in order}
    assert verdicts == {Verdict.ACCEPT}
    assert guard.stats.lost == 0
