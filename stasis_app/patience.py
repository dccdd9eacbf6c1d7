"""How long a caller is left in silence while an answer is made: a filler bridges it, and in the end an apology."""

import asyncio
from dataclasses import dataclass

from media_bridge.session import MediaSession
from stasis_app.settings import Profile
from stasis_app.turn import Parts, Turn

UNREAD_FILLER_S = 1.2
UNREAD_LIMIT_S = 4.0
"""The same two while not even the caller's words are known: reading them takes a fraction of writing an answer."""

_LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Waits:
    filler_s: float
    limit_s: float


async def keep_patience(turn: Turn, parts: Parts) -> None:
    """From the release of an answer on, for as long as it is made. Raises TimeoutError when it is too late.

    A filler is played once for each silence, between two sentences or before the first, and once more when it goes on
    for a tool or behind one; never while the caller speaks. Silence counts from what the caller has really heard, so
    that neither a pause of playout nor a hold is one.
    """
    clock = asyncio.get_running_loop().time
    await turn.until_released()
    began = silent_since = clock()
    filled_after: tuple[float, float] | None = None
    while True:
        now, waits = clock(), _waits(turn, parts.profile)
        if now - max(began, turn.sound_until, turn.advanced) >= waits.limit_s:
            raise TimeoutError
        if parts.media.on_hold or not all_was_heard(parts.media, turn.number):
            silent_since = now
        elif (
            now - silent_since >= waits.filler_s
            and filled_after != (turn.sound_until, turn.advanced)
            and parts.media.so_far() is None
        ):
            filled_after = turn.sound_until, turn.advanced
            await _play_filler(turn, parts)
        await asyncio.sleep(_LOOK_EVERY_S)


def _waits(turn: Turn, profile: Profile) -> Waits:
    if turn.caller_text is not None:
        return Waits(profile.filler_s, profile.answer_timeout_s)
    return Waits(min(profile.filler_s, UNREAD_FILLER_S), min(profile.answer_timeout_s, UNREAD_LIMIT_S))


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
