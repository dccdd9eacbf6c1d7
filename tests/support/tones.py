"""How much of a tone is in what was heard, and when."""

import numpy as np
from numpy.typing import NDArray

from caller_phone.recording import Recording
from media_bridge.g711 import CODECS

RATE = 8000
FRAME = 160


def tone_levels(pcm: bytes, hertz: float) -> NDArray[np.float64]:
    """The amplitude of the tone in each whole 20 ms (Goertzel); `hertz` a multiple of 50."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    wave = np.exp(-2j * np.pi * hertz * np.arange(FRAME) / RATE)
    return np.asarray(2 / FRAME * np.abs(frames @ wave))


def tone_energy(pcm: bytes, hertz: float) -> float:
    """The sum of the squares of those amplitudes."""
    return float(np.square(tone_levels(pcm, hertz)).sum())


def heard_by_phone(recording: Recording) -> bytes:
    """What a phone plays that puts every packet in its place by its timestamp, and silence where there is none."""
    placed: dict[int, bytes] = {}
    last: int | None = None
    position = 0
    for packet in recording.received:
        if packet.rtp.payload_type != 0:
            continue
        if last is not None:
            position += (packet.rtp.timestamp - last + 0x80000000 & 0xFFFFFFFF) - 0x80000000
        last = packet.rtp.timestamp
        placed.setdefault(position, CODECS["ulaw"].decode(packet.rtp.payload))
    start = min(placed, default=0)
    end = max((at + len(pcm) // 2 for at, pcm in placed.items()), default=0)
    track = bytearray(2 * (end - start))
    for at, pcm in placed.items():
        track[2 * (at - start) : 2 * (at - start) + len(pcm)] = pcm
    return bytes(track)
