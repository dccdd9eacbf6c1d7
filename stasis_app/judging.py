"""Whether speech over the bot was meant for it: its words, read while the bot is silent, or while it goes on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gpu_workers.client import Transcript
from gpu_workers.errors import WorkerError
from media_bridge.events import Utterance
from stasis_app.conversation import Event, InterruptionJudged, OngoingJudged, Phase
from stasis_app.interruption import is_meant
from stasis_app.turn import Parts

log = logging.getLogger(__name__)

_DEADLINE_MS = 1500
_WORDS_MS = 400  # voice for this long is taken for words when nobody can read them


class Judges:
    """Each verdict comes as an event, through a task of the call's group."""

    def __init__(self, parts: Parts, post: Callable[[Event], None], group: asyncio.TaskGroup) -> None:
        self._parts = parts
        self._post = post
        self._group = group
        self._judging: list[asyncio.Task[None]] = []

    def judge(self, number: int, utterance: Utterance, over: Phase) -> None:
        """Speech that has paused."""
        self._begin(lambda: _judge(number, utterance, over, self._parts))

    def judge_ongoing(self, number: int, over: Phase) -> None:
        """Speech that goes on: what can be understood of it so far."""
        self._begin(lambda: _judge_ongoing(number, over, self._parts))

    def stop(self) -> None:
        for one in self._judging:
            one.cancel()

    def _begin(self, verdict: Callable[[], Awaitable[Event | None]]) -> None:
        self._judging.append(self._group.create_task(self._tell(verdict)))

    async def _tell(self, verdict: Callable[[], Awaitable[Event | None]]) -> None:
        if (event := await verdict()) is not None:
            self._post(event)


async def _judge(number: int, utterance: Utterance, over: Phase, parts: Parts) -> InterruptionJudged:
    meant = _means(await _read(utterance, parts), utterance, over, parts)
    return InterruptionJudged(number, utterance, meant)


async def _judge_ongoing(number: int, over: Phase, parts: Parts) -> OngoingJudged | None:
    """None if the speech has just paused, and is judged for that."""
    utterance = parts.media.so_far()
    if utterance is None:
        return None
    return OngoingJudged(number, _means(await _read(utterance, parts), utterance, over, parts))


async def _read(utterance: Utterance, parts: Parts) -> Transcript | None:
    """None if nobody can."""
    try:
        return await parts.hearing.in_time(utterance, _DEADLINE_MS)
    except (WorkerError, TimeoutError) as error:
        log.warning("call %s: an interruption could not be read in time: %s", parts.call_id, error)
        return None


def _means(said: Transcript | None, utterance: Utterance, over: Phase, parts: Parts) -> bool:
    if said is None:
        return utterance.voiced_ms >= _WORDS_MS
    heard = parts.media.heard() if over is Phase.SPEAKING else None
    return is_meant(said.text, heard, said.avg_logprob, parts.profile.language or said.language)
