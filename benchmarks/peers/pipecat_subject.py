"""`pipecat-ai` with `pipecat-asterisk` as a subject of `benchmarks.media`. In its own environment, on Python 3.12+.

The medium is chan_websocket with `slin` at 8 kHz: `pipecat-asterisk` is the server that Asterisk dials, and speaks no
RTP. So `listening` names one address for all calls, and the callers are `benchmarks.peers.stream_callers websocket`.

Included, all of it the packages' own code with its defaults: uvicorn and FastAPI as in the package's example, one
`PipelineWorker` and `WorkerRunner` a call, `AsteriskWebsocketTransport` with its serializer and flow control, 8 kHz
both ways as its README advises (so nothing is resampled on the way in), and `VADProcessor` with `SileroVADAnalyzer`.
The bot's sentences come as from a voice service, `TTSAudioRawFrame`s of 100 ms at 22.05 kHz between `TTSStartedFrame`
and `TTSStoppedFrame`, five times faster than they are spoken; the output transport resamples them. It sends them ahead
of time in pieces of a second, as Asterisk paces.

Not included: speech recognition, language model, voice, the aggregators, and (without `--turns`) the decision that a
turn is over: pauses are those of the VAD. With `--turns` its default turn detection (Smart Turn v3 on each pause)
decides; turns that begin would interrupt the bot, so that it would say less than the others: interruptions are ignored
in both. Logging is off below errors (by default it writes DEBUG lines, which cost more).
"""

import argparse
import asyncio
import os
from collections import Counter
from typing import Any

# read on import; its warnings are of messages that mean nothing here
os.environ.setdefault("LOGURU_LEVEL", "ERROR")

import uvicorn
from fastapi import FastAPI, WebSocket
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    InputTransportMessageFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    UserStoppedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.turns.user_start import TranscriptionUserTurnStartStrategy, VADUserTurnStartStrategy
from pipecat.turns.user_stop import TurnAnalyzerUserTurnStopStrategy
from pipecat.turns.user_turn_processor import UserTurnProcessor
from pipecat.turns.user_turn_strategies import UserTurnStrategies, default_user_turn_stop_strategies
from pipecat.workers.runner import WorkerRunner
from pipecat_asterisk import AsteriskWebsocketTransport

from benchmarks.peers.seam import VOICE_RATE, Answered, Seam, talk, voice

RATE = 8000
_PIECE_BYTES = VOICE_RATE // 10 * 2
_PIECE_EVERY_S = 0.02


class Bot(FrameProcessor):
    """In the place of recognition, model and voice: counts what comes, says sentences."""

    def __init__(self, number: int, calls: "Calls", *, turns: bool) -> None:
        super().__init__()
        self._number = number
        self._calls = calls
        self._counts = calls.counts
        self._utterance_end = UserStoppedSpeakingFrame if turns else VADUserStoppedSpeakingFrame

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):
            self._counts["heard"] += 1
        elif isinstance(frame, self._utterance_end) and direction is FrameDirection.DOWNSTREAM:
            self._counts["utterances"] += 1
        elif isinstance(frame, InputTransportMessageFrame) and direction is FrameDirection.DOWNSTREAM:
            # MEDIA_START has come through the pipeline
            await self._calls.answered.add()
        await self.push_frame(frame, direction)

    async def talk(self) -> None:
        await talk(self._number, self._calls.voice, self._say)

    async def _say(self, said: bytes) -> None:
        context = f"sentence of call {self._number}"
        await self.push_frame(TTSStartedFrame(context_id=context))
        for at in range(0, len(said), _PIECE_BYTES):
            piece = said[at : at + _PIECE_BYTES]
            await self.push_frame(
                TTSAudioRawFrame(audio=piece, sample_rate=VOICE_RATE, num_channels=1, context_id=context)
            )
            await asyncio.sleep(_PIECE_EVERY_S)
        await self.push_frame(TTSStoppedFrame(context_id=context))


def turn_processor() -> UserTurnProcessor:
    """The default strategies, except that a turn does not interrupt the bot and waits for no transcript."""
    stop = default_user_turn_stop_strategies()
    for strategy in stop:
        if isinstance(strategy, TurnAnalyzerUserTurnStopStrategy):
            strategy.wait_for_transcript = False
    start = [
        VADUserTurnStartStrategy(enable_interruptions=False),
        TranscriptionUserTurnStartStrategy(enable_interruptions=False),
    ]
    return UserTurnProcessor(user_turn_strategies=UserTurnStrategies(start=start, stop=stop))


class Calls:
    """One pipeline a websocket."""

    def __init__(self, *, turns: bool) -> None:
        self._turns = turns
        self.voice = voice()
        self.counts: Counter[str] = Counter()
        self.answered = Answered()
        # what is loaded once in a process anyway is loaded before the first call
        SileroVADAnalyzer(sample_rate=RATE)

    async def serve(self, number: int, websocket: WebSocket) -> None:
        transport = AsteriskWebsocketTransport(websocket=websocket)
        bot = Bot(number, self, turns=self._turns)
        steps: list[Any] = [transport.input(), VADProcessor(vad_analyzer=SileroVADAnalyzer())]
        if self._turns:
            steps.append(turn_processor())
        worker = PipelineWorker(
            Pipeline([*steps, bot, transport.output()]),
            params=PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE),
        )
        runner = WorkerRunner(handle_sigint=False)

        @transport.event_handler("on_client_disconnected")
        async def on_client_disconnected(_transport: Any, _websocket: Any) -> None:
            await worker.cancel()

        await runner.add_workers(worker)
        talking = asyncio.create_task(bot.talk())
        try:
            await runner.run()
        finally:
            talking.cancel()


def application(calls: Calls) -> FastAPI:
    app = FastAPI()

    @app.websocket("/call/{number}")
    async def call(websocket: WebSocket, number: int) -> None:
        await websocket.accept(subprotocol="media")
        await calls.serve(number, websocket)

    return app


async def serve(app: FastAPI) -> tuple[int, "asyncio.Task[None]"]:
    """uvicorn with its defaults: its port, and the task it runs in."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    return server.servers[0].sockets[0].getsockname()[1], task


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", action="store_true", help="with its default end-of-turn decision")
    chosen = parser.parse_args()
    seam = await Seam.opened()
    calls = Calls(turns=chosen.turns)
    port, _server = await serve(application(calls))
    seam.tell({"ready": True})
    count = (await seam.hear("open"))["open"]
    seam.tell({"listening": [["127.0.0.1", port]] * count})
    await calls.answered.wait(count)
    seam.tell({"answered": count})
    await seam.hear("close")
    seam.close(calls.counts)


if __name__ == "__main__":
    asyncio.run(main())
