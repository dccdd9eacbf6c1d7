"""Whatever the network does, a tick is 20 ms of the caller's time."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from media_bridge.jitter import Frame, JitterBuffer, Lost, Wait
from media_bridge.rtp import RtpPacket
from media_bridge.settings import JitterSettings
from tests.support.network import hear, packet
from tests.support.pauses import Sender, voices

PACKETS = 200

# what happens to one packet: lost, or delayed by so many ms, or doubled with so many ms between
fates = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 15), st.none()),
    st.tuples(st.integers(0, 200), st.one_of(st.none(), st.integers(0, 100))),
)


def arrivals_of(pattern: list[tuple[int, int | None] | None]) -> list[tuple[float, RtpPacket]]:
    arrivals = []
    for number in range(PACKETS):
        fate = pattern[number % len(pattern)]
        if fate is None:
            continue
        delay, again = fate
        at = number * 0.02 + delay / 1000
        arrivals.append((at, packet(number, sequence=65_500, timestamp=2**32 - 8000)))
        if again is not None:
            arrivals.append((at + again / 1000, packet(number, sequence=65_500, timestamp=2**32 - 8000)))
    return arrivals


@given(st.lists(fates, min_size=1, max_size=40), st.integers(0, 19))
def test_loss_reorder_and_duplicates_keep_the_timeline(
    pattern: list[tuple[int, int | None] | None], phase_ms: int
) -> None:
    arrivals = arrivals_of(pattern)
    hearing = hear(arrivals, PACKETS * 0.02, phase_s=phase_ms / 1000)
    stats = hearing.buffer.stats
    numbers = hearing.numbers()
    # each frame once, in order, whole
    assert all(later > earlier for (_, earlier), (_, later) in pairwise(numbers))
    assert all(isinstance(h, Lost | Wait) or len(set(h.payload)) == 1 for h in hearing.heard)
    # ticks and frames advance together, but for the slips that were counted
    if numbers and not stats.rebased:
        (tick, number), (last_tick, last_number) = numbers[0], numbers[-1]
        shift = (last_tick - tick) - (last_number - number)
        assert -stats.dropped <= shift <= stats.inserted
    assert stats.target_ms <= 120


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 19))
def test_loss_alone_never_moves_the_timeline(kept: list[bool], phase_ms: int) -> None:
    pattern: list[tuple[int, int | None] | None] = [(1, None) if keep else None for keep in kept]
    hearing = hear(arrivals_of(pattern), PACKETS * 0.02, phase_s=phase_ms / 1000)
    assert len({tick - number for tick, number in hearing.numbers()}) <= 1
    due = [number for _, number in hearing.numbers()]
    sent = [number for number in range(PACKETS) if kept[number % len(kept)]]
    assert due == sent[: len(due)]
    assert len(due) >= len(sent) - 5


@example([(0, 0, bytes(8), 59), (161, 1, b"\0", 0)])  # leaves the playhead beside the packets' grid
@given(
    st.lists(
        st.tuples(
            st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFF), st.binary(max_size=500), st.integers(0, 5000)
        ),
        max_size=60,
    )
)
def test_any_packets_at_all_are_survived(stream: list[tuple[int, int, bytes, int]]) -> None:
    buffer = JitterBuffer(JitterSettings())
    now = 0.0
    for timestamp, sequence, payload, later_ms in stream:
        buffer.put(RtpPacket(0, sequence, timestamp, 1, payload), now)
        now += later_ms / 1000
        heard = buffer.take(now)
        assert not isinstance(heard, Frame) or len(heard.payload) == 160
        if sequence % 7 == 0:
            buffer.restart()
    # a normal stream is heard again, whatever came before, when the 5 s that are looked back on are over
    for number in range(300):
        buffer.put(packet(number), now)
        now += 0.02
        heard = buffer.take(now)
    assert isinstance(heard, Frame)


# (frames of sound, frames of pause, what is sent in it, every how many frames again)
spurts = st.tuples(
    st.integers(1, 30),
    st.integers(4, 120),
    st.sampled_from(["nothing", "comfort noise", "key"]),
    st.sampled_from([0, 1, 5]),
)


@given(st.lists(spurts, min_size=1, max_size=6), st.integers(0, 19), st.integers(0, 60), st.data())
def test_no_sound_is_lost_over_pauses_of_any_kind(
    talk: list[tuple[int, int, str, int]], phase_ms: int, late_ms: int, data: st.DataObject
) -> None:
    sender = Sender()
    sender.voice(50)
    for sound, pause, kind, every in talk:
        if kind == "key":
            sender.key(pause)
        elif kind == "comfort noise":
            sender.comfort_noise(pause, every)
        else:
            sender.nothing(pause)
        sender.voice(sound)
    # not the first ones: what all are late by at the beginning is worked off, frame by frame
    late = data.draw(st.sets(st.integers(10, len(sender.sent) - 1), max_size=10))
    arrivals = [
        (at + (late_ms / 1000 if n in late else 0), packet) for n, (at, packet) in enumerate(sender.sent)
    ]
    # a buffer that is long enough for all of it from the start
    settings = JitterSettings(min_ms=100)
    hearing = hear(arrivals, sender.at + 0.3, settings, phase_s=phase_ms / 1000)
    assert [number for _, number in hearing.numbers()] == voices(sender.sent)
    # where nothing tells of the pause its first frames fade; nothing else is made up
    unannounced = sum(kind == "nothing" for _, _, kind, _ in talk)
    assert hearing.shape.rstrip("LW").count("L") <= 5 * unannounced
