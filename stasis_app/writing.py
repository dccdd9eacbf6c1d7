"""The answer as the model writes it, in sentences that can be spoken, each as soon as it can be said."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Self, TypeVar

from gpu_workers.client import Message, ToolCall
from stasis_app.answer_cap import AnswerCap
from stasis_app.recital import Guard, Protected
from stasis_app.sentences import SentenceChunker
from stasis_app.settings import Profile
from stasis_app.speakable import Speakable
from stasis_app.tools.written import WrittenCalls
from stasis_app.turn import Parts, Turn

log = logging.getLogger(__name__)

# the sooner the first chunk closes, the sooner sound starts; the rest is made while it plays
FIRST_CHARS, FIRST_MAX_CHARS = 10, 45

OPENER_S = 0.06
"""A model that has written a "Yes," and no more by then is slow: it is spoken, what follows is made meanwhile."""

FIRST_PHRASE_S = 0.35
"""A model this slow has its first chunk closed where a voice may pause, comma or not."""

FIRST_CHUNK_S = 1.2
"""A first chunk is spoken so long after its first token, as far as it goes."""

LULL_S = 0.3
"""The model has paused: a sentence that looks whole is spoken without waiting for what follows it."""

Piece = TypeVar("Piece")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one answer is held against, in however many requests to the model it is written."""

    guard: Guard
    cap: AnswerCap

    @classmethod
    def of(cls, profile: Profile) -> Self:
        cap = AnswerCap(profile.max_answer_chars, profile.max_answer_sentences, profile.max_answer_s)
        return cls(Guard(Protected.of(profile)), cap)


async def sentences(
    turn: Turn,
    parts: Parts,
    messages: Sequence[Message],
    now: Callable[[], float],
    calls: list[ToolCall],
    limits: Limits,
) -> AsyncGenerator[str, None]:
    """Raises WorkerError. Too long an answer is cut behind a sentence, one that reads out the private instructions
    ends with a sentence of the profile. That closes the request; a cut answer with tools is read on, unspoken, up to
    its `max_tokens`, since models call behind what they say. What ends there ends behind its last whole sentence.

    At the end `calls` holds what the model called for, whether it made the call or wrote it down.
    """
    profile = parts.profile
    chunker = SentenceChunker(
        first_chars=FIRST_CHARS, first_max_chars=FIRST_MAX_CHARS, language=profile.language
    )
    speakable = Speakable(profile.language, profile.pronounced)
    guard, cap, cut = limits.guard, limits.cap, False
    first_token: float | None = None  # of this request; the turn's may be that of one before it
    offers = parts.tools.offered
    written_calls = WrittenCalls(frozenset(profile.tools.names()))
    async with (
        parts.llm.stream(
            messages,
            max_tokens=profile.max_tokens,
            temperature=profile.temperature,
            call_id=parts.call_id,
            tools=offers,
        ) as written,
        aclosing(with_lulls(aiter(written), LULL_S)) as pieces,
    ):
        async for piece in pieces:
            if isinstance(piece, str):
                first_token = first_token or now()
                turn.times.first_token = turn.times.first_token or first_token
                cut = cap.write(piece) or cut
                chunks = chunker.feed(written_calls.feed(piece))
            elif piece is None:
                chunks = chunker.close_sentence()
            else:
                calls += (
                    [piece] if offers else []
                )  # without tools a call is no speech, and nothing else either
                continue
            if chunker.opening and not chunks:
                chunks = _overdue(chunker, now() - (first_token or now()))
            for sentence in _sayable(chunks, speakable, guard):
                if not cut:
                    turn.times.first_sentence = turn.times.first_sentence or now()
                    yield sentence
                    cut = cap.speak(sentence, turn.sound_s)
            if guard.recited or (cut and not offers):
                break
    rest, found = written_calls.finish()
    calls += [ToolCall("", call.name, call.arguments) for call in found]
    ended = [*chunker.feed(rest), *chunker.finish(cut_off=written.finish_reason == "length")]
    last = [*_sayable(ended, speakable, guard), *guard.finish()]
    for sentence in () if cut else last:
        turn.times.first_sentence = turn.times.first_sentence or now()
        yield sentence
        if cap.speak(sentence, turn.sound_s):
            break
    if guard.recited:
        calls.clear()  # who was talked into reading out its instructions may have been talked into more
        parts.metrics.recitals.inc()
        log.warning(
            "call %s turn %d: the answer read out the profile's instructions and was stopped",
            parts.call_id,
            turn.number,
        )
        if not cut:
            yield profile.phrases.not_told


def _sayable(chunks: Sequence[str], speakable: Speakable, guard: Guard) -> Iterator[str]:
    for text in filter(None, map(speakable.feed, chunks)):
        yield from guard.feed(text)


def _overdue(chunker: SentenceChunker, waited_s: float) -> list[str]:
    if waited_s >= FIRST_CHUNK_S:
        return chunker.close_first()
    opener = chunker.close_opener() if waited_s >= OPENER_S else []
    return opener or (chunker.close_phrase() if waited_s >= FIRST_PHRASE_S else [])


async def with_lulls(pieces: AsyncIterator[Piece], lull_s: float) -> AsyncGenerator[Piece | None, None]:
    """`pieces`, and None after each `lull_s` in which none came."""
    coming = asyncio.ensure_future(anext(pieces))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=lull_s)
            if not done:
                yield None
                continue
            try:
                piece = coming.result()
            except StopAsyncIteration:
                return
            yield piece
            coming = asyncio.ensure_future(anext(pieces))
    finally:
        coming.cancel()
        await asyncio.wait({coming})
