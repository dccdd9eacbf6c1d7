"""The ruler finds what was put there, wherever it was put and however the network delivered it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from caller_phone.g711 import encode
from caller_phone.recording import Recording, StampedPacket
from caller_phone.rtp import RtpPacket
from caller_phone.ruler import cut_ms, packet_figures, response_ms, talkspurts
from caller_phone.sdp import Codec

RATE = 8000


@st.composite
def answers(draw: st.DrawFn) -> list[tuple[float, float]]:
    """Up to three answers (start, end in seconds), at least half a second apart."""
    spans, at_s = [], 0.0
    for _ in range(draw(st.integers(1, 3))):
        start_s = at_s + draw(st.floats(0.5, 1.5))
        at_s = start_s + draw(st.floats(0.1, 1.5))
        spans.append((start_s, at_s))
    return spans


@settings(max_examples=40, deadline=None)
@given(
    spans=answers(),
    noise_rms=st.sampled_from([0.0, 16.0, 82.0]),
    offset_s=st.floats(0, 10_000),
    ptime=st.sampled_from([80, 160, 240]),
    loss=st.sets(st.integers(0, 400), max_size=5),
    seed=st.integers(0, 99),
)
def test_bounds_responses_and_cuts_are_within_ten_milliseconds(
    spans: list[tuple[float, float]], noise_rms: float, offset_s: float, ptime: int, loss: set[int], seed: int
) -> None:
    random = np.random.default_rng(seed)
    sound = random.normal(0, noise_rms, round((spans[-1][1] + 1) * RATE))
    for start_s, end_s in spans:
        start, end = round(start_s * RATE), round(end_s * RATE)
        sound[start:end] += random.normal(0, 3000, end - start)
    samples = np.clip(sound, -32000, 32000).astype(np.int16)
    stream = [
        StampedPacket(
            offset_s + start / RATE,
            RtpPacket(
                0, False, number & 0xFFFF, start, 1, encode(samples[start : start + ptime], Codec.PCMU)
            ),
        )
        for number, start in enumerate(range(0, len(samples), ptime))
    ]
    # losses at the very bounds would move the truth itself
    bounds = [at_s for span in spans for at_s in span]
    kept = [
        packet
        for number, packet in enumerate(stream)
        if number not in loss or any(abs(packet.at_s - offset_s - at_s) < 0.05 for at_s in bounds)
    ]
    spurts = talkspurts(Recording((), tuple(kept)).bot())
    assert len(spurts) == len(spans)
    for spurt, (start_s, end_s) in zip(spurts, spans, strict=True):
        assert abs(spurt.start_s - offset_s - start_s) < 0.01
        assert abs(spurt.end_s - offset_s - end_s) < 0.01
        asked_s = offset_s + start_s - 0.25
        measured = response_ms(spurts, asked_s)
        assert measured is not None
        assert abs(measured - 250) < 10
        cut = cut_ms(spurts, offset_s + end_s - 0.05)
        assert cut is not None
        assert abs(cut - 50) < 10
    inner = {number for number in range(len(stream)) if stream[number] not in kept} - {0, len(stream) - 1}
    assert packet_figures(kept).missing >= len(inner) - 4
    assert packet_figures(stream).missing == 0
