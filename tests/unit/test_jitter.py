"""A steady 20 ms timeline from packets that are late, lost, doubled or out of order."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from media_bridge.jitter import Frame, JitterBuffer, Lost, Wait
from media_bridge.rtp import RtpPacket, build, parse
from media_bridge.settings import JitterSettings
from tests.support.network import Hearing, hear, packet, stream
from tests.support.relay import Impairment, Network


def at_second(values: list[float], second: float) -> float:
    return values[round(second * 50)]


def offsets(hearing: Hearing) -> set[int]:
    """By how many ticks each frame came after its place; one value is an unbroken timeline."""
    return {(tick - number) % 251 for tick, number in hearing.numbers()}


def test_a_calm_stream_is_delayed_by_the_least_and_complete() -> None:
    hearing = hear(stream(10), 10.5)
    assert hearing.shape.strip("LW") == "F" * 500
    assert all(30 <= delay <= 60 for delay in hearing.delay_ms[10:490])
    assert hearing.buffer.stats.target_ms == 40


def test_before_the_stream_there_is_nothing_to_conceal() -> None:
    assert hear([], 1).shape == "W" * 50


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.2])
def test_loss_never_adds_delay_and_each_lost_frame_is_concealed(share: float) -> None:
    arrivals = stream(60, lost=lambda rng, number: rng.random() < share)
    hearing = hear(arrivals, 59)
    stats = hearing.buffer.stats
    assert stats.target_ms == 40
    assert max(hearing.delay_ms) < 60
    assert len(offsets(hearing)) == 1
    assert stats.lost == hearing.shape.count("L")
    assert hearing.shape.strip("W").count("W") == 0
    assert (stats.inserted, stats.dropped) == (0, 0)


def test_one_lost_packet_costs_one_frame() -> None:
    hearing = hear(stream(2, lost=lambda rng, number: number == 50), 1.9)
    assert hearing.shape.count("L") == 1


def test_neighbours_in_the_wrong_order_are_put_right() -> None:
    arrivals = stream(10, delay_s=lambda rng, at: 0.022 if rng.random() < 0.1 else 0.001)
    hearing = hear(arrivals, 9.9)
    assert "L" not in hearing.shape
    assert len(offsets(hearing)) == 1


def test_packets_three_places_late_are_put_right_once_that_is_known() -> None:
    arrivals = stream(30, delay_s=lambda rng, at: 0.062 if rng.random() < 0.1 else 0.001)
    hearing = hear(arrivals, 29.9)
    assert "L" not in hearing.shape[100:]
    assert hearing.buffer.stats.late <= 3


def reordered(every: int, by: int = 3, seconds: int = 60) -> list[tuple[float, RtpPacket]]:
    """Every so many packets one arrives behind the next `by`."""
    network = Network(Impairment(reorder_every=every, reorder_by=by), seed=1)
    arrivals = []
    for number in range(seconds * 50):
        arrived = network.carry(build(packet(number)), number * 0.02 + 0.001)
        arrivals += [(at, parse(datagram)) for at, datagram in arrived]
    return arrivals


@pytest.mark.parametrize("every", [5, 10, 25, 40])
@pytest.mark.parametrize("phase_ms", [1, 8, 15])
def test_steady_reordering_by_three_places_conceals_nothing_after_its_first_second(
    every: int, phase_ms: int
) -> None:
    hearing = hear(reordered(every), 59.9, phase_s=phase_ms / 1000)
    assert "L" not in hearing.shape[every + 50 : -5]
    assert hearing.buffer.stats.late <= 1


@pytest.mark.parametrize("every", [100, 200])
@pytest.mark.parametrize("phase_ms", [1, 8, 15])
def test_a_late_packet_every_few_seconds_does_not_move_the_delay_to_and_fro(
    every: int, phase_ms: int
) -> None:
    hearing = hear(reordered(every), 59.9, phase_s=phase_ms / 1000)
    assert hearing.shape[50:-5].count("L") <= 8
    assert hearing.buffer.stats.inserted <= 4


def test_packets_ten_places_late_are_counted_and_never_played() -> None:
    arrivals = stream(30, delay_s=lambda rng, at: 0.202 if rng.random() < 0.03 else 0.001)
    hearing = hear(arrivals, 29.9)
    numbers = [number for _, number in hearing.numbers()]
    assert hearing.buffer.stats.late == sum(1 for at, p in arrivals if at - p.timestamp / 8000 > 0.2)
    assert all((later - earlier) % 251 < 20 for earlier, later in pairwise(numbers))


def test_doubled_packets_do_not_stretch_time() -> None:
    once = stream(10)
    hearing = hear(once + [(at + 0.003, doubled) for at, doubled in once], 9.9)
    assert hearing.buffer.stats.duplicate == 495
    assert hearing.shape.strip("W").strip("F") == ""
    assert len(offsets(hearing)) == 1


def uniform(rng: Random, at: float) -> float:
    return rng.random() * 0.06


def normal(rng: Random, at: float) -> float:
    return 0.06 + min(0.05, max(-0.05, rng.gauss(0, 0.02)))


def pareto(rng: Random, at: float) -> float:
    return min(0.1, 0.01 * (rng.paretovariate(2) - 1))


@pytest.mark.parametrize("jitter", [uniform, normal, pareto])
def test_the_delay_rises_within_a_second_of_jitter_and_falls_within_ten_of_calm(
    jitter: Callable[[Random, float], float],
) -> None:
    calm = 0.06 if jitter is normal else 0.0
    arrivals = stream(60, lambda rng, at: jitter(rng, at) if 10 <= at < 30 else calm + rng.random() * 0.002)
    hearing = hear(arrivals, 60)
    late = [
        at
        for at, arrived in arrivals
        if 11 <= arrived.timestamp / 8000 < 30 and arrived.payload[0] not in played_near(hearing, at)
    ]
    assert at_second(hearing.target_ms, 9.9) == 40
    assert at_second(hearing.target_ms, 11) >= 60
    assert len(late) < 0.01 * 19 * 50
    assert at_second(hearing.target_ms, 40) == 40
    assert at_second(hearing.delay_ms, 40) <= 60
    assert max(hearing.target_ms) <= 120


def played_near(hearing: Hearing, at: float) -> set[int]:
    """The numbers of the frames played within a second of an instant."""
    near = hearing.heard[max(0, round(at * 50) - 50) : round(at * 50) + 50]
    return {heard.payload[0] for heard in near if isinstance(heard, Frame)}


@pytest.mark.parametrize("ppm", [200, -200])
def test_clock_drift_slips_a_frame_in_100_seconds_and_no_more(ppm: int) -> None:
    hearing = hear(stream(600, drift_ppm=ppm), 599)
    stats = hearing.buffer.stats
    assert 4 <= stats.inserted + stats.dropped <= 6
    assert all(20 <= delay <= 60.5 for delay in hearing.delay_ms[10:])


@pytest.mark.parametrize("samples", [80, 240, 320])
def test_other_packet_times_are_cut_to_20_ms(samples: int) -> None:
    hearing = hear(stream(5, samples=samples), 4.9)
    assert "L" not in hearing.shape
    assert all(len(heard.payload) == 160 for heard in hearing.heard if isinstance(heard, Frame))
    assert len(offsets(hearing)) == 1
    whole = [heard.payload for heard in hearing.heard if isinstance(heard, Frame)]
    assert all(len(set(payload)) == 1 for payload in whole)


@pytest.mark.parametrize("samples", [80, 240])
def test_a_lost_packet_of_another_time_costs_only_its_frames(samples: int) -> None:
    hearing = hear(stream(5, samples=samples, lost=lambda rng, number: number == 51), 4.9)
    assert hearing.shape.count("L") <= 2
    assert len(offsets(hearing)) == 1
    assert hearing.buffer.stats.dropped == hearing.buffer.stats.inserted == 0


def test_sixteen_bit_samples_have_frames_of_320_bytes() -> None:
    buffer = JitterBuffer(JitterSettings(), bytes_per_sample=2)
    for number in range(5):
        buffer.put(RtpPacket(10, number, number * 160, 1, bytes([number]) * 320), number * 0.02)
    assert [buffer.take(0.04 + tick * 0.02) for tick in range(2)] == [Frame(b"\0" * 320), Frame(b"\1" * 320)]


@pytest.mark.parametrize("pause_ms", [40, 200, 490, 3000])
def test_suppressed_silence_keeps_its_time_and_is_not_concealed_for_long(pause_ms: int) -> None:
    before = stream(2)
    moved = [
        (at + 2 + pause_ms / 1000, packet(number, sequence=100, timestamp=16_000 + pause_ms * 8))
        for number, (at, _) in enumerate(stream(2))
    ]
    hearing = hear(before + moved, 4 + pause_ms / 1000)
    gap = hearing.shape.strip("LW").strip("F")
    assert len(gap) == pytest.approx(pause_ms / 20, abs=1)
    assert gap.count("L") <= 5
    assert hearing.shape.count("F") >= 195


def test_a_silence_that_is_no_whole_number_of_frames_loses_no_sample() -> None:
    moved = [
        (at + 2.107, packet(number, sequence=100, timestamp=16_000 + 107 * 8))
        for number, (at, _) in enumerate(stream(2))
    ]
    hearing = hear(stream(2) + moved, 4.3)
    frames = [heard.payload for heard in hearing.heard if isinstance(heard, Frame)]
    assert frames == [packet(number).payload for number in [*range(100), *range(100)]]


def test_a_burst_loss_is_conceal_then_sound_again_at_once() -> None:
    hearing = hear(stream(4, lost=lambda rng, number: 100 <= number < 110), 3.9)
    gap = hearing.shape.strip("LW").strip("F")
    assert len(gap) == 10
    assert gap.startswith("LLLLL")
    assert len(offsets(hearing)) == 1


def test_after_the_stream_stops_there_are_a_few_lost_frames_and_then_none() -> None:
    hearing = hear(stream(2), 12)
    after = hearing.shape.strip("W").rsplit("F", 1)[1] + "W" * 3
    assert after.startswith("LLLLLWWW")
    assert hearing.shape.endswith("W" * 450)


def test_the_numbers_may_wrap_anywhere() -> None:
    arrivals = [
        (at, packet(number, sequence=65_500, timestamp=2**32 - 160 * 70))
        for number, (at, _) in enumerate(stream(4))
    ]
    hearing = hear(arrivals, 3.9)
    assert hearing.shape.strip("W").strip("F") == ""
    assert hearing.buffer.stats.rebased == 0


@pytest.mark.parametrize("jump", [4_000_000, -4_000_000, 2**31 - 1, 800_000, -16_000])
def test_a_jump_of_the_timestamps_is_heard_again_soon(jump: int) -> None:
    moved = [
        (at + 2, packet(number, sequence=100, timestamp=(16_000 + jump) & 0xFFFFFFFF))
        for number, (at, _) in enumerate(stream(4))
    ]
    hearing = hear(stream(2) + moved, 5.9)
    assert hearing.shape[100:112].count("F") >= 2
    assert set(hearing.shape[112:]) == {"F"}
    assert hearing.buffer.stats.delay_ms <= 60
    assert hearing.buffer.stats.target_ms == 40


def test_another_source_follows_with_at_most_three_frames_concealed() -> None:
    buffer = JitterBuffer(JitterSettings())
    heard = []
    for tick in range(200):
        now = tick * 0.02
        if tick == 101:
            # two packets of the new source were on probation
            buffer.restart()
            buffer.put(packet(0, ssrc=2, sequence=9000, timestamp=77), now - 0.02)
        stamp = packet(tick) if tick < 100 else packet(tick - 100, ssrc=2, sequence=9000, timestamp=77)
        if tick != 100:
            buffer.put(stamp, now)
        heard.append(buffer.take(now + 0.013))
    shape = "".join(type(each).__name__[0] for each in heard).strip("W")
    assert len(shape.strip("F")) <= 3
    assert shape.count("F") >= 195


def test_a_delay_that_grows_for_good_is_followed() -> None:
    hearing = hear(stream(20, lambda rng, at: 0.201 if at > 10 else 0.001), 20)
    assert set(hearing.shape[500 + 20 : 990]) == {"F"}
    assert hearing.buffer.stats.target_ms == 40


def test_a_delay_that_shrinks_is_worked_off_without_a_hole() -> None:
    hearing = hear(stream(20, lambda rng, at: 0.001 if at > 10 else 0.201), 19.9)
    assert at_second(hearing.delay_ms, 18) <= 60
    assert hearing.buffer.stats.late == 0


def test_a_second_of_silence_on_the_line_and_its_burst_do_not_last() -> None:
    hearing = hear(stream(30, lambda rng, at: max(0.0, 11 - at) if at > 10 else 0.001), 29.9)
    assert set(hearing.shape[560 + 25 :]) == {"F"}
    assert at_second(hearing.delay_ms, 20) <= 60


def test_ticks_that_stood_still_are_made_good() -> None:
    buffer = JitterBuffer(JitterSettings())
    arrivals = stream(20)
    for tick in range(900):
        # the process sleeps 8 s after 2 s, everything waits in the socket
        now = tick * 0.02 + (8 if tick > 100 else 0)
        while arrivals and arrivals[0][0] <= now:
            buffer.put(arrivals.pop(0)[1], now)
        heard = buffer.take(now)
    assert isinstance(heard, Frame | Lost | Wait)
    assert buffer.stats.delay_ms <= 140


def test_an_empty_packet_is_counted_and_nothing_else() -> None:
    buffer = JitterBuffer(JitterSettings())
    buffer.put(RtpPacket(0, 1, 160, 1, b""), 0.0)
    assert buffer.stats.empty == 1
    assert buffer.take(1.0) == Wait()


def test_memory_is_bounded_while_nobody_takes() -> None:
    buffer = JitterBuffer(JitterSettings())
    for number in range(10_000):
        buffer.put(packet(number), number * 0.02)
    assert buffer.stats.overflow == 9_900
