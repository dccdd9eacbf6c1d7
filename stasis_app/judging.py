"""Whether speech over the bot was meant for it: its words, read while the bot is silent, or while it goes on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gpu_workers.client import Transcript
from gpu_workers.errors import WorkerError
from media_bridge.events import Utterance
from stasis_app.conversation import Event, InterruptionJudged, OngoingJudged, Phase
from stasis_app.interruption import Reading, first_words, is_meant, wants_second_reading
from stasis_app.turn import Parts

log = logging.getLogger(__name__)

_DEADLINE_MS = 1500
_WORDS_MS = 400  # voice for this long is taken for words when nobody can read them


class Judges:
    """Each verdict comes as an event, through a task of the call's group. What was understood of speech that went on
    says nothing any more once it has paused, and is not told.
    """

    def __init__(self, parts: Parts, post: Callable[[Event], None], group: asyncio.TaskGroup) -> None:
        self._parts = parts
        self._post = post
        self._group = group
        self._judging: set[asyncio.Task[None]] = set()
        self._ongoing: asyncio.Task[None] | None = None

    def judge(self, number: int, utterance: Utterance, over: Phase) -> None:
        """Speech that has paused."""
        self._forget_ongoing()
        self._begin(lambda: _judge(number, utterance, over, self._parts))

    def judge_ongoing(self, number: int, over: Phase) -> None:
        """Speech that goes on: what can be understood of it so far."""
        self._forget_ongoing()
        self._ongoing = self._begin(lambda: _judge_ongoing(number, over, self._parts))

    def stop(self) -> None:
        for one in self._judging:
            one.cancel()

    def _forget_ongoing(self) -> None:
        if self._ongoing is not None:
            self._ongoing.cancel()

    def _begin(self, verdict: Callable[[], Awaitable[Event | None]]) -> asyncio.Task[None]:
        task = self._group.create_task(self._tell(verdict))
        self._judging.add(task)
        task.add_done_callback(self._judging.discard)
        return task

    async def _tell(self, verdict: Callable[[], Awaitable[Event | None]]) -> None:
        if (event := await verdict()) is not None:
            self._post(event)


async def _judge(number: int, utterance: Utterance, over: Phase, parts: Parts) -> InterruptionJudged:
    return InterruptionJudged(number, utterance, await _means(utterance, over, parts))


async def _judge_ongoing(number: int, over: Phase, parts: Parts) -> OngoingJudged | None:
    """None if the speech has just paused, and is judged for that."""
    utterance = parts.media.so_far()
    if utterance is None:
        return None
    return OngoingJudged(number, await _means(utterance, over, parts))


async def _means(utterance: Utterance, over: Phase, parts: Parts) -> bool:
    said = await _read(parts.hearing.in_time(utterance, _DEADLINE_MS), parts)
    if said is None:
        return utterance.voiced_ms >= _WORDS_MS
    heard = parts.media.heard() if over is not Phase.THINKING else None  # also of a turn that has ended
    language = parts.profile.language or said.language
    asked = first_words(language)  # that of the words, if the profile names none
    once = Reading(said.text, said.avg_logprob, said.first_words_logprob if asked else None)
    again: Reading | None = None
    if wants_second_reading(once, heard, language):
        other = await _read(parts.hearing.again(utterance, _DEADLINE_MS), parts)
        again = Reading(other.text, other.avg_logprob) if other else None
    return is_meant(once, heard, language, again)


async def _read(reading: Awaitable[Transcript], parts: Parts) -> Transcript | None:
    """None if nobody can."""
    try:
        return await reading
    except (WorkerError, TimeoutError) as error:
        log.warning("call %s: an interruption could not be read in time: %s", parts.call_id, error)
        return None
