"""How a turn is made: words heard, an answer written, its sentences spoken while the rest is still being written.

A turn may be made ahead of time. Until its release nothing of it is heard or remembered; what is ready waits in front
of playout. A turn is one task; cancelling it closes the requests it has open, which is what stops the workers.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing

from gpu_workers.client import Message, Priority, ToolCall
from gpu_workers.errors import WorkerError
from media_bridge.events import longest_pause_ms
from media_bridge.turn_end import end_wait_ms, ending
from media_bridge.turn_end_expected import Expected
from media_bridge.turn_end_waits import Ending
from stasis_app.asking import as_asked
from stasis_app.conversation import GoodbyeWanted, NothingSaid, TurnFailed
from stasis_app.expecting import expecting
from stasis_app.intents import is_farewell
from stasis_app.leaving import last_words, say_ready, until_let_go
from stasis_app.patience import has_more_to_hear, keep_patience, not_later_than
from stasis_app.short_words import language_code
from stasis_app.tools.wanted import EndCall, PutThrough
from stasis_app.turn import Parts, Turn
from stasis_app.voice import Voice
from stasis_app.writing import Limits, sentences

log = logging.getLogger(__name__)

_TICK_S = 0.02
_MOST_ROUNDS = 4  # requests to the model in one turn
_MOST_WRONG = 1  # of them that the model is told of: then it will not get it right


async def say_phrases(turn: Turn, texts: Sequence[str], parts: Parts) -> None:
    """Speak ready phrases; the TTS worker is only asked for one that was never made."""
    said = [text for text in texts if text]
    if not said:
        parts.post(NothingSaid(turn.number))
        return
    voice = Voice(turn, parts)
    turn.let_out()
    try:
        for text in said:
            pcm = parts.phrases.get(text, parts.profile.voice, parts.media.rate)
            if pcm is None:
                async with asyncio.TaskGroup() as group:
                    patience = group.create_task(not_later_than(parts.profile.answer_timeout_s, turn, parts))
                    await voice.speak(text)
                    patience.cancel()
            else:
                await voice.play(text, pcm)
    except* (WorkerError, TimeoutError) as errors:
        _worker_failed(turn, parts, errors.exceptions[0])
    else:
        voice.finish()


async def answer(turn: Turn, parts: Parts, now: Callable[[], float]) -> None:
    """Make the answer to what `turn` holds of the caller, and let it be heard when the turn is released."""
    try:
        async with asyncio.TaskGroup() as group:
            patience = group.create_task(keep_patience(turn, parts))
            leave = await _answer(turn, parts, now)
            patience.cancel()
        if leave:
            await until_let_go(turn, leave, parts)
    except* (WorkerError, TimeoutError) as errors:
        await _let_it_be_heard(turn, parts)
        _worker_failed(turn, parts, errors.exceptions[0])


async def _answer(turn: Turn, parts: Parts, now: Callable[[], float]) -> PutThrough | EndCall | None:
    expected = expecting(parts.history, parts.profile)
    turn.caller_text = await _words(turn, parts, expected)
    turn.times.stt_done = now()
    if not turn.caller_text:
        question = parts.history.unanswered()
        if not question:
            parts.post(NothingSaid(turn.number))
            return None
        turn.answer_anew(question)
    turn.remember_caller(parts.history)
    # "bye bye bye" is what Whisper makes of "five five five": a number that is asked for is no farewell
    listing = ending(turn.caller_text, expected, turn.language) is Ending.LISTING
    if is_farewell(turn.caller_text, turn.language) and not listing:
        await turn.until_released()
        parts.post(GoodbyeWanted(turn.number))
        return None
    voice = Voice(turn, parts, now)
    leave = await _write(turn, parts, voice, now)
    if leave:
        await last_words(leave, voice, parts)
        return leave
    if not voice.spoke:
        raise WorkerError("the LLM worker answered nothing", retryable=True, worker="llm")
    voice.finish()
    return None


async def _write(
    turn: Turn, parts: Parts, voice: Voice, now: Callable[[], float]
) -> PutThrough | EndCall | None:
    """Speak what the model writes, run what it calls for and let it go on from there. Raises WorkerError."""
    # the history holds the caller's words already when the turn was released first
    asked = as_asked(parts.history.messages("" if turn.remembered else turn.caller_text or ""))
    calls, wrong, limits = parts.tools.agreed(turn), 0, Limits.of(parts.profile)
    for _ in range(_MOST_ROUNDS):
        said = "" if calls else await _speak(turn, parts, voice, now, asked, calls, limits)
        if not calls:
            return None
        outcome = await parts.tools.run(turn, calls, said)
        if not outcome.told:
            await say_ready(outcome.ask, voice, parts)
            return outcome.leave
        wrong += outcome.wrong
        if wrong > _MOST_WRONG:
            raise WorkerError("the model calls tools wrongly", retryable=False, worker="llm")
        asked += outcome.told
        calls = []
    raise WorkerError("the model does not stop calling tools", retryable=False, worker="llm")


async def _speak(
    turn: Turn,
    parts: Parts,
    voice: Voice,
    now: Callable[[], float],
    asked: Sequence[Message],
    calls: list[ToolCall],
    limits: Limits,
) -> str:
    """What the model wrote before its `calls`."""
    said = []
    async with aclosing(sentences(turn, parts, asked, now, calls, limits)) as speakable:
        async for sentence in speakable:
            said.append(sentence)
            await voice.try_to_speak(sentence)
    return " ".join(said)


async def _let_it_be_heard(turn: Turn, parts: Parts) -> None:
    """What was made before a failure is heard before the apology, however long playout pauses or the caller holds."""
    while has_more_to_hear(turn, parts.media.heard()):  # noqa: ASYNC110 - playout tells nobody how far it is
        await asyncio.sleep(_TICK_S)


async def _words(turn: Turn, parts: Parts, expected: Expected | None) -> str:
    """What the caller said and keyed; it decides how long a silence ends the turn. Raises WorkerError."""
    if not turn.utterances:
        return turn.keyed
    last = turn.utterances[-1].number
    parts.media.set_end_wait(last, parts.end_waits.wordless_ms)
    deadline_ms = round(parts.profile.answer_timeout_s * 1000)
    priority: Priority = "final" if turn.released else "eager"
    heard = await parts.hearing.words(turn.utterances, priority, deadline_ms)
    said = " ".join(filter(None, (heard.text.strip(), turn.keyed)))
    turn.language = language_code(parts.profile.language or heard.language)
    wait_ms = end_wait_ms(
        said,
        expected,
        parts.end_waits,
        heard.turn_end,
        heard.avg_logprob,
        longest_pause_ms(turn.utterances),
        turn.language,
    )
    parts.media.set_end_wait(last, wait_ms)
    return said


def _worker_failed(turn: Turn, parts: Parts, error: BaseException) -> None:
    late = isinstance(error, TimeoutError)
    parts.metrics.worker_errors.labels(error.worker if isinstance(error, WorkerError) else "late").inc()
    reason = "nothing to be heard for too long" if late else error
    log.warning(
        "call %s turn %d (%s) failed: %s", parts.call_id, turn.number, turn.saying.name.lower(), reason
    )
    parts.post(TurnFailed(turn.number))
