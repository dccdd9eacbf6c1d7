"""When `pipecat-ai`'s default turn detection decides, on recordings. In its environment (`catalogue.pipecat_turns`).

Standard input: `{"clips": [{"name": N, "wav": PATH, "words": true}, ...], "lead_ms": 2000, "tail_ms": 6500,
"transcript_ms": 0}`, WAV files of 8 kHz mono 16-bit. Standard output: `{"version": V, "clips": {N: [EVENT, ...]}}`, an
EVENT for each decision:

* `{"ms": 1240, "what": "started", "by": S}`: a turn begins, which also stops the bot's speech (an interruption);
* `{"ms": 3412, "what": "stopped", "by": S, "model_ms": 12}`: the turn is over, the language model would be asked.

`ms` counts from the first sample of the clip: the sound that had been heard, plus for `stopped` the time that the
end-of-turn model needed for this decision (`model_ms`: processor time of its one thread here, so what it takes on an
idle core; 0 where something else decided). `by` is the strategy's class, or `timeout`. Before the clip come `lead_ms`
of silence (the VAD's loudness meter looks back over some of it, as in a call that has gone on for a while), after it
`tail_ms`.

What runs, all of it the package's own with its defaults: `VADController` with `SileroVADAnalyzer` (8 kHz),
`UserTurnController` with the strategies of `UserTurnStrategies()`: a turn starts with voice, and ends when Smart Turn
v3 says so after 200 ms of silence, at the latest after 3 s. They are wired as `LLMUserAggregator` wires them, without
a pipeline around them. In the place of the recogniser stands one that needs `transcript_ms` after the VAD's end of
speech, as the package's own Whisper service gives one final transcript a segment (which the end of a turn waits for);
with `"words": false` it hears no words, as in a noise. A turn whose voice the VAD does not notice is no turn at all.

The package reads the wall clock for its timers, so the clock is virtual here: `time.time`, `time.monotonic` and with
them the event loop's clock stand still while a frame of 20 ms is worked on and go on by 20 ms after it.
"""

import asyncio
import json
import os
import sys
import time
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

FRAME_MS = 20
RATE = 8000
_FRAME_BYTES = RATE * FRAME_MS // 1000 * 2
# tasks that a frame woke run to where they wait again
_TURNS_OF_THE_LOOP = 8


class Clock:
    """Stands in for the clocks of `time`."""

    def __init__(self) -> None:
        self.now = time.time()

    def read(self) -> float:
        return self.now

    def rule(self) -> None:
        time.time = self.read
        time.monotonic = self.read


CLOCK = Clock()
# before anything takes the real functions by name
CLOCK.rule()
os.environ.setdefault("LOGURU_LEVEL", "WARNING")

from pipecat.audio.vad.silero import SileroVADAnalyzer  # noqa: E402
from pipecat.audio.vad.vad_controller import VADController  # noqa: E402
from pipecat.clocks.system_clock import SystemClock  # noqa: E402
from pipecat.frames.frames import (  # noqa: E402
    Frame,
    InputAudioRawFrame,
    StartFrame,
    STTMetadataFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameProcessorSetup  # noqa: E402
from pipecat.services.stt_latency import WHISPER_TTFS_P99  # noqa: E402
from pipecat.turns.user_turn_controller import UserTurnController  # noqa: E402
from pipecat.turns.user_turn_strategies import (  # noqa: E402
    UserTurnStrategies,
    default_user_turn_stop_strategies,
)
from pipecat.utils.asyncio.task_manager import TaskManager  # noqa: E402


class Model:
    """The default stop strategies, one for all clips: the model is warm, as after the first turn of a call."""

    def __init__(self) -> None:
        self.strategies: list[Any] = default_user_turn_stop_strategies()
        # seconds of the clock: when the last verdict was asked for, and when it is there
        self.verdict = (0.0, 0.0)
        for strategy in self.strategies:
            analyzer = strategy._turn_analyzer
            analyzer._predict_endpoint = partial(self._timed, analyzer._predict_endpoint)

    async def forget(self) -> None:
        """Nothing is left of the clip before."""
        for strategy in self.strategies:
            await strategy.handle_user_turn_stopped()

    def _timed(self, predict: Callable[[Any], Any], sound: Any) -> Any:
        began = time.thread_time()
        prediction = predict(sound)
        self.verdict = (CLOCK.now, CLOCK.now + time.thread_time() - began)
        return prediction


class Listener:
    """The two controllers on one clip."""

    def __init__(self, model: Model, *, words: bool, lead_ms: int, transcript_ms: float) -> None:
        self.events: list[dict[str, object]] = []
        self._words = words
        self._transcript_s = transcript_ms / 1000
        self._began = CLOCK.now + lead_ms / 1000
        self._model = model
        self._due: list[tuple[float, Frame]] = []
        self._vad = VADController(SileroVADAnalyzer())
        self._turn = UserTurnController(user_turn_strategies=UserTurnStrategies(stop=model.strategies))
        self._vad.add_event_handler("on_speech_started", self._on_speech_started)
        self._vad.add_event_handler("on_speech_stopped", self._on_speech_stopped)
        self._turn.add_event_handler("on_user_turn_started", self._on_turn_started)
        self._turn.add_event_handler("on_user_turn_stopped", self._on_turn_stopped)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Listener"]:
        worker: Any = None
        setup = FrameProcessorSetup(
            clock=SystemClock(),
            task_manager=TaskManager(),
            pipeline_worker=worker,
            audio_in_sample_rate=RATE,
            audio_out_sample_rate=RATE,
        )
        await self._vad.setup(setup)
        await self._turn.setup(setup)
        await self._model.forget()
        await self._turn.process_frame(StartFrame())
        await self._vad.start()
        await self._turn.start()
        await self._turn.process_frame(
            STTMetadataFrame(service_name="recogniser", ttfs_p99_latency=WHISPER_TTFS_P99)
        )
        try:
            yield self
        finally:
            await self._vad.cleanup()
            await self._turn.cleanup()

    async def hear(self, pcm: bytes) -> None:
        """20 ms of the caller, heard whole when the clock has gone on by them."""
        CLOCK.now += FRAME_MS / 1000
        await _settle()
        frame = InputAudioRawFrame(audio=pcm, sample_rate=RATE, num_channels=1)
        await self._vad.process_frame(frame)
        await self._turn.process_frame(frame)
        while self._due and self._due[0][0] <= CLOCK.now:
            await self._turn.process_frame(self._due.pop(0)[1])
        await _settle()

    async def _on_speech_started(self, controller: VADController) -> None:
        start_secs = controller._vad_analyzer.params.start_secs
        self._due.append((CLOCK.now, VADUserStartedSpeakingFrame(start_secs=start_secs)))

    async def _on_speech_stopped(self, controller: VADController) -> None:
        stop_secs = controller._vad_analyzer.params.stop_secs
        self._due.append((CLOCK.now, VADUserStoppedSpeakingFrame(stop_secs=stop_secs)))
        if self._words:
            words = TranscriptionFrame(text="words", user_id="caller", timestamp="", finalized=True)
            self._due.append((CLOCK.now + self._transcript_s, words))
        self._due.sort(key=lambda due: due[0])

    async def _on_turn_started(self, _controller: object, strategy: object, _params: object) -> None:
        self.events.append({"ms": self._ms(CLOCK.now), "what": "started", "by": _name(strategy)})

    async def _on_turn_stopped(self, _controller: object, strategy: object, _params: object) -> None:
        asked, there = self._model.verdict
        model_ms = round((there - asked) * 1000) if there > CLOCK.now else 0
        event = {"ms": self._ms(max(there, CLOCK.now)), "what": "stopped", "by": _name(strategy)}
        self.events.append(event | {"model_ms": model_ms})

    def _ms(self, at: float) -> int:
        return round((at - self._began) * 1000)


def _name(strategy: object) -> str:
    return type(strategy).__name__ if strategy else "timeout"


async def _settle() -> None:
    for _ in range(_TURNS_OF_THE_LOOP):
        await asyncio.sleep(0)


def frames(path: Path, lead_ms: int, tail_ms: int) -> Iterator[bytes]:
    """The clip with silence around it, 20 ms each."""
    with wave.open(str(path)) as file:
        if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (RATE, 1, 2):
            raise SystemExit(f"{path} is not 8 kHz mono 16-bit")
        pcm = file.readframes(file.getnframes())
    lead, tail = (bytes(ms // FRAME_MS * _FRAME_BYTES) for ms in (lead_ms, tail_ms))
    pcm = lead + pcm + bytes(-len(pcm) % _FRAME_BYTES) + tail
    return (pcm[at : at + _FRAME_BYTES] for at in range(0, len(pcm), _FRAME_BYTES))


async def main() -> None:
    request = json.load(sys.stdin)
    lead_ms = request.get("lead_ms", 2000) // FRAME_MS * FRAME_MS
    model = Model()
    decided = {}
    for number, clip in enumerate(request["clips"], 1):
        listener = Listener(
            model,
            words=clip.get("words", True),
            lead_ms=lead_ms,
            transcript_ms=request.get("transcript_ms", 0),
        )
        async with listener.running():
            for pcm in frames(Path(clip["wav"]), lead_ms, request.get("tail_ms", 6500)):
                await listener.hear(pcm)
        decided[clip["name"]] = listener.events
        print(f"{number} of {len(request['clips'])}: {clip['name']}", file=sys.stderr, flush=True)
    json.dump({"version": version("pipecat-ai"), "clips": decided}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
