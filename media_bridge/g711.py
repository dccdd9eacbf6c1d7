"""What a payload's bytes mean: G.711 (mu-law, A-law) and linear PCM (RFC 3551 section 4.5)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from media_bridge.settings import Codec

with warnings.catch_warnings():
    # Python 3.11 and 3.12 bring audioop and warn of its end; from 3.13 on audioop-lts brings it
    warnings.simplefilter("ignore", DeprecationWarning)
    import audioop

_WIDTH = 2


def ulaw_to_pcm(payload: bytes) -> bytes:
    """One byte a sample to pcm."""
    return audioop.ulaw2lin(payload, _WIDTH)


def pcm_to_ulaw(pcm: bytes) -> bytes:
    """Pcm to one byte a sample."""
    return audioop.lin2ulaw(pcm, _WIDTH)


def alaw_to_pcm(payload: bytes) -> bytes:
    """One byte a sample to pcm."""
    return audioop.alaw2lin(payload, _WIDTH)


def pcm_to_alaw(pcm: bytes) -> bytes:
    """Pcm to one byte a sample."""
    return audioop.lin2alaw(pcm, _WIDTH)


def swap_slin(samples: bytes) -> bytes:
    """L16 is big-endian on the wire, pcm is little-endian: the same swap both ways."""
    return audioop.byteswap(samples, _WIDTH)


@dataclass(frozen=True, slots=True)
class CodecSpec:
    """One way to send mono voice at 8 kHz. `decode` gives pcm, `encode` takes it."""

    payload_type: int
    bytes_per_sample: int
    decode: Callable[[bytes], bytes]
    encode: Callable[[bytes], bytes]


CODECS: dict[Codec, CodecSpec] = {
    "ulaw": CodecSpec(0, 1, ulaw_to_pcm, pcm_to_ulaw),
    "alaw": CodecSpec(8, 1, alaw_to_pcm, pcm_to_alaw),
    "slin": CodecSpec(10, 2, swap_slin, swap_slin),
}
