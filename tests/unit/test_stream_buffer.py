"""The buffer for sound without numbers: loss, jitter, gaps and floods."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_bridge.jitter import Frame, Lost, Wait
from media_bridge.settings import JitterSettings
from media_bridge.stream_buffer import StreamBuffer

FRAME = 320
SETTINGS = JitterSettings()


def buffer() -> StreamBuffer:
    return StreamBuffer(SETTINGS, FRAME, 2)


def frame(number: int) -> bytes:
    return number.to_bytes(2) * (FRAME // 2)


def shown(taken: Frame | Lost | Wait) -> int | str:
    match taken:
        case Frame(payload=payload):
            assert len(payload) == FRAME
            return int.from_bytes(payload[:2])
        case Lost():
            return "lost"
        case Wait():
            return "wait"


def play(stream: StreamBuffer, arrivals: dict[int, list[int]], ticks: int) -> list[int | str]:
    """What is taken at each tick; `arrivals`: which frames came just before it."""
    out = []
    for tick in range(ticks):
        for number in arrivals.get(tick, []):
            stream.put(frame(number))
        out.append(shown(stream.take()))
    return out


def steady(frames: int, missing: set[int] = frozenset()) -> dict[int, list[int]]:  # type: ignore[assignment]
    return {n: [n] for n in range(frames) if n not in missing}


def test_a_calm_stream_is_one_frame_behind() -> None:
    stream = buffer()
    assert play(stream, steady(1000), 1000) == ["wait", *range(999)]
    assert stream.stats.lost == stream.stats.dropped == 0


def test_a_lost_packet_is_made_up_for_and_adds_no_delay() -> None:
    stream = buffer()
    out = play(stream, steady(1000, missing={100, 400}), 1000)
    assert out.count("lost") == 1 or out.count("lost") == 2
    # in the end as far behind as before
    assert out[-1] in (998, 999)
    assert [n for n in out if isinstance(n, int)] == [n for n in range(out[-1] + 1) if n not in {100, 400}]


def test_every_tenth_packet_lost_is_a_frame_made_up_for_each() -> None:
    missing = set(range(5, 1000, 10))
    stream = buffer()
    out = play(stream, steady(1000, missing=missing), 1000)
    heard = [n for n in out if isinstance(n, int)]
    assert heard == sorted(heard)
    assert len(heard) >= 1000 - len(missing) - 5
    assert abs(stream.stats.lost - len(missing)) <= 2


def test_jitter_raises_the_delay_and_a_calm_lets_it_fall() -> None:
    chance = random.Random(3)
    arrivals: dict[int, list[int]] = {}
    last = 0
    for n in range(1500):
        late = chance.choice([0, 0, 1, 2, 3]) if n < 500 else 0
        last = max(last, n + late)
        arrivals.setdefault(last, []).append(n)
    stream = buffer()
    out = play(stream, arrivals, 1500)
    assert "lost" not in out[100:500] or out[100:500].count("lost") <= 4
    assert out[499] in range(494, 499)
    assert out[1499] in (1497, 1498, 1499)
    assert stream.stats.overflow == 0


def test_a_gap_is_silence_and_then_the_sound_goes_on() -> None:
    """A key pressed, hold, or silence left out: no packet for 0.4 s."""
    arrivals = steady(50) | {n: [n] for n in range(70, 120)}
    out = play(buffer(), arrivals, 120)
    gap = out[51:71]
    assert gap[:5] == ["lost"] * 5
    assert set(gap[5:]) == {"wait"}
    assert [n for n in out if isinstance(n, int)] == [*range(50), *range(70, 119)]


def test_a_burst_after_a_stall_is_cut_to_its_newest_and_slips_back() -> None:
    arrivals = steady(50) | {100: list(range(50, 101))} | {n: [n] for n in range(101, 500)}
    stream = buffer()
    out = play(stream, arrivals, 500)
    assert stream.stats.overflow > 0
    assert out[-1] in (497, 498)
    assert out[100] == 101 - 16


@pytest.mark.parametrize("size", [1, 7, 33, 160, 1000, 6400])
def test_messages_of_any_size_make_whole_frames(size: int) -> None:
    stream = StreamBuffer(JitterSettings(max_ms=500), FRAME, 1)
    sound = b"".join(frame(n) for n in range(20))
    for at in range(0, len(sound), size):
        stream.put(sound[at : at + size])
    assert [shown(stream.take()) for _ in range(20)] == list(range(20))


def test_half_a_sample_is_dropped_and_shifts_nothing() -> None:
    stream = buffer()
    stream.put(frame(1) + b"x")
    stream.put(b"y")
    stream.put(frame(2))
    assert [shown(stream.take()), shown(stream.take())] == [1, 2]
    assert stream.stats.empty == 1


@given(st.lists(st.integers(0, 5000) | st.none(), max_size=400))
def test_memory_is_bounded_and_every_tick_has_its_frame(steps: list[int | None]) -> None:
    stream = buffer()
    for size in steps:
        if size is None:
            taken = stream.take()
            assert not isinstance(taken, Frame) or len(taken.payload) == FRAME
        else:
            stream.put(bytes(size))
        assert len(stream._waiting) <= (16 + 1) * FRAME
