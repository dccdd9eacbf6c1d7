"""Whether a turn sounds finished: Smart Turn v3.2 (BSD-2-Clause), a small network on Whisper's features.

It hears melody and rhythm, not words, and is unsure on a noisy line: one vote beside the words, never the decision.
On one core it takes about 60 ms, beside the decoding that the same request needs anyway.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from faster_whisper.feature_extractor import FeatureExtractor  # type: ignore[import-untyped]

from gpu_workers.errors import ModelError
from gpu_workers.stt.audio import WHISPER_RATE, Samples

log = logging.getLogger(__name__)

_SECONDS: Final = 8
_WINDOW: Final = _SECONDS * WHISPER_RATE
_FRAMES: Final = _WINDOW // 160
_LATE_S: Final = 0.1
"""A vote that is not there so long after the words is left out: the caller waits for it."""


class TurnEndModel(AbstractContextManager["TurnEndModel"]):
    """A loaded model with a thread of its own."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._features = FeatureExtractor(chunk_length=_SECONDS)
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
            # the first run is slower; it should not be a caller's
            self.probability(np.zeros(WHISPER_RATE, np.float32))
        # the library's errors have no base of their own; this is where a file of the user's own is opened
        except Exception as error:
            raise ModelError(
                f"{path} cannot be loaded as a turn model: {error}; check workers.stt.turn_model"
            ) from error
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="turn-end")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def probability(self, samples: Samples) -> float:
        """That the turn is over, 0 to 1, from its last 8 s with the pause behind them. Blocks."""
        sound = np.pad(samples[-_WINDOW:], (max(0, _WINDOW - len(samples)), 0))
        level = (sound - sound.mean()) / np.sqrt(sound.var() + 1e-7)
        features = self._features(level, padding=0)[:, :_FRAMES]
        answer = self._session.run(None, {"input_features": features[None].astype(np.float32)})
        return float(answer[0].item())

    def start(self, samples: Samples) -> "asyncio.Future[float]":
        """`probability` in the model's thread; cancel it when nobody waits any more."""
        return asyncio.get_running_loop().run_in_executor(self._pool, self.probability, samples)


async def in_time(vote: "asyncio.Future[float]") -> float | None:
    """The vote, once the words are there; None when it takes too long or the model failed: words alone decide."""
    done, _ = await asyncio.wait({vote}, timeout=_LATE_S)
    if not done:
        vote.cancel()
        return None
    if error := vote.exception():
        log.warning("the turn model failed: %s", error)
        return None
    return vote.result()
