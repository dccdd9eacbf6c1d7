"""A stream of packets through a network that only delays, drops and doubles, and the ticks that hear it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from media_bridge.jitter import Frame, JitterBuffer, Lost, Wait
from media_bridge.rtp import RtpPacket
from media_bridge.settings import JitterSettings

TICK_S = 0.02
# ticks lie anywhere between the packets
PHASE_S = 0.013


def packet(
    number: int, samples: int = 160, ssrc: int = 1, sequence: int = 0, timestamp: int = 0
) -> RtpPacket:
    """Packet `number` of a stream that began with `sequence` and `timestamp`; each byte says which 20 ms it is."""
    start = number * samples
    payload = bytes((start + at) // 160 % 251 for at in range(samples))
    return RtpPacket(0, (sequence + number) & 0xFFFF, (timestamp + start) & 0xFFFFFFFF, ssrc, payload)


@dataclass
class Hearing:
    """What the ticks heard; `target_ms` and `delay_ms` once for each tick."""

    buffer: JitterBuffer
    heard: list[Frame | Lost | Wait] = field(default_factory=list)
    target_ms: list[float] = field(default_factory=list)
    delay_ms: list[float] = field(default_factory=list)

    @property
    def shape(self) -> str:
        """F, L and W for each tick."""
        return "".join(type(heard).__name__[0] for heard in self.heard)

    def numbers(self) -> list[tuple[int, int]]:
        """(tick, which 20 ms modulo 251) of each frame."""
        return [(tick, heard.payload[0]) for tick, heard in enumerate(self.heard) if isinstance(heard, Frame)]


def hear(
    arrivals: Sequence[tuple[float, RtpPacket]],
    seconds: float,
    settings: JitterSettings | None = None,
    phase_s: float = PHASE_S,
) -> Hearing:
    """Put each packet at its instant and take a frame every 20 ms."""
    hearing = Hearing(JitterBuffer(settings or JitterSettings()))
    waiting = sorted(arrivals, key=lambda arrival: arrival[0])
    for tick in range(round(seconds / TICK_S)):
        now = phase_s + tick * TICK_S
        while waiting and waiting[0][0] <= now:
            at, arrived = waiting.pop(0)
            hearing.buffer.put(arrived, at)
        hearing.heard.append(hearing.buffer.take(now))
        hearing.target_ms.append(hearing.buffer.stats.target_ms)
        hearing.delay_ms.append(hearing.buffer.stats.delay_ms)
    return hearing


def stream(
    seconds: float,
    delay_s: Callable[[Random, float], float] = lambda rng, at: rng.random() * 0.002,
    lost: Callable[[Random, int], bool] = lambda rng, number: False,
    samples: int = 160,
    drift_ppm: float = 0.0,
    seed: int = 1,
) -> list[tuple[float, RtpPacket]]:
    """(arrival, packet) of a talk of so many seconds."""
    rng = Random(seed)
    arrivals = []
    for number in range(round(seconds * 8000 / samples)):
        sent = number * samples / 8000 * (1 + drift_ppm / 1e6)
        if not lost(rng, number):
            arrivals.append((sent + delay_s(rng, sent), packet(number, samples)))
    return arrivals
