"""A sender that sends no sound in its pauses, in virtual time: what it sends instead has numbers of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from media_bridge.rtp import RtpPacket

COMFORT_NOISE, EVENT = 13, 101


@dataclass
class Sender:
    """Sends 20 ms of sound or of something else at a time; each byte of the sound says which 20 ms of it that is."""

    sequence: int = 65_500
    timestamp: int = 2**32 - 4000
    sent: list[tuple[float, RtpPacket]] = field(default_factory=list)
    at: float = 0.0
    voices: int = 0

    def voice(self, frames: int) -> None:
        for _ in range(frames):
            self._send(0, bytes([self.voices % 251]) * 160)
            self.voices += 1
            self._wait(1)

    def nothing(self, frames: int) -> None:
        self._wait(frames)

    def comfort_noise(self, frames: int, every: int) -> None:
        """RFC 3389: when the pause begins, and again each `every` frames; 0: never again."""
        for number in range(frames):
            if number == 0 or (every and number % every == 0):
                self._send(COMFORT_NOISE, b"\x40")
            self._wait(1)

    def key(self, frames: int) -> None:
        """RFC 4733 section 2.5.1: one timestamp for all of it, the end three times."""
        began = self.timestamp
        for number in range(1, frames):
            self._send(EVENT, _event(number * 160, is_end=False), began)
            self._wait(1)
        for _ in range(3):
            self._send(EVENT, _event(frames * 160, is_end=True), began)
        self._wait(1)

    def _send(self, kind: int, payload: bytes, timestamp: int | None = None) -> None:
        stamp = self.timestamp if timestamp is None else timestamp
        self.sent.append((self.at, RtpPacket(kind, self.sequence & 0xFFFF, stamp & 0xFFFFFFFF, 1, payload)))
        self.sequence += 1

    def _wait(self, frames: int) -> None:
        self.at += frames * 0.02
        self.timestamp += frames * 160


def _event(samples: int, *, is_end: bool) -> bytes:
    return bytes([5, 0x8A if is_end else 0x0A]) + min(samples, 0xFFFF).to_bytes(2, "big")


def voices(packets: Sequence[tuple[float, RtpPacket]]) -> list[int]:
    """Which 20 ms of sound these packets hold."""
    return [packet.payload[0] for _, packet in packets if packet.payload_type == 0]
