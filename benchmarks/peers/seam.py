"""The subject's side of the seam of `benchmarks.media_load.subject`, for programs that run in a peer's environment.

Standard library only, and Python 3.11: a peer's environment has nothing of ours. `Bot` is what the bot of every
subject says: the sentences of benchmarks/speech for 40 % of the time, each call at its own times, as a voice worker
sends it (22.05 kHz, made at once). One line is in addition: `{"answered": N}` when the callers have dialled and all
calls are set up, so that what this takes is not measured.
"""

import asyncio
import json
import os
import random
import sys
import wave
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

VOICE_RATE = 22_050
SPEAKING = 0.4
_SPEECH = Path(__file__).parents[1] / "speech"
_SPEECH_RATE = 8000
# a call begins to speak within so many seconds
_FIRST_S = 8.0

Say = Callable[[bytes], Awaitable[None]]


class Answered:
    """Waits until so many calls are set up."""

    def __init__(self) -> None:
        self._calls = 0
        self._changed = asyncio.Condition()

    async def add(self) -> None:
        async with self._changed:
            self._calls += 1
            self._changed.notify_all()

    async def wait(self, count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._calls >= count)


class Seam:
    """Lines of JSON over standard input and output. Whatever a library prints goes to standard error instead."""

    def __init__(self, output: TextIO, lines: asyncio.StreamReader) -> None:
        self._output = output
        self._lines = lines

    @classmethod
    async def opened(cls) -> "Seam":
        output = os.fdopen(os.dup(1), "w", encoding="ascii")
        os.dup2(2, 1)
        lines = asyncio.StreamReader(limit=2**22)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        return cls(output, lines)

    def tell(self, message: dict[str, object]) -> None:
        self._output.write(json.dumps(message) + "\n")
        self._output.flush()

    async def hear(self, key: str) -> dict[str, Any]:
        """The next line; the program ends if it is another one, or none."""
        line = await self._lines.readline()
        message = dict(json.loads(line or "{}"))
        if key not in message:
            raise SystemExit(f"expected {key!r} on standard input, got {line[:200]!r}")
        return message

    def close(self, counts: "Counter[str]") -> NoReturn:
        """The last line, and the end of the process: what a full one still has queued is not waited for."""
        self.tell({"heard": counts["heard"], "utterances": counts["utterances"], "underruns": None})
        os._exit(0)


def voice() -> list[bytes]:
    """All sentences of benchmarks/speech as PCM at `VOICE_RATE`."""
    return [_at_voice_rate(_read(path)) for path in sorted(_SPEECH.glob("*.wav"))]


def turns(number: int, sentences: list[bytes]) -> Iterator[tuple[float, bytes]]:
    """For call `number`: seconds of silence since the last sentence ended, and the next sentence. Without end."""
    rng = random.Random(number)
    silence = rng.uniform(0, _FIRST_S)
    while True:
        said = rng.choice(sentences)
        yield silence, said
        silence = seconds(said) * (1 - SPEAKING) / SPEAKING * rng.uniform(0.5, 1.5)


def seconds(said: bytes) -> float:
    return len(said) / 2 / VOICE_RATE


async def talk(number: int, sentences: list[bytes], say: Say) -> None:
    """Say sentences for ever; `say` may return at once or when the sentence has been heard."""
    loop = asyncio.get_running_loop()
    ended = loop.time()
    for silence, said in turns(number, sentences):
        await asyncio.sleep(ended + silence - loop.time())
        ended = loop.time() + seconds(said)
        await say(said)
        ended = max(ended, loop.time())


def _read(path: Path) -> "array[int]":
    with wave.open(str(path)) as file:
        if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (_SPEECH_RATE, 1, 2):
            raise SystemExit(f"{path} is not 8 kHz mono 16-bit")
        samples = array("h", file.readframes(file.getnframes()))
    if sys.byteorder == "big":
        samples.byteswap()
    return samples


def _at_voice_rate(samples: "array[int]") -> bytes:
    """By straight lines: what matters is that a peer gets another rate than the phone's, as from a real voice."""
    step = _SPEECH_RATE / VOICE_RATE
    count = int((len(samples) - 1) / step)
    out = array("h", bytes(2 * count))
    for index in range(count):
        at = index * step
        left = int(at)
        out[index] = int(samples[left] + (samples[left + 1] - samples[left]) * (at - left))
    return out.tobytes()
