"""How each transport writes each codec: its rate, its size, and the coder of one call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from media_bridge.g711 import CODECS
from media_bridge.settings import Codec, Medium

_G722_BIT_RATE = 64_000


class Coder(Protocol):
    """One call's sound between the wire and pcm of the codec's rate."""

    def decode(self, payload: bytes, /) -> bytes: ...

    def encode(self, pcm: bytes, /) -> bytes: ...


class _Plain:
    """The wire carries pcm as it is."""

    def decode(self, payload: bytes, /) -> bytes:
        return payload

    def encode(self, pcm: bytes, /) -> bytes:
        return pcm


class _G722:
    """64 kbit/s G.722 (ITU-T G.722 mode 1): each direction goes on from its last frame."""

    def __init__(self) -> None:
        # a call over another codec does without the package
        from G722 import G722  # type: ignore[import-not-found]

        self._codec = G722(16_000, _G722_BIT_RATE, use_numpy=False)

    def decode(self, payload: bytes, /) -> bytes:
        pcm: bytes = self._codec.decode(payload).tobytes()
        return pcm

    def encode(self, pcm: bytes, /) -> bytes:
        payload: bytes = self._codec.encode(memoryview(pcm).cast("h"))
        return payload


@dataclass(frozen=True, slots=True)
class WireFormat:
    """`rate` is of the pcm, `frame_bytes` is 20 ms on the wire and `step_bytes` what cannot be divided.

    `payload_type` counts over RTP (RFC 3551 table 4), where the clock is 8000 for all of these, also for
    G.722 (RFC 3551 section 4.5.2).
    """

    rate: int
    frame_bytes: int
    step_bytes: int
    make: Callable[[], Coder]
    payload_type: int = 0


def _narrow(codec: Codec) -> WireFormat:
    spec = CODECS[codec]
    width = spec.bytes_per_sample
    return WireFormat(8000, 160 * width, width, lambda: spec, spec.payload_type)


WIRE: Mapping[Medium, WireFormat] = MappingProxyType(
    {
        Medium("rtp", "ulaw"): _narrow("ulaw"),
        Medium("rtp", "alaw"): _narrow("alaw"),
        Medium("rtp", "slin"): _narrow("slin"),
        Medium("rtp", "g722"): WireFormat(16_000, 160, 1, _G722, 9),
        Medium("websocket", "ulaw"): _narrow("ulaw"),
        # little-endian here, big-endian over RTP
        Medium("websocket", "slin16"): WireFormat(16_000, 640, 2, _Plain),
        Medium("audiosocket", "slin"): WireFormat(8000, 320, 2, _Plain),
        Medium("audiosocket", "slin16"): WireFormat(16_000, 640, 2, _Plain),
    }
)
