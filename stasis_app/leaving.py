"""How a turn leaves the talk: its last words are heard to their end, then it says where to."""

import asyncio
from contextlib import suppress

from gpu_workers.errors import WorkerError
from stasis_app.conversation import HangUpWanted, TransferWanted
from stasis_app.patience import all_was_heard
from stasis_app.speakable import speakable
from stasis_app.tools.wanted import EndCall, PutThrough
from stasis_app.turn import Parts, Turn
from stasis_app.voice import Voice

_LOOK_EVERY_S = 0.1


async def last_words(leave: PutThrough | EndCall, voice: Voice, parts: Parts) -> None:
    """What is said if the model has said nothing. Who cannot be told so is put through all the same."""
    if voice.spoke:
        return
    transfer = parts.profile.tools.transfer
    told = (
        transfer.announcement if isinstance(leave, PutThrough) and transfer else parts.profile.phrases.goodbye
    )
    with suppress(WorkerError):
        await say_ready(told, voice, parts)


async def say_ready(text: str, voice: Voice, parts: Parts) -> None:
    """A ready phrase inside an answer. Raises WorkerError where it was never made and cannot be."""
    if not text:
        return
    profile = parts.profile
    pcm = parts.phrases.get(text, profile.voice, parts.media.rate)
    if pcm is None:
        await voice.try_to_speak(speakable(text, profile.language, profile.pronounced) or text)
    else:
        await voice.play(text, pcm)


async def until_let_go(turn: Turn, leave: PutThrough | EndCall, parts: Parts) -> None:
    """Never returns: the conversation ends this turn by letting it leave, or because the caller wants to go on."""
    number = turn.number
    wanted = TransferWanted(number, leave.target) if isinstance(leave, PutThrough) else HangUpWanted(number)
    while True:
        if all_was_heard(parts.media, number):
            parts.post(wanted)
        await asyncio.sleep(_LOOK_EVERY_S)
