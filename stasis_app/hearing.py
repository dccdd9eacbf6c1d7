"""What the caller said: utterances to words, each recognised once however often it is asked for."""

import asyncio
from collections.abc import Sequence

from gpu_workers.client import Priority, SttClient, Transcript
from media_bridge.events import Utterance
from stasis_app.interruption import first_words
from stasis_app.short_words import language_code

_PARTIAL_DEADLINE_MS = 1000
_GAP_S = 0.2  # of silence between utterances that are read as one
LESS_BEFORE_S = 0.16


class Hearing:
    """The recogniser of one call. Keeps the newest answers, so that judging and answering share one request.

    `language`: that of the profile, "de-AT" as well; recognisers know the code alone.
    """

    def __init__(self, stt: SttClient, call_id: str, language: str | None) -> None:
        self._stt = stt
        self._call_id = call_id
        self._language = language_code(language)
        self._known: dict[tuple[tuple[int, int], ...], Transcript] = {}

    async def words(
        self,
        utterances: Sequence[Utterance],
        priority: Priority,
        deadline_ms: int,
        first_words: Sequence[str] = (),
    ) -> Transcript:
        """The words of these utterances, all of one rate, read as one. Raises WorkerError."""
        key = tuple((u.number, len(u.pcm)) for u in utterances)
        if key not in self._known:
            rate = utterances[0].rate
            pcm = bytes(2 * int(rate * _GAP_S)).join(u.pcm for u in utterances)
            transcript = await self._transcribe(pcm, rate, priority, deadline_ms, first_words)
            self._known = {key: transcript}
        return self._known[key]

    async def partial(self, utterance: Utterance) -> Transcript:
        """What can be understood of an utterance that goes on. Raises WorkerError."""
        return await self._transcribe(utterance.pcm, utterance.rate, "partial", _PARTIAL_DEADLINE_MS)

    async def in_time(self, utterance: Utterance, deadline_ms: int) -> Transcript:
        """One utterance over the bot, for a decision that waits for it. Raises WorkerError, TimeoutError."""
        async with asyncio.timeout(deadline_ms / 1000):
            return await self.words((utterance,), "final", deadline_ms, first_words(self._language))

    async def again(self, utterance: Utterance, deadline_ms: int) -> Transcript:
        """The same utterance with less quiet before it, which a recogniser that guesses reads differently.

        Raises WorkerError, TimeoutError.
        """
        pcm = utterance.pcm[2 * int(utterance.rate * LESS_BEFORE_S) :]
        async with asyncio.timeout(deadline_ms / 1000):
            return await self._transcribe(pcm, utterance.rate, "final", deadline_ms)

    async def _transcribe(
        self, pcm: bytes, rate: int, priority: Priority, deadline_ms: int, first_words: Sequence[str] = ()
    ) -> Transcript:
        return await self._stt.transcribe(
            pcm,
            rate,
            priority=priority,
            deadline_ms=deadline_ms,
            call_id=self._call_id,
            language=self._language,
            first_words=first_words,
        )
