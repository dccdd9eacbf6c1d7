"""The way from sentences to playout for one turn. The TTS worker makes a sentence while the one before it plays."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gpu_workers.errors import WorkerError
from media_bridge.resample import Resampler
from stasis_app.seams import Sound
from stasis_app.turn import Parts, Turn

log = logging.getLogger(__name__)

_FAILURES = 2  # sentences in a row that could not be spoken


class Voice:
    def __init__(self, turn: Turn, parts: Parts, now: Callable[[], float] | None = None) -> None:
        self._turn = turn
        self._parts = parts
        self._now = now
        self._failures = 0
        self._began = False  # the sentence that is being spoken
        self.spoke = False

    async def try_to_speak(self, sentence: str) -> None:
        """Speak it; one that cannot be had is left out. Raises WorkerError after two left out in a row.

        The client has asked twice by then. One that breaks off in the middle is not begun again: the caller would hear
        it twice.
        """
        self._began = False
        try:
            await self.speak(sentence)
        except WorkerError as error:
            self._parts.metrics.worker_errors.labels("tts").inc()
            log.warning("call %s: a sentence was not spoken: %s", self._parts.call_id, error)
            if self._began:
                self._break_off(sentence)
            if not error.retryable:
                raise
        else:
            self._failures = 0
            return
        self._failures += 1
        await self._leave_out(sentence)
        if self._failures >= _FAILURES or not self.spoke:
            raise WorkerError("the TTS worker does not speak", retryable=True, worker="tts")

    def _break_off(self, sentence: str) -> None:
        """It was heard in part. All its sound is there, or nobody would ever have heard it to its end."""
        self._turn.broken.add(sentence)
        self._parts.media.end_sentence(self._turn.number)

    async def _leave_out(self, sentence: str) -> None:
        """It has its place among what was said, and no sound."""
        if self.spoke and not self._began:
            await self._turn.until_released()
            self._parts.media.begin_sentence(self._turn.number, sentence)
            self._parts.media.end_sentence(self._turn.number)

    async def speak(self, sentence: str) -> None:
        """Raises WorkerError."""
        async with (
            self._parts.tts.speak(
                sentence,
                voice=self._parts.profile.voice,
                call_id=self._parts.call_id,
                left_ms=self._left_ms(),
            ) as speech,
            self._may_be_broken_off(),
        ):
            await self._take(sentence, speech)

    async def _take(self, sentence: str, speech: Sound) -> None:
        resampler = Resampler(speech.rate, self._parts.media.rate)
        async for chunk in speech:
            pcm = resampler.feed(chunk)
            if not self._began:
                await self._begin(sentence)
            await self._put(pcm)
        if self._began:
            await self._put(resampler.feed(b"", last=True))
            self._parts.media.end_sentence(self._turn.number)

    @asynccontextmanager
    async def _may_be_broken_off(self) -> AsyncIterator[None]:
        """By who waits for its sound no longer. Raises WorkerError."""
        try:
            async with asyncio.timeout(None) as self._turn.speaking:
                yield
        except TimeoutError as error:
            raise WorkerError(
                "the TTS worker fell silent in mid-sentence", retryable=True, worker="tts"
            ) from error
        finally:
            self._turn.speaking = None

    def _left_ms(self) -> int:
        """How long the caller still hears what was made before."""
        left_s = self._turn.sound_until - asyncio.get_running_loop().time()
        return max(0, round(left_s * 1000))

    async def play(self, text: str, pcm: bytes) -> None:
        await self._begin(text)
        await self._put(pcm)
        self._parts.media.end_sentence(self._turn.number)

    def finish(self) -> None:
        self._parts.media.end_turn(self._turn.number)

    async def _begin(self, text: str) -> None:
        turn = self._turn
        if turn.times.first_audio is None and self._now:
            turn.times.first_audio = self._now()
        await turn.until_released()
        self.spoke = self._began = True
        self._parts.media.begin_sentence(turn.number, text)

    async def _put(self, pcm: bytes) -> None:
        turn, lasts_s = self._turn, len(pcm) / 2 / self._parts.media.rate
        turn.sound_until = max(turn.sound_until, asyncio.get_running_loop().time()) + lasts_s
        if not await self._parts.media.put(turn.number, pcm):
            # flushed: whoever flushed cancels this task, which is the only way out of here
            await asyncio.Event().wait()
        turn.sound_s += lasts_s
