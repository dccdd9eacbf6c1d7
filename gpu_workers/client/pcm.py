"""What a speech server sends, as mono s16le: raw samples, or a RIFF/WAV file that is still being written.

Pure: bytes in, whole samples out, whatever the split. Source: Microsoft/IBM (
    "Multimedia Programming Interface"
), RIFF WAVE.
"""

import struct
from typing import Final

import numpy as np

_MAX_HEADER_BYTES: Final = 64 * 1024
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
RATES: Final = range(8000, 48001)
_OTHER_SOUND: Final = {
    b"ID3": "MP3",
    b"OggS": "Ogg",
    b"fLaC": "FLAC",
    b"\xff\xfb": "MP3",
    b"\xff\xf3": "MP3",
    b"\xff\xf1": "AAC",
}


class PcmError(ValueError):
    """The bytes are no sound that we can play; the message says what they are."""


class PcmStream:
    """`feed` what arrived, get mono s16le. `rate` is in samples per second and final after the first sample.

    Starts as raw s16le of `rate` and `channels`; a RIFF header at the front overrules both and is not played, nor is
    what follows the data. `started` tells that the form is known.
    """

    def __init__(self, rate: int, channels: int = 1) -> None:
        self.rate = _checked_rate(rate)
        self.started = False
        self._channels = channels
        self._bits = 16
        self._held = b""
        self._left: int | None = None

    def feed(self, received: bytes, *, last: bool = False) -> bytes:
        """Raises PcmError for a format that cannot be played. `last`: no more bytes will come."""
        self._held += received
        if not self.started and not self._start(last):
            return b""
        frame = self._channels * self._bits // 8
        usable = len(self._held) if self._left is None else min(len(self._held), self._left)
        usable -= usable % frame
        data, self._held = self._held[:usable], self._held[usable:]
        if self._left is not None:
            self._left -= usable
            if self._left < frame:
                self._held = b""
        return _mono(data, self._channels, self._bits)

    def _start(self, last: bool) -> bool:
        head = self._held[:12]
        if head[:4] != b"RIFF"[: len(head[:4])] or (len(head) >= 12 and head[8:12] != b"WAVE"):
            for magic, name in _OTHER_SOUND.items():
                if head.startswith(magic):
                    raise PcmError(f"the sound is {name}, not raw pcm or WAV")
            self.started = len(head) >= 4 or last
            return self.started
        if len(head) < 12 or not self._riff():
            if last and len(head) < 4:
                self.started = True
                return True
            if len(self._held) > _MAX_HEADER_BYTES:
                raise PcmError("the WAV header is longer than 64 KiB")
            return False
        self.started = True
        return True

    def _riff(self) -> bool:
        """Reads the chunks up to the data; False while some of them is still to come."""
        at = 12
        known = False
        while at + 8 <= len(self._held):
            name, size = struct.unpack_from("<4sI", self._held, at)
            body = at + 8
            if name == b"data":
                if not known:
                    raise PcmError("the WAV has no format before its data")
                # a server that streams cannot know the size and writes 0 or the largest number
                self._left = None if size == 0 or size >= 0x7FFFF000 else size
                self._held = self._held[body:]
                return True
            if body + size > len(self._held):
                return False
            if name == b"fmt ":
                self._format(self._held[body : body + size])
                known = True
            at = body + size + size % 2
        return False

    def _format(self, chunk: bytes) -> None:
        if len(chunk) < 16:
            raise PcmError("the format of the WAV is too short")
        kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
        if kind == _EXTENSIBLE and len(chunk) >= 26:
            kind = struct.unpack_from("<H", chunk, 24)[0]
        if (kind, bits) not in {(_PCM, 16), (_FLOAT, 32)} or channels not in {1, 2}:
            raise PcmError(
                f"the WAV is format {kind} with {bits} bits and {channels} channels; 16-bit mono or stereo"
                f" is wanted"
            )
        self.rate, self._channels, self._bits = _checked_rate(rate), channels, bits


def _checked_rate(rate: int) -> int:
    if rate not in RATES:
        raise PcmError(
            f"a rate of {rate} samples per second; {RATES.start} to {RATES.stop - 1} can be played"
        )
    return rate


def _mono(data: bytes, channels: int, bits: int) -> bytes:
    if bits == 16 and channels == 1:
        return data
    if bits == 16:
        samples = np.frombuffer(data, "<i2").astype(np.float32)
    else:
        samples = np.clip(np.nan_to_num(np.frombuffer(data, "<f4")), -1.0, 1.0) * np.float32(32767)
    mixed = samples.reshape(-1, channels).mean(axis=1)
    return bytes(np.clip(np.rint(mixed), -32768, 32767).astype("<i2"))
