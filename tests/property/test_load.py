"""The ruler, the captures and the plans of a load test, over all sorts of calls."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.load_kit.growth import thirds
from benchmarks.load_kit.pcap import HEADER, datagrams, record
from benchmarks.load_kit.plan import Ending, Pace, sound, starts_a_second, talk
from benchmarks.load_kit.ruler import Outcome, judge
from benchmarks.load_kit.tap import with_media_port
from caller_phone.rtp import PACKET_SAMPLES, SAMPLE_RATE
from tests.support.load_capture import EPOCH_NS, call

ADDRESSES = st.tuples(
    st.ip_addresses(v=4).map(str),
    st.integers(0, 65_535),
)
CLIPS = [np.full(round(seconds * SAMPLE_RATE), 9000, np.int16) for seconds in (1.5, 2.2, 3.1, 1.0)]
PACE = Pace(greeting_s=2.0, answer_s=(4.0, 5.0), interrupt_s=(1.0, 2.0))


@settings(max_examples=25)
@given(
    start_ms=st.integers(1500, 3000),
    length_ms=st.integers(200, 2500),
    response_ms=st.integers(0, 4000),
    setup_ms=st.integers(1, 400),
)
def test_what_is_put_in_is_what_is_measured(
    start_ms: int, length_ms: int, response_ms: int, setup_ms: int
) -> None:
    end_ms = start_ms + length_ms
    answer = ((end_ms + response_ms) / 1000, (end_ms + response_ms) / 1000 + 1)
    it = judge(call([(start_ms / 1000, end_ms / 1000)], [(0.1, 1.2), answer], setup_s=setup_ms / 1000))
    assert it.outcome is Outcome.FINISHED
    assert it.setup_ms == pytest.approx(setup_ms, abs=0.01)
    (said,) = it.utterances
    if said.response_ms is None:  # it began with the caller's last sample
        assert said.early
        assert response_ms == 0
    else:
        assert said.response_ms == pytest.approx(response_ms, abs=1.0)


@settings(max_examples=50)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2 * EPOCH_NS), ADDRESSES, ADDRESSES, st.binary(max_size=40)), max_size=5
    ),
    cut_bytes=st.integers(0, 400),
)
def test_a_capture_gives_back_what_was_written(
    rows: list[tuple[int, tuple[str, int], tuple[str, int], bytes]], cut_bytes: int
) -> None:
    records = [record(*row) for row in rows]
    capture = HEADER + b"".join(records)
    found = list(datagrams(capture))
    assert [(one.source, one.target, one.data) for one in found] == [row[1:] for row in rows]
    assert [one.at_s for one in found] == pytest.approx([row[0] / 1e9 for row in rows], abs=1e-5)
    # one that was cut off anywhere gives its whole records
    cut = capture[: max(len(HEADER), len(capture) - cut_bytes)]
    assert list(datagrams(cut)) == found[: len(list(datagrams(cut)))]


@given(number=st.integers(0, 500), seconds=st.floats(1, 120))
def test_a_caller_speaks_one_thing_at_a_time_and_then_hangs_up(number: int, seconds: float) -> None:
    it = talk(number, CLIPS, seconds, PACE)
    assert it == talk(number, CLIPS, seconds, PACE)
    ends = [one.at_s + len(CLIPS[one.clip]) / SAMPLE_RATE for one in it.said]
    assert it.said[0].at_s >= PACE.greeting_s
    assert all(later.at_s > end for end, later in zip(ends, it.said[1:], strict=False))
    interruptions = [one.clip == len(CLIPS) - 1 for one in it.said]
    assert not any(first and second for first, second in pairwise(interruptions))
    if it.ending is Ending.IN_OWN_SPEECH:
        assert it.said[-1].at_s < it.hang_up_s < ends[-1]
    else:
        assert it.hang_up_s > ends[-1]
    # the last turn may be the longest there is: question, interruption, answer, and half a question more
    assert it.hang_up_s <= max(seconds, PACE.greeting_s + 1) + (3.1 + 2 + 1 + 5) + 0.7 * 3.1


@settings(max_examples=10)
@given(number=st.integers(0, 100))
def test_what_is_played_is_whole_packets_and_reaches_beyond_the_hang_up(number: int) -> None:
    it = talk(number, CLIPS, 20, PACE)
    played = sound(it, CLIPS, number)
    assert len(played) % PACKET_SAMPLES == 0
    assert len(played) / SAMPLE_RATE > it.hang_up_s + 1


@given(calls=st.integers(1, 1000), ramp_s=st.floats(0.5, 60))
def test_all_callers_begin_within_the_ramp(calls: int, ramp_s: float) -> None:
    rate = starts_a_second(calls, ramp_s)
    assert rate >= 1
    assert calls / rate <= max(ramp_s, calls) + 1e-6


@given(
    host=st.ip_addresses(v=4).map(str),
    port=st.integers(1, 65_535),
    ours=st.integers(1024, 65_535),
    attributes=st.lists(st.sampled_from([b"a=ptime:20", b"a=sendrecv", b"a=rtpmap:0 PCMU/8000"])),
)
def test_only_the_port_of_the_sound_is_exchanged(
    host: str, port: int, ours: int, attributes: list[bytes]
) -> None:
    def message(number: int) -> bytes:
        lines = [b"v=0", b"c=IN IP4 " + host.encode(), b"m=audio %d RTP/AVP 0" % number, *attributes]
        body = b"\r\n".join(lines) + b"\r\n"
        return b"SIP/2.0 200 OK\r\nContent-Length: %d\r\nX: m=audio 1\r\n\r\n%b" % (len(body), body)

    assert with_media_port(message(port), ours) == (message(ours), port)
    assert with_media_port(b"SIP/2.0 100 Trying\r\n\r\n", ours) == (b"SIP/2.0 100 Trying\r\n\r\n", None)


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4)), max_size=30))
def test_thirds_are_of_the_time(values: list[tuple[float, float]]) -> None:
    first, last = thirds(values)
    assert bool(first) == bool(last) == bool(values)
    assert len(first) <= len(values) and len(last) <= len(values)
