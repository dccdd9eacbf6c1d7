"""Models that wait for the test: what stands behind the workers when no weights are needed."""

import asyncio
import queue
import threading
from collections.abc import Iterator, Sequence

import numpy as np

from gpu_workers.stt.scheduler import Transcript, Utterance

VOICE_RATE = 22050


class FakeRecogniser:
    """Tells each batch to `began` and holds it until the test lets one go."""

    def __init__(self, batch_limit: int = 1) -> None:
        self.batch_limit = batch_limit
        self.began: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        self.drafts: list[bool] = []
        self.first_words: list[tuple[str, ...]] = []
        self.may_end = threading.Semaphore(0)
        self.error: Exception | None = None

    def window_s(self, length_s: float) -> float:
        return 10.0 if length_s < 6 else 15.0

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]:
        self.began.put([utterance.prompt for utterance in batch])
        self.drafts += [utterance.draft for utterance in batch]
        self.first_words += [utterance.first_words for utterance in batch]
        if not self.may_end.acquire(timeout=10):
            raise RuntimeError("the test forgot this batch")
        if self.error:
            raise self.error
        return [
            Transcript(
                one.prompt, "en", one.length_s, 0, 0, first_words_logprob=-2.5 if one.first_words else None
            )
            for one in batch
        ]

    async def next_batch(self) -> list[str]:
        return await asyncio.to_thread(self.began.get, timeout=5)

    async def batches(self, count: int) -> list[list[str]]:
        """The next batches, each let go as it begins."""
        seen = []
        for _ in range(count):
            seen.append(await self.next_batch())
            self.may_end.release()
        return seen


class FakeVoice:
    """One tenth of a second of tone a sentence; `made` counts them, `said` says of which texts. It begins one when
    the test allows it.
    """

    rate = VOICE_RATE

    def __init__(self, allowed: int = 1000, name: str = "fake") -> None:
        self.name = name
        self.said: list[str] = []
        self.made = 0
        self.may_begin = threading.Semaphore(allowed)
        self.error: Exception | None = None

    def sentences(self, text: str, speed: float) -> Iterator[bytes]:
        for _ in text.split("."):
            if not self.may_begin.acquire(timeout=10):
                raise RuntimeError("the test forgot this sentence")
            if self.error:
                raise self.error
            self.made += 1
            self.said.append(text)
            yield sentence(speed)


def sentence(speed: float = 1.0) -> bytes:
    samples = np.arange(int(VOICE_RATE / 10 / speed))
    return (8000 * np.cos(2 * np.pi * 441 * samples / VOICE_RATE)).astype("<i2").tobytes()
