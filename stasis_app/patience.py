"""How long a caller is left in silence while an answer is made: a filler bridges it, and in the end an apology."""

import asyncio
from dataclasses import dataclass

from media_bridge.heard import Heard, HeardSentence
from media_bridge.session import MediaSession
from stasis_app.settings import Profile
from stasis_app.turn import Parts, Turn

UNREAD_FILLER_S = 1.2
UNREAD_LIMIT_S = 4.0
"""The same two while not even the caller's words are known: reading them takes a fraction of writing an answer."""

_LOOK_EVERY_S = 0.1
_FRAME_S = 0.02  # playout keeps less than a frame of a sentence that is not made to its end


@dataclass(frozen=True, slots=True)
class Waits:
    filler_s: float
    limit_s: float


async def keep_patience(turn: Turn, parts: Parts) -> None:
    """From the release of an answer on, for as long as it is made. Raises TimeoutError when it is too late.

    A filler is played once for each silence, between two sentences or before the first, and once more when it goes on
    for a tool or behind one; never while the caller speaks. A sentence whose voice has stopped is broken off first.
    Silence and lateness count from what the caller has really heard, so that neither a pause of playout nor a hold is
    one; but the filler does not make an answer less late.
    """
    clock = asyncio.get_running_loop().time
    await turn.until_released()
    silent_since = late_since = clock()
    filled_after: tuple[float, float] | None = None
    while True:
        now, waits, heard = clock(), _waits(turn, parts.profile), parts.media.heard()
        if parts.media.on_hold or has_more_to_hear(turn, heard):
            silent_since = late_since = now
        elif not all(filler.whole for filler in _fillers(turn, heard)):
            silent_since = now
        if now - max(late_since, turn.advanced) >= waits.limit_s:
            raise TimeoutError
        if now - silent_since >= waits.filler_s:
            if turn.speaking and not turn.speaking.expired() and _is_in_a_sentence(turn, heard):
                turn.speaking.reschedule(now)
            elif filled_after != (turn.sound_until, turn.advanced) and parts.media.so_far() is None:
                filled_after = turn.sound_until, turn.advanced
                await _play_filler(turn, parts)
        await asyncio.sleep(_LOOK_EVERY_S)


async def not_later_than(limit_s: float, turn: Turn, parts: Parts) -> None:
    """For as long as a phrase is made. Raises TimeoutError when nothing of it was to be heard for so long."""
    clock = asyncio.get_running_loop().time
    late_since = clock()
    while clock() - late_since < limit_s:
        await asyncio.sleep(_LOOK_EVERY_S)
        if parts.media.on_hold or has_more_to_hear(turn, parts.media.heard()):
            late_since = clock()
    raise TimeoutError


def _waits(turn: Turn, profile: Profile) -> Waits:
    if turn.caller_text is not None:
        return Waits(profile.filler_s, profile.answer_timeout_s)
    return Waits(min(profile.filler_s, UNREAD_FILLER_S), min(profile.answer_timeout_s, UNREAD_LIMIT_S))


def has_more_to_hear(turn: Turn, heard: Heard) -> bool:
    """Sound of its answer waits to be played, though perhaps less than there will be."""
    if heard.turn != turn.number:
        return False
    answer = [sentence for sentence in heard.sentences if sentence.text]
    if not all(sentence.whole for sentence in answer if sentence.total_samples is not None):
        return True
    return turn.sound_s - sum(sentence.played_samples for sentence in answer) / heard.rate > _FRAME_S


def _fillers(turn: Turn, heard: Heard) -> list[HeardSentence]:
    return [one for one in heard.sentences if not one.text] if heard.turn == turn.number else []


def _is_in_a_sentence(turn: Turn, heard: Heard) -> bool:
    """Its beginning was heard, and its end was not made yet."""
    return heard.turn == turn.number and bool(heard.sentences) and heard.sentences[-1].total_samples is None


def all_was_heard(media: MediaSession, turn: int) -> bool:
    """Nothing of this turn waits to be played, and no sentence of it is open."""
    heard = media.heard()
    return heard.turn != turn or all(sentence.whole for sentence in heard.sentences)


async def _play_filler(turn: Turn, parts: Parts) -> None:
    """It belongs to no answer: it has no text, so it is not remembered."""
    media, profile = parts.media, parts.profile
    pcm = parts.phrases.get(profile.phrases.filler, profile.voice, media.rate)
    if pcm:
        media.begin_sentence(turn.number, "")
        await media.put(turn.number, pcm)
        media.end_sentence(turn.number)
