"""What the caller sends: one packet for every 20 ms, whatever there is to say. Pure."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from caller_phone.errors import SpeechFileError
from caller_phone.g711 import Samples, encode
from caller_phone.rtp import DIGITS, PACKET_SAMPLES, SAMPLE_RATE, RtpPacket, telephone_event
from caller_phone.sdp import Codec
from caller_phone.talkspurt import voiced_bounds

# A key is held for 160 ms and followed by 60 ms of nothing: twice what Q.24 asks a receiver to accept.
_KEY_PACKETS = 8
_KEY_END_PACKETS = 3
_KEY_GAP_PACKETS = 3
# The floor of a quiet room, -66 dBFS: a line that sends true zeros is a rare thing.
_ROOM_RMS = 16.0
_ROOM_PACKETS = 250


@dataclass(frozen=True, slots=True)
class Said:
    """The monotonic instants, in seconds, at which the first and last voiced sample left."""

    first_voiced_s: float
    last_voiced_s: float


@dataclass(frozen=True, slots=True)
class _Speech:
    payloads: list[bytes]
    first_voiced: int
    last_voiced: int
    on_said: Callable[[Said], None]


@dataclass(frozen=True, slots=True)
class _Key:
    payload_type: int
    digit: str
    on_pressed: Callable[[], None]


class OutgoingStream:
    """One RTP stream (RFC 3550): sequence +1 and timestamp +160 for every packet, speech or silence.

    With `suppresses`, as in a telephone with voice activity detection, there are none of silence, and the sequence
    waits for the next talkspurt (RFC 3551 section 4.1).

    `next_packet` is called once for each tick of the sender's clock; the callbacks of `say` and `press` run inside it,
    at the tick after the last packet was handed out.
    """

    def __init__(self, codec: Codec, events: int | None, ssrc: int, sequence: int, timestamp: int) -> None:
        self._codec = codec
        self._events = events
        self._ssrc = ssrc
        self._sequence = sequence
        self._timestamp = timestamp
        self._marker = True
        self.suppresses = False
        self._queue: deque[_Speech | _Key] = deque()
        self._room = _room_noise(codec)
        self._now = 0.0
        self._flow = self._run()

    def say(self, samples: Samples, on_said: Callable[[Said], None]) -> None:
        """Queue speech (8 kHz samples). SpeechFileError if nothing in it can be heard."""
        bounds = voiced_bounds(samples)
        if bounds is None:
            raise SpeechFileError("the recording holds nothing audible (all below -48 dBFS)")
        self._queue.append(_Speech(_packets(samples, self._codec), *bounds, on_said))

    def press(self, digit: str, on_pressed: Callable[[], None]) -> None:
        """Queue one key of 0-9 * # A-D (RFC 4733). ValueError for another, or if the far end takes no events."""
        if self._events is None:
            raise ValueError(
                "the far end takes no telephone events (no telephone-event in its session description)"
            )
        if len(digit) != 1 or digit not in DIGITS:
            raise ValueError(f"no such key: {digit!r}; want one of {DIGITS}")
        self._queue.append(_Key(self._events, digit, on_pressed))

    def next_packet(self, now: float) -> RtpPacket | None:
        """The packet that leaves at the instant `now`; None where silence is suppressed."""
        self._now = now
        packet = next(self._flow)
        if packet is None:
            self.skip(1)
            return None
        self._sequence += 1
        self._timestamp += PACKET_SAMPLES
        return packet

    def skip(self, ticks: int) -> None:
        """Ticks that the sender slept through: time goes on, nothing is sent for them (RFC 3550 section 5.1)."""
        self._timestamp += ticks * PACKET_SAMPLES
        self._marker = True

    def _run(self) -> Iterator[RtpPacket | None]:
        while True:
            match self._queue.popleft() if self._queue else None:
                case None:
                    yield None if self.suppresses else self._silence()
                case _Speech() as speech:
                    yield from self._speak(speech)
                case _Key() as key:
                    yield from self._hold(key)

    def _speak(self, speech: _Speech) -> Iterator[RtpPacket]:
        first_s = last_s = 0.0
        for index, payload in enumerate(speech.payloads):
            start = index * PACKET_SAMPLES
            if 0 <= speech.first_voiced - start < PACKET_SAMPLES:
                first_s = self._now + (speech.first_voiced - start) / SAMPLE_RATE
            if 0 <= speech.last_voiced - start < PACKET_SAMPLES:
                last_s = self._now + (speech.last_voiced - start) / SAMPLE_RATE
            yield self._voice(payload)
        speech.on_said(Said(first_s, last_s))

    def _hold(self, key: _Key) -> Iterator[RtpPacket]:
        started = self._timestamp & 0xFFFFFFFF
        for index in range(_KEY_PACKETS + _KEY_END_PACKETS):
            end = index >= _KEY_PACKETS
            duration = min(index + 1, _KEY_PACKETS) * PACKET_SAMPLES
            payload = telephone_event(key.digit, end=end, duration=duration)
            yield RtpPacket(
                key.payload_type, index == 0, self._sequence & 0xFFFF, started, self._ssrc, payload
            )
        for _ in range(_KEY_GAP_PACKETS):
            yield self._silence()
        key.on_pressed()

    def _silence(self) -> RtpPacket:
        return self._voice(self._room[self._sequence % _ROOM_PACKETS])

    def _voice(self, payload: bytes) -> RtpPacket:
        marker, self._marker = self._marker, False
        return RtpPacket(
            self._codec.value,
            marker,
            self._sequence & 0xFFFF,
            self._timestamp & 0xFFFFFFFF,
            self._ssrc,
            payload,
        )


def _packets(samples: Samples, codec: Codec) -> list[bytes]:
    """Whole packets; the last one is filled with silence."""
    filled = np.pad(samples, (0, -len(samples) % PACKET_SAMPLES))
    payload = encode(filled, codec)
    return [payload[start : start + PACKET_SAMPLES] for start in range(0, len(payload), PACKET_SAMPLES)]


@cache
def _room_noise(codec: Codec) -> list[bytes]:
    noise = np.random.default_rng(1).normal(0.0, _ROOM_RMS, _ROOM_PACKETS * PACKET_SAMPLES)
    return _packets(np.rint(noise).astype(np.int16), codec)
