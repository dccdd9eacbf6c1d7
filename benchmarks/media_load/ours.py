"""Our own media plane as a subject (see `subject`): sessions as `stasis_app` opens them, without the conversation.

    python -m benchmarks.media_load.ours

Voice activity detection and the end of turns are on. The bot's voice comes as a voice worker sends it: 22.05 kHz in
pieces of 100 ms, five times faster than it is spoken, through the same resampler and the same bounded queue.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

from benchmarks.media_load.talk import sentences
from media_bridge.events import MediaEvent, SpeechEnded
from media_bridge.plane import MediaPlane
from media_bridge.resample import Resampler
from media_bridge.session import MediaSession
from media_bridge.settings import MediaSettings
from media_bridge.transport import RtpAddress

VOICE_RATE = 22_050
_PIECE_BYTES = VOICE_RATE // 10 * 2
PIECE_EVERY_S = 0.02
SPEAKING = 0.4


class Bot:
    """One call: it speaks a sentence, is silent, and so on."""

    def __init__(self, number: int, voice: list[bytes], counts: Counter[str]) -> None:
        self._rng = random.Random(number)
        self._voice = voice
        self._counts = counts

    def on_event(self, event: MediaEvent) -> None:
        self._counts["utterances"] += isinstance(event, SpeechEnded)

    async def talk(self, session: MediaSession) -> None:
        turn = 0
        await asyncio.sleep(self._rng.uniform(0, 8.0))
        while True:
            turn += 1
            said = self._rng.choice(self._voice)
            seconds = len(said) / 2 / VOICE_RATE
            await self._say(session, turn, said)
            # the queue still plays for up to 2 s of this
            await asyncio.sleep(
                min(seconds, 2.0) + seconds * (1 - SPEAKING) / SPEAKING * self._rng.uniform(0.5, 1.5)
            )

    async def _say(self, session: MediaSession, turn: int, said: bytes) -> None:
        resampler = Resampler(VOICE_RATE, session.rate)
        session.start_turn(turn)
        session.begin_sentence(turn, "A sentence.")
        for at in range(0, len(said), _PIECE_BYTES):
            last = at + _PIECE_BYTES >= len(said)
            await session.put(turn, resampler.feed(said[at : at + _PIECE_BYTES], last))
            await asyncio.sleep(PIECE_EVERY_S)
        session.end_sentence(turn)
        session.end_turn(turn)


async def _line(reader: asyncio.StreamReader) -> dict[str, Any]:
    return dict(json.loads(await reader.readline()))


def _say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


def voice_sentences() -> list[bytes]:
    return [
        Resampler(8000, VOICE_RATE).feed(sound.astype("<i2").tobytes(), last=True) for sound in sentences()
    ]


async def main() -> None:
    voice = voice_sentences()
    counts: Counter[str] = Counter()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    settings = MediaSettings(port_start=20000, port_end=23998)
    async with MediaPlane(settings) as plane:
        _say({"ready": True})
        peers = (await _line(reader))["peers"]
        async with AsyncExitStack() as calls, asyncio.TaskGroup() as talking:
            sessions = []
            tasks = []
            for number, (host, port) in enumerate(peers):
                bot = Bot(number, voice, counts)
                session = await calls.enter_async_context(plane.open(f"call-{number}", bot.on_event))
                await session.connect(RtpAddress(host, port))
                sessions.append(session)
                tasks.append(talking.create_task(bot.talk(session)))
            _say({"listening": [(session.offer.host, session.offer.port) for session in sessions]})
            await _line(reader)
            stats = [session.stats() for session in sessions]
            for task in tasks:
                task.cancel()
        _say(
            {
                "heard": sum(one.packets_in for one in stats),
                "utterances": counts["utterances"],
                "underruns": sum(one.underruns for one in stats),
            }
        )


if __name__ == "__main__":
    asyncio.run(main())
