"""Is this sound speech? One probability for every 20 ms frame."""

from collections import deque
from typing import Protocol

import numpy as np
import webrtcvad  # type: ignore[import-untyped]
from numpy.typing import NDArray

from media_bridge.settings import VoiceSettings
from media_bridge.silero import CELLS, CONTEXT_SAMPLES, INPUT_BYTES, RATE, WINDOW_SAMPLES, SileroNetwork
from media_bridge.silero_weights import load

FRAME_BYTES = 320

# sound from before the gate opened that Silero hears first: it needs the onset and some context
_CONTEXT_FRAMES = 12
# the gate stays open this many frames after the last one it took for speech
_HOLD_FRAMES = 50
# Silero hears a breathy voice better when it is not near full scale (89 % of it instead of 84 %), and no
# voice worse; at a quarter, noise after a very soft voice passes for speech
_SCALE = np.float32(0.5 / 32768)
_NO_STATE = np.zeros((1, CELLS), np.float32)


class Vad(Protocol):
    """Anything that can tell speech: `put` a frame of 320 bytes, `take` the probability of the latest window.

    What lies between the two is time for other calls to put theirs, so that all are answered at once.
    """

    def put(self, frame: bytes) -> None: ...

    def take(self) -> float: ...


class SileroStream:
    """One call's windows, one after the other. `Silero.stream` makes it."""

    def __init__(self, silero: "Silero") -> None:
        self._silero = silero
        self.hidden = self.cell = _NO_STATE
        self._probability = 0.0

    def put(self, window: bytes) -> None:
        """The next 32 ms, behind the last 4 ms of the window before: pcm of INPUT_BYTES."""
        self._silero.wait(self, window)

    def probability(self) -> float:
        """Of the latest window; whatever waits, of all calls, is heard first."""
        self._silero.hear(self)
        return self._probability

    def reset(self) -> None:
        """Forget all sound, and what waits to be heard."""
        self._silero.forget(self)
        self.hidden = self.cell = _NO_STATE
        self._probability = 0.0

    def advance(self, probability: float, hidden: NDArray[np.float32], cell: NDArray[np.float32]) -> None:
        """A window was heard; the states are rows of 128."""
        self._probability, self.hidden, self.cell = probability, hidden, cell


class Silero:
    """Hears the windows of all calls of the process together. Raises MediaError if the model is not there."""

    def __init__(self) -> None:
        self._network = SileroNetwork(load())
        self._waiting: dict[SileroStream, list[bytes]] = {}

    def stream(self) -> SileroStream:
        return SileroStream(self)

    def wait(self, stream: SileroStream, window: bytes) -> None:
        """Hear this window of the stream when the next one is asked for."""
        self._waiting.setdefault(stream, []).append(window)

    def forget(self, stream: SileroStream) -> None:
        """Don't hear what waits of this stream."""
        self._waiting.pop(stream, None)

    def hear(self, stream: SileroStream) -> None:
        """Hear whatever waits, if anything of this stream does."""
        if stream not in self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        pcm = b"".join(window for windows in waiting.values() for window in windows)
        samples = np.frombuffer(pcm, "<i2").reshape(-1, INPUT_BYTES // 2) * _SCALE
        features = self._network.encode(samples)
        # a stream's windows follow each other, so each goes with the others that are as far on
        turns: list[list[tuple[int, SileroStream]]] = [[] for _ in range(max(map(len, waiting.values())))]
        row = 0
        for one, windows in waiting.items():
            for turn in range(len(windows)):
                turns[turn].append((row, one))
                row += 1
        for turn_rows in turns:
            self._step([one for _, one in turn_rows], features[[at for at, _ in turn_rows]])

    def _step(self, streams: list[SileroStream], features: NDArray[np.float32]) -> None:
        hidden = np.concatenate([stream.hidden for stream in streams])
        cell = np.concatenate([stream.cell for stream in streams])
        probabilities, hidden, cell = self._network.step(features, hidden, cell)
        for at, (stream, probability) in enumerate(zip(streams, probabilities.tolist(), strict=True)):
            stream.advance(probability, hidden[at : at + 1], cell[at : at + 1])


class SileroGate:
    """Silero decides, on windows of 32 ms; webrtcvad spares it the silence.

    webrtcvad calls much speech that is none (dial tone, DTMF, noise) but hardly misses any, and costs less.
    While it finds nothing the probability is 0. One for each call; all calls of a process share `silero`,
    and one without it brings its own.
    """

    def __init__(self, settings: VoiceSettings, silero: Silero | None = None) -> None:
        self._gate_mode = settings.gate_mode
        self._gate = webrtcvad.Vad(settings.gate_mode)
        self._stream = (silero or Silero()).stream()
        self._context: deque[bytes] = deque(maxlen=_CONTEXT_FRAMES)
        self._pending = bytearray()
        self._open_frames = 0

    def put(self, frame: bytes) -> None:
        """Take a frame. Raises ValueError if it is of another size."""
        if len(frame) != FRAME_BYTES:
            raise ValueError(f"A frame has {FRAME_BYTES} bytes, this one {len(frame)}")
        was_open = self._open_frames > 0
        if self._gate.is_speech(frame, RATE):
            self._open_frames = _HOLD_FRAMES
        elif was_open:
            self._open_frames -= 1
        if not self._open_frames:
            if was_open:
                self._close()
            self._context.append(frame)
            return
        if not was_open:
            self._pending += bytes(2 * CONTEXT_SAMPLES)
            self._pending += b"".join(self._context)
            self._context.clear()
        self._pending += frame
        while len(self._pending) >= INPUT_BYTES:
            self._stream.put(bytes(self._pending[:INPUT_BYTES]))
            del self._pending[: 2 * WINDOW_SAMPLES]

    def take(self) -> float:
        """The probability of speech, 0 to 1, in the latest 32 ms that were put."""
        return self._stream.probability() if self._open_frames else 0.0

    def feed(self, frame: bytes) -> float:
        """Both at once, for one call alone."""
        self.put(frame)
        return self.take()

    def reset(self) -> None:
        """Forget all sound: the next frame is of another call."""
        self._gate = webrtcvad.Vad(self._gate_mode)
        self._context.clear()
        self._open_frames = 0
        self._close()

    def _close(self) -> None:
        self._stream.reset()
        self._pending.clear()
