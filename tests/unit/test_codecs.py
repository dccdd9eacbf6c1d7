"""Each transport's codecs: what they carry, in which size, and how faithfully."""

import numpy as np
import pytest

from media_bridge.codecs import WIRE
from media_bridge.settings import CODECS_OF, MediaOverride, MediaSettings, Medium, medium_of
from tests.support.media_call import tone_at


def test_every_pair_that_may_be_set_can_be_written() -> None:
    pairs = {Medium(transport, codec) for transport, codecs in CODECS_OF.items() for codec in codecs}
    assert set(WIRE) == pairs
    assert all(medium.fits for medium in pairs)
    assert not Medium("rtp", "slin16").fits


@pytest.mark.parametrize("medium", WIRE, ids="-".join)
def test_a_frame_has_its_size_and_survives(medium: Medium) -> None:
    wire = WIRE[medium]
    coder = wire.make()
    pcm = tone_at(wire.rate, 1.0, 440)
    frame = 2 * wire.rate // 50
    payloads = [coder.encode(pcm[at : at + frame]) for at in range(0, len(pcm), frame)]
    assert {len(payload) for payload in payloads} == {wire.frame_bytes}
    heard = np.frombuffer(b"".join(map(coder.decode, payloads)), "<i2").astype(float)
    said = np.frombuffer(pcm, "<i2").astype(float)
    # G.722 holds 22 samples back; the others nothing
    noise = min(float(np.square(heard[late:] - said[: len(said) - late]).mean()) for late in range(40))
    assert noise < 0.01 * float(np.square(said).mean())


def test_g722_carries_what_a_telephone_does_not() -> None:
    wire = WIRE[Medium("rtp", "g722")]
    coder = wire.make()
    pcm = tone_at(16_000, 1.0, 6000)
    heard = coder.decode(coder.encode(pcm))
    energy = [float(np.square(np.frombuffer(sound, "<i2").astype(float)).mean()) for sound in (pcm, heard)]
    assert energy[1] > 0.8 * energy[0]


def test_two_calls_over_g722_know_nothing_of_each_other() -> None:
    wire = WIRE[Medium("rtp", "g722")]
    first, second = wire.make(), wire.make()
    frame = tone_at(16_000, 0.02, 440)
    alone = [first.encode(frame) for _ in range(3)]
    assert [second.encode(frame) for _ in range(3)] == alone


@pytest.mark.parametrize(
    ("settings", "override", "medium"),
    [
        ({}, {}, ("rtp", "ulaw")),
        ({"codec": "alaw"}, {}, ("rtp", "alaw")),
        ({"codec": "alaw"}, {"transport": "rtp"}, ("rtp", "alaw")),
        ({"codec": "alaw"}, {"codec": "g722"}, ("rtp", "g722")),
        # a codec counts for the transport it was written beside
        ({"codec": "alaw"}, {"transport": "websocket"}, ("websocket", "slin16")),
        ({"codec": "alaw"}, {"transport": "websocket", "codec": "ulaw"}, ("websocket", "ulaw")),
        ({"transport": "audiosocket"}, {}, ("audiosocket", "slin16")),
        ({"transport": "audiosocket"}, {"transport": "rtp"}, ("rtp", "ulaw")),
    ],
)
def test_what_a_profile_and_the_media_part_mean_together(
    settings: dict[str, str], override: dict[str, str], medium: tuple[str, str]
) -> None:
    assert medium_of(MediaSettings.model_validate(settings), MediaOverride.model_validate(override)) == medium
