"""One turn of the bot: words heard, an answer written, its sentences spoken while the rest is still being written.

A turn may be made ahead of time. Until `release` nothing of it is heard or remembered; what is ready waits in front of
playout. A turn is one task; cancelling it closes the requests it has open, which is what stops the workers.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from gpu_workers.client import LlmClient, Message, TtsClient
from gpu_workers.errors import WorkerError
from media_bridge.events import Utterance
from media_bridge.resample import Resampler
from media_bridge.session import MediaSession
from media_bridge.turn_end import EndWaits, end_wait_ms
from media_bridge.turn_end_expected import expected_answer
from stasis_app.conversation import GoodbyeWanted, NothingSaid, Saying, TurnFailed
from stasis_app.hearing import Hearing
from stasis_app.history import History
from stasis_app.intents import is_farewell
from stasis_app.metrics import Metrics, TurnTimes
from stasis_app.phrases import PhraseBook
from stasis_app.sentences import SentenceChunker
from stasis_app.settings import Profile
from stasis_app.speakable import Speakable

log = logging.getLogger(__name__)

# the sooner the first chunk closes, the sooner sound starts; the rest is made while it plays
_FIRST_CHUNK = {"first_chars": 10, "first_max_chars": 45}
_TTS_FAILURES = 2  # sentences in a row that could not be spoken


@dataclass(frozen=True, slots=True)
class Parts:
    """What the turns of one call are made with."""

    call_id: str
    profile: Profile
    media: MediaSession
    hearing: Hearing
    history: History
    llm: LlmClient
    tts: TtsClient
    phrases: PhraseBook
    metrics: Metrics
    end_waits: EndWaits
    post: Callable[[GoodbyeWanted | NothingSaid | TurnFailed], None]


@dataclass(slots=True)
class Turn:
    """The live state of one turn. `utterances`: what it answers; empty for a ready phrase."""

    number: int
    saying: Saying
    utterances: tuple[Utterance, ...] = ()
    times: TurnTimes = field(default_factory=TurnTimes)
    caller_text: str | None = None
    remembered: bool = False
    sound_until: float = (
        0.0  # when what was handed to playout will have been heard, at the earliest [loop time]
    )
    _released: asyncio.Event = field(default_factory=asyncio.Event)
    _first_sound: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def released(self) -> bool:
        return self._released.is_set()

    def release(self, utterance: Utterance, now: float, history: History) -> None:
        """The caller has finished: what was made may be heard and remembered."""
        self.times.speech_end = utterance.ended
        self.times.decision = now
        self._released.set()
        self.remember_caller(history)

    def remember_caller(self, history: History) -> None:
        """Put the caller's words into the history once they are both known and released."""
        if self.released and self.caller_text and not self.remembered:
            self.remembered = True
            history.caller_said(self.caller_text)


async def say_phrase(turn: Turn, text: str, parts: Parts) -> None:
    """Speak a ready phrase; the TTS worker is only asked when the phrase was never made."""
    if not text:
        parts.post(NothingSaid(turn.number))
        return
    voice = _Voice(turn, parts)
    turn._released.set()
    try:
        pcm = parts.phrases.get(text, parts.profile.voice, parts.media.rate)
        if pcm is None:
            async with asyncio.timeout(parts.profile.answer_timeout_s):
                await voice.speak(text)
        else:
            await voice.play(text, pcm)
    except (WorkerError, TimeoutError) as error:
        _worker_failed(turn, parts, error)
        return
    voice.finish()


async def answer(turn: Turn, parts: Parts, now: Callable[[], float]) -> None:
    """Make the answer to `turn.utterances`, and let it be heard when the turn is released."""
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_watch(turn, parts))
            await _answer(turn, parts, now)
            watch.cancel()
    except* (WorkerError, TimeoutError) as errors:
        _worker_failed(turn, parts, errors.exceptions[0])


async def _answer(turn: Turn, parts: Parts, now: Callable[[], float]) -> None:
    heard = await parts.hearing.words(
        turn.utterances, "final" if turn.released else "eager", round(parts.profile.answer_timeout_s * 1000)
    )
    turn.times.stt_done = now()
    turn.caller_text = heard.text.strip()
    if not turn.caller_text:
        parts.post(NothingSaid(turn.number))
        return
    expected = expected_answer(parts.history.last_answer())
    wait_ms = end_wait_ms(turn.caller_text, expected, parts.end_waits)
    parts.media.set_end_wait(turn.utterances[-1].number, wait_ms)
    turn.remember_caller(parts.history)
    if is_farewell(turn.caller_text):
        await turn._released.wait()
        parts.post(GoodbyeWanted(turn.number))
        return
    # the history holds the caller's words already when the turn was released first
    messages = parts.history.messages("" if turn.remembered else turn.caller_text)
    voice = _Voice(turn, parts, now)
    async with aclosing(
        _sentences(turn, parts, [Message(m.role, m.text) for m in messages], now)
    ) as sentences:
        async for sentence in sentences:
            await voice.try_to_speak(sentence)
    if not voice.spoke:
        raise WorkerError("the LLM worker answered nothing", retryable=True, worker="llm")
    voice.finish()


async def _sentences(
    turn: Turn, parts: Parts, messages: Sequence[Message], now: Callable[[], float]
) -> AsyncGenerator[str, None]:
    """The answer as speakable sentences, cut at a sentence when it grows too long."""
    profile, length = parts.profile, 0
    chunker, speakable = SentenceChunker(**_FIRST_CHUNK), Speakable(profile.language)
    async with parts.llm.stream(
        messages, max_tokens=profile.max_tokens, temperature=profile.temperature, call_id=parts.call_id
    ) as deltas:
        async for delta in deltas:
            if not isinstance(delta, str):
                continue  # no tools are offered: a call of one is no speech
            if turn.times.first_token is None:
                turn.times.first_token = now()
            for sentence in filter(None, map(speakable.feed, chunker.feed(delta))):
                turn.times.first_sentence = turn.times.first_sentence or now()
                yield sentence
                length += len(sentence)
                if length >= profile.max_answer_chars:
                    return
    for sentence in filter(None, map(speakable.feed, chunker.finish())):
        turn.times.first_sentence = turn.times.first_sentence or now()
        yield sentence


async def _watch(turn: Turn, parts: Parts) -> None:
    """Bridge a late answer with the filler, and give up on one that is too late or falls silent on its way."""
    profile = parts.profile
    await turn._released.wait()
    async with asyncio.timeout(profile.answer_timeout_s):
        try:
            async with asyncio.timeout(profile.filler_s):
                await turn._first_sound.wait()
        except TimeoutError:
            filler = parts.phrases.get(profile.phrases.filler, profile.voice, parts.media.rate)
            if filler:
                await _Voice(turn, parts).play_aside(filler)
        await turn._first_sound.wait()
    clock = asyncio.get_running_loop().time
    while (patience_s := turn.sound_until + profile.answer_timeout_s - clock()) > 0:  # noqa: ASYNC110 - it waits out a moving date
        await asyncio.sleep(patience_s)
    raise TimeoutError


class _Voice:
    """The way from sentences to playout for one turn."""

    def __init__(self, turn: Turn, parts: Parts, now: Callable[[], float] | None = None) -> None:
        self._turn = turn
        self._parts = parts
        self._now = now
        self._failures = 0
        self._began = False  # the sentence that is being spoken
        self.spoke = False

    async def try_to_speak(self, sentence: str) -> None:
        """Speak it; one that fails twice is left out. Raises WorkerError after two left out in a row.

        One that breaks off in the middle is not begun again: the caller would hear it twice.
        """
        for attempt in (1, 2):
            self._began = False
            try:
                await self.speak(sentence)
            except WorkerError as error:
                self._parts.metrics.worker_errors.labels("tts").inc()
                log.warning(
                    "call %s: a sentence was not spoken (try %d): %s", self._parts.call_id, attempt, error
                )
                if not error.retryable:
                    raise
                if self._began:
                    break
            else:
                self._failures = 0
                return
        self._failures += 1
        if self._failures >= _TTS_FAILURES or not self.spoke:
            raise WorkerError("the TTS worker does not speak", retryable=True, worker="tts")

    async def speak(self, sentence: str) -> None:
        """Raises WorkerError."""
        async with self._parts.tts.speak(
            sentence, voice=self._parts.profile.voice, call_id=self._parts.call_id
        ) as speech:
            resampler = Resampler(speech.rate, self._parts.media.rate)
            async for chunk in speech:
                pcm = resampler.feed(chunk)
                if not self._began:
                    await self._begin(sentence)
                await self._put(pcm)
            if self._began:
                await self._put(resampler.feed(b"", last=True))
                self._parts.media.end_sentence(self._turn.number)

    async def play(self, text: str, pcm: bytes) -> None:
        await self._begin(text)
        await self._put(pcm)
        self._parts.media.end_sentence(self._turn.number)

    async def play_aside(self, pcm: bytes) -> None:
        """Play what belongs to no answer: it has no text, so it is not remembered."""
        media, number = self._parts.media, self._turn.number
        media.begin_sentence(number, "")
        await media.put(number, pcm)
        media.end_sentence(number)

    def finish(self) -> None:
        self._parts.media.end_turn(self._turn.number)

    async def _begin(self, text: str) -> None:
        turn = self._turn
        if turn.times.first_audio is None and self._now:
            turn.times.first_audio = self._now()
        await turn._released.wait()
        turn._first_sound.set()
        self.spoke = self._began = True
        self._parts.media.begin_sentence(turn.number, text)

    async def _put(self, pcm: bytes) -> None:
        lasts_s = len(pcm) / 2 / self._parts.media.rate
        self._turn.sound_until = max(self._turn.sound_until, asyncio.get_running_loop().time()) + lasts_s
        if not await self._parts.media.put(self._turn.number, pcm):
            # flushed: whoever flushed cancels this task, which is the only way out of here
            await asyncio.Event().wait()


def _worker_failed(turn: Turn, parts: Parts, error: BaseException) -> None:
    late = isinstance(error, TimeoutError)
    parts.metrics.worker_errors.labels(error.worker if isinstance(error, WorkerError) else "late").inc()
    reason = f"nothing to be heard for {parts.profile.answer_timeout_s:g} s" if late else error
    log.warning(
        "call %s turn %d (%s) failed: %s", parts.call_id, turn.number, turn.saying.name.lower(), reason
    )
    parts.post(TurnFailed(turn.number))
