"""What went over the caller's wire, both ways, on one time axis."""

import wave
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caller_phone.g711 import Samples, decode
from caller_phone.rtp import SAMPLE_RATE, RtpPacket
from caller_phone.sdp import Codec

# A packet this much too early is jitter and is heard as it comes; one still earlier waits behind those before it.
_JITTER_S = 0.06
# How fast the idea of "in time" follows a stream that comes earlier (a clock difference, a delay that passed).
_SLEW_S = 0.0005
# In the WAV file sound goes on seamlessly unless it is further than this from where it was heard.
_SEAM_S = 0.04
_CODECS = {codec.value: codec for codec in Codec}


@dataclass(frozen=True, slots=True)
class StampedPacket:
    """A packet and the monotonic instant, in seconds, at which it left or reached this machine."""

    at_s: float
    rtp: RtpPacket


@dataclass(frozen=True, slots=True)
class Sound:
    """Samples heard from the instant `at_s` on."""

    at_s: float
    samples: Samples


class HearingAxis:
    """Gives each packet the instant at which a telephone that buffers nothing begins to play it.

    That is its arrival, with two exceptions: of a burst, what lies further ahead than jitter explains waits for its
    turn, because nobody hears a second of speech in a millisecond; and a packet that was overtaken belongs to its
    place in the order.
    """

    def __init__(self) -> None:
        self._last: RtpPacket | None = None
        self._in_time_s = 0.0
        """When the last packet would have come without any jitter."""

    def hear(self, packet: StampedPacket) -> Sound | None:
        """None for what is no sound (events, comfort noise) and for a packet that comes twice in a row."""
        codec = _CODECS.get(packet.rtp.payload_type)
        if codec is None or not packet.rtp.payload:
            return None
        heard_s = self._heard_s(packet)
        return None if heard_s is None else Sound(heard_s, decode(packet.rtp.payload, codec))

    def _heard_s(self, packet: StampedPacket) -> float | None:
        rtp, last = packet.rtp, self._last
        if last is None or rtp.ssrc != last.ssrc:
            return self._advance(packet, packet.at_s)
        ahead = (rtp.sequence - last.sequence + 0x8000 & 0xFFFF) - 0x8000
        if ahead == 0:
            return None
        step = (rtp.timestamp - last.timestamp + 0x80000000 & 0xFFFFFFFF) - 0x80000000
        ideal_s = self._in_time_s + step / SAMPLE_RATE
        if ahead < 0:
            return ideal_s
        early_s = ideal_s - packet.at_s
        if early_s > _JITTER_S and step != ahead * len(last.payload):
            # the timestamps jumped: they say nothing about when this is to be heard
            return self._advance(packet, packet.at_s)
        self._advance(packet, max(packet.at_s, ideal_s - min(_SLEW_S, max(early_s, 0.0))))
        return ideal_s if early_s > _JITTER_S else packet.at_s

    def _advance(self, packet: StampedPacket, in_time_s: float) -> float:
        self._last, self._in_time_s = packet.rtp, in_time_s
        return packet.at_s


@dataclass(frozen=True, slots=True)
class Recording:
    """Both sides of a call, in the order in which the packets left and came; instants are monotonic seconds."""

    sent: tuple[StampedPacket, ...]
    received: tuple[StampedPacket, ...]

    def caller(self) -> list[Sound]:
        return _sounds(self.sent)

    def bot(self) -> list[Sound]:
        return _sounds(self.received)

    def write_wav(self, path: str | Path) -> None:
        """Stereo, 8 kHz, 16 bit: the caller left, the bot right, both from the first packet of either."""
        sides = [self.caller(), self.bot()]
        starts = [side[0].at_s for side in sides if side]
        start_s = min(starts, default=0.0)
        tracks = [_track(side, start_s) for side in sides]
        stereo = np.zeros((max(len(track) for track in tracks), 2), "<i2")
        for channel, track in enumerate(tracks):
            stereo[: len(track), channel] = track
        Path(path).touch(mode=0o600)  # it holds what people said
        with wave.open(str(path), "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(2)
            file.setframerate(SAMPLE_RATE)
            file.writeframes(stereo.tobytes())


def _sounds(packets: Iterable[StampedPacket]) -> list[Sound]:
    axis = HearingAxis()
    return [sound for packet in packets if (sound := axis.hear(packet)) is not None]


def _track(sounds: Sequence[Sound], start_s: float) -> Samples:
    placed: list[tuple[int, Samples]] = []
    end: int | None = None
    for sound in sounds:
        # an overtaken packet may belong before the very first one
        heard = max(round((sound.at_s - start_s) * SAMPLE_RATE), 0)
        at = heard if end is None or abs(heard - end) >= _SEAM_S * SAMPLE_RATE else end
        placed.append((at, sound.samples))
        end = at + len(sound.samples)
    track = np.zeros(max((at + len(samples) for at, samples in placed), default=0), np.int16)
    for at, samples in placed:
        track[at : at + len(samples)] = samples
    return track
