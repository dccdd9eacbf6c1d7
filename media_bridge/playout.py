"""The bot's voice on its way out: a queue of sound that knows which words it holds.

One turn at a time. Samples leave in the order they came, each once, whatever is paused and resumed; what was
heard of each sentence is known to the sample.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

import numpy as np

from media_bridge.errors import MediaError
from media_bridge.events import PlayoutEvent, PlayoutFinished, PlayoutStarted
from media_bridge.level import SILENCE_DBFS, level_dbfs

SAMPLES_PER_MS = 8
FRAME_SAMPLES = 160
FRAME_BYTES = 2 * FRAME_SAMPLES
_SILENCE = bytes(FRAME_BYTES)

_FADE_SAMPLES = 5 * SAMPLES_PER_MS
_FADE_IN = np.linspace(0.0, 1.0, _FADE_SAMPLES, endpoint=False, dtype=np.float32)
_FADE_OUT = _FADE_IN[::-1]

# a producer that never looks at room_ms() is stopped here
_HARD_LIMIT_MS = 120_000
# slow speech, for a sentence whose length is not known yet: rather a word too few than one too many
_SAMPLES_PER_CHARACTER = 700
# from here on scripts are written without spaces
_FIRST_UNSPACED = 0x2E80


class PlayoutOverflowError(MediaError):
    """More than two minutes of sound wait in the queue."""


@dataclass(frozen=True, slots=True)
class PlayoutFrame:
    """20 ms to send. `level` is its RMS in dBFS; `events` are what became true with it."""

    pcm: bytes
    kind: Literal["speech", "silence", "underrun"]
    level: float = SILENCE_DBFS
    events: tuple[PlayoutEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class HeardSentence:
    """`total_samples` is None while the sentence is still being made."""

    text: str
    played_samples: int
    total_samples: int | None

    @property
    def whole(self) -> bool:
        """Played to its end. A sentence without sound is whole, and was not heard."""
        return self.played_samples == self.total_samples


@dataclass(frozen=True, slots=True)
class Heard:
    """What the caller has heard of a turn; `turn` is None before the first one.

    `finished`: the turn had ended and all its sound was played.
    """

    turn: int | None
    sentences: tuple[HeardSentence, ...]
    finished: bool = True


@dataclass(slots=True)
class _Sentence:
    text: str
    start: int
    end: int | None = None


class _Voice(Enum):
    PLAYING = auto()
    PAUSING = auto()
    PAUSED = auto()
    RESUMING = auto()


# a resume before the pause was heard, or the other way round, changes nothing audible
_ON_PAUSE = {_Voice.PLAYING: _Voice.PAUSING, _Voice.RESUMING: _Voice.PAUSED}
_ON_RESUME = {_Voice.PAUSED: _Voice.RESUMING, _Voice.PAUSING: _Voice.PLAYING}


class Playout:
    """The queue between those who make a turn's sound and the 20 ms tick that sends it.

    Calls for a turn that is not the open one change nothing and return False. `limit_ms` is what
    `room_ms` measures against; a single `put` may go beyond it.
    """

    def __init__(self, limit_ms: int = 2000) -> None:
        self._limit_ms = limit_ms
        self._turn: int | None = None
        self._open = False
        self._finished = True
        self._dropped = False
        self._queue = bytearray()
        self._sentences: list[_Sentence] = []
        self._put_samples = 0
        self._played_samples = 0
        self._voice = _Voice.PLAYING
        self._sounding = False
        self.underruns = 0

    # --- the producer's side

    def start_turn(self, turn: int) -> bool:
        """Open a turn; what is left of an earlier one is dropped. Turn numbers only grow."""
        if self._turn is not None and turn <= self._turn:
            return False
        self.flush()
        self._turn = turn
        self._open = True
        self._finished = self._dropped = False
        self._sentences = []
        self._put_samples = self._played_samples = 0
        return True

    def is_open(self, turn: int) -> bool:
        """This turn still takes sound."""
        return self._open and turn == self._turn

    def begin_sentence(self, turn: int, text: str) -> bool:
        """What is put from here on says `text`."""
        if not self.end_sentence(turn):
            return False
        self._sentences.append(_Sentence(text, self._put_samples))
        return True

    def put(self, turn: int, pcm: bytes) -> bool:
        """Queue pcm of any size, an odd number of bytes included. Raises PlayoutOverflowError."""
        if not self.is_open(turn):
            return False
        if self._queued_ms() > _HARD_LIMIT_MS:
            raise PlayoutOverflowError(f"Turn {turn} has queued over {_HARD_LIMIT_MS} ms: wait for room_ms()")
        self._queue += pcm
        self._put_samples = self._played_samples + len(self._queue) // 2
        return True

    def end_sentence(self, turn: int) -> bool:
        """The open sentence, if any, has all its sound."""
        if not self.is_open(turn):
            return False
        # half a sample would shift every byte of the next sentence
        del self._queue[len(self._queue) & ~1 :]
        if self._sentences and self._sentences[-1].end is None:
            self._sentences[-1].end = self._put_samples
        return True

    def end_turn(self, turn: int) -> bool:
        """Nothing more will be put."""
        if not self.end_sentence(turn):
            return False
        self._open = False
        return True

    def room_ms(self) -> int:
        """How much sound still fits in below the limit."""
        return max(0, self._limit_ms - self._queued_ms())

    # --- the listener's side

    def pause(self) -> None:
        """Be silent from the next tick on, but for a fade of 5 ms; nothing is lost."""
        self._voice = _ON_PAUSE.get(self._voice, self._voice)

    def resume(self) -> None:
        """Go on with the sample the pause came before."""
        self._voice = _ON_RESUME.get(self._voice, self._voice)

    def flush(self) -> Heard:
        """Drop what has not been played and close the turn; no PlayoutFinished follows."""
        heard = self.heard()
        self._dropped = self._dropped or not heard.finished
        self._queue.clear()
        self._open = False
        self._finished = True
        self._sounding = False
        self._voice = _Voice.PLAYING
        return heard

    def heard(self) -> Heard:
        """What has gone out of the latest turn, flushed and finished ones included."""
        finished = not self._open and not self._queue and not self._dropped
        return Heard(self._turn, tuple(map(self._heard_of, self._sentences)), finished)

    # --- the tick

    def take(self, now: float) -> PlayoutFrame:
        """The frame to send at `now`. Call it once each 20 ms."""
        if self._turn is None or self._finished:
            return PlayoutFrame(_SILENCE, "silence")
        if not self._open and not self._queue:
            self._finished = True
            self._sounding = False
            return PlayoutFrame(_SILENCE, "silence", events=(PlayoutFinished(self._turn, now),))
        if self._voice is _Voice.PAUSING:
            return self._pause_frame()
        if self._voice is _Voice.PAUSED:
            return PlayoutFrame(_SILENCE, "silence")
        if self._open and len(self._queue) < FRAME_BYTES:
            return self._dry_frame()
        return self._speech_frame(self._turn, now)

    def _pause_frame(self) -> PlayoutFrame:
        """The next samples fade away and stay in the queue: after the pause they come again in full."""
        self._voice = _Voice.PAUSED
        if not self._sounding:
            return PlayoutFrame(_SILENCE, "silence")
        self._sounding = False
        tail = np.zeros(FRAME_SAMPLES, np.float32)
        ahead = _samples(self._queue[: 2 * _FADE_SAMPLES])
        tail[: len(ahead)] = ahead * _FADE_OUT[: len(ahead)]
        pcm = _pcm(tail)
        return PlayoutFrame(pcm, "speech", level_dbfs(pcm))

    def _dry_frame(self) -> PlayoutFrame:
        self._sounding = False
        if not self._played_samples:
            return PlayoutFrame(_SILENCE, "silence")
        self.underruns += 1
        return PlayoutFrame(_SILENCE, "underrun")

    def _speech_frame(self, turn: int, now: float) -> PlayoutFrame:
        pcm = bytes(self._queue[:FRAME_BYTES])
        del self._queue[:FRAME_BYTES]
        events = () if self._played_samples else (PlayoutStarted(turn, now),)
        self._played_samples += len(pcm) // 2
        pcm = pcm.ljust(FRAME_BYTES, b"\0")
        if self._voice is _Voice.RESUMING:
            self._voice = _Voice.PLAYING
            samples = _samples(pcm)
            samples[:_FADE_SAMPLES] *= _FADE_IN
            pcm = _pcm(samples)
        self._sounding = True
        return PlayoutFrame(pcm, "speech", level_dbfs(pcm), events)

    # --- small things

    def _queued_ms(self) -> int:
        return len(self._queue) // 2 // SAMPLES_PER_MS

    def _heard_of(self, sentence: _Sentence) -> HeardSentence:
        end = self._put_samples if sentence.end is None else sentence.end
        played = min(max(self._played_samples - sentence.start, 0), end - sentence.start)
        total = None if sentence.end is None else sentence.end - sentence.start
        return HeardSentence(sentence.text, played, total)


def heard_text(heard: Heard) -> tuple[str, bool]:
    """The words the caller has heard, and whether they were cut off.

    Whole words only, as many of a sentence's characters as in proportion of its sound were played.
    """
    parts = (_words_of(sentence) for sentence in heard.sentences if sentence.played_samples)
    cut = not heard.finished or not all(sentence.whole for sentence in heard.sentences)
    return " ".join(part for part in parts if part), cut


def _words_of(sentence: HeardSentence) -> str:
    text = sentence.text.strip()
    if sentence.whole:
        return text
    total = sentence.total_samples or max(sentence.played_samples + 1, len(text) * _SAMPLES_PER_CHARACTER)
    end = len(text) * sentence.played_samples // total
    while end and not _is_boundary(text, end):
        end -= 1
    return text[:end].rstrip()


def _is_boundary(text: str, index: int) -> bool:
    """Between the characters before and at `index` no word goes on."""
    if index >= len(text):
        return True
    return text[index].isspace() or ord(text[index - 1]) >= _FIRST_UNSPACED <= ord(text[index])


def _samples(pcm: bytes | bytearray) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    whole = len(pcm) & ~1
    return np.frombuffer(bytes(pcm[:whole]), "<i2").astype(np.float32)


def _pcm(samples: np.ndarray[tuple[int], np.dtype[np.float32]]) -> bytes:
    return samples.astype("<i2").tobytes()
