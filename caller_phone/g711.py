"""G.711 both ways by table (ITU-T G.711). Pure.

The phone has its own tables so that it shares no mistake with the bridge it measures.
"""

import numpy as np
from numpy.typing import NDArray

from caller_phone.sdp import Codec

Samples = NDArray[np.int16]


def _decode_ulaw() -> Samples:
    byte = ~np.arange(256) & 0xFF
    magnitude = (((byte & 0x0F) << 3) + 0x84 << (byte >> 4 & 7)) - 0x84
    return np.where(byte & 0x80, -magnitude, magnitude).astype(np.int16)


def _decode_alaw() -> Samples:
    byte = np.arange(256) ^ 0x55
    segment = byte >> 4 & 7
    step = (byte & 0x0F) << 4
    magnitude = np.where(segment == 0, step + 8, (step + 0x108) << np.maximum(segment - 1, 0))
    return np.where(byte & 0x80, magnitude, -magnitude).astype(np.int16)


def _encode_table(decoded: Samples) -> NDArray[np.uint8]:
    """For each 16-bit value (as unsigned) the byte whose sound is nearest."""
    order = np.argsort(decoded, kind="stable")
    levels = decoded[order].astype(np.int32)
    edges = (levels[1:] + levels[:-1] + 1) // 2
    values = np.arange(65536).astype(np.uint16).view(np.int16).astype(np.int32)
    return order[np.searchsorted(edges, values, side="right")].astype(np.uint8)


_DECODED = {Codec.PCMU: _decode_ulaw(), Codec.PCMA: _decode_alaw()}
_ENCODED = {codec: _encode_table(decoded) for codec, decoded in _DECODED.items()}


def decode(payload: bytes, codec: Codec) -> Samples:
    return _DECODED[codec][np.frombuffer(payload, np.uint8)]


def encode(samples: Samples, codec: Codec) -> bytes:
    return _ENCODED[codec][samples.view(np.uint16)].tobytes()
