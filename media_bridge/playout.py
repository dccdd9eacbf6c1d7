"""The bot's voice on its way out: a queue of sound that knows which words it holds.

One turn at a time. Samples leave in the order they came, each once, whatever is paused and resumed; what was
heard of each sentence is known to the sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal

import numpy as np

from media_bridge.errors import MediaError
from media_bridge.events import PlayoutEvent, PlayoutFinished, PlayoutStarted
from media_bridge.heard import Heard, HeardSentence
from media_bridge.level import SILENCE_DBFS, level_dbfs

FRAME_MS = 20
_FADE_MS = 5
# below it a voice says nothing: 40 dB under full scale
_QUIETEST = 328

# a producer that never looks at room_ms() is stopped here
_HARD_LIMIT_MS = 120_000


class PlayoutOverflowError(MediaError):
    """More than two minutes of sound wait in the queue."""


@dataclass(frozen=True, slots=True)
class PlayoutFrame:
    """20 ms to send. `level` is its RMS in dBFS; `events` are what became true with it.

    `taken` are the samples of `turn` that were used up for it, as they were put.
    """

    pcm: bytes
    kind: Literal["speech", "silence", "underrun"]
    level: float = SILENCE_DBFS
    events: tuple[PlayoutEvent, ...] = ()
    turn: int | None = field(default=None, compare=False)
    taken: bytes = field(default=b"", repr=False, compare=False)


@dataclass(slots=True)
class _Sentence:
    text: str
    start: int
    end: int | None = None
    # up to here it has sound
    sounds_until: int = 0


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
    `room_ms` measures against; a single `put` may go beyond it. All pcm is of `rate`.
    """

    def __init__(self, limit_ms: int = 2000, rate: int = 8000) -> None:
        self._limit_ms = limit_ms
        self._rate = rate
        self._frame_bytes = 2 * rate * FRAME_MS // 1000
        self._silence = bytes(self._frame_bytes)
        self._silent_frame = PlayoutFrame(self._silence, "silence")
        self._fade_in = np.linspace(0.0, 1.0, rate * _FADE_MS // 1000, endpoint=False, dtype=np.float32)
        self._turn: int | None = None
        self._open = False
        self._finished = True
        self._dropped = False
        self._queue = bytearray()
        self._sentences: list[_Sentence] = []
        self._put_samples = 0
        self._played_samples = 0
        self._voice = _Voice.PLAYING
        self._paused = self._held = False
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
        before, self._put_samples = self._put_samples, self._played_samples + len(self._queue) // 2
        if self._sentences and self._sentences[-1].end is None:
            self._note_sound(self._sentences[-1], before)
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
        """How much sound still fits in below the limit. While held a whole answer does: whoever makes it shall not
        wait for the caller to come back.
        """
        return max(0, (_HARD_LIMIT_MS if self._held else self._limit_ms) - self._queued_ms())

    # --- the listener's side

    def pause(self) -> None:
        """Be silent from the next tick on, but for a fade of 5 ms; nothing is lost."""
        self._paused = True
        self._change_voice()

    def resume(self) -> None:
        """Go on with the sample the pause came before, or with the end of the hold."""
        self._paused = False
        self._change_voice()

    def hold(self) -> None:
        """The same silence, over all turns and whatever is paused and resumed meanwhile, until `unhold`."""
        self._held = True
        self._change_voice()

    def unhold(self) -> None:
        """Go on with the sample the hold came before, if no pause is left."""
        self._held = False
        self._change_voice()

    @property
    def is_busy(self) -> bool:
        """A turn is open, or has sound left: it is the bot's time to speak."""
        return not self._finished

    @property
    def is_dry(self) -> bool:
        """In the middle of speech, and its next frame has not come yet."""
        playing = self._voice in (_Voice.PLAYING, _Voice.RESUMING)
        return self._open and playing and self._played_samples > 0 and not self._has_frame

    def flush(self, unheard_samples: int = 0) -> Heard:
        """Drop what has not been played and close the turn, which ends a pause; no PlayoutFinished follows.

        `unheard_samples` of what was taken will not be played either.
        """
        heard = self.heard(unheard_samples)
        self._played_samples -= unheard_samples
        self._dropped = self._dropped or not heard.finished
        self._queue.clear()
        self._open = False
        self._finished = True
        self._sounding = False
        self._paused = False
        self._voice = _Voice.PAUSED if self._held else _Voice.PLAYING
        return heard

    def heard(self, unheard_samples: int = 0) -> Heard:
        """What has gone out of the latest turn, flushed and finished ones included.

        `unheard_samples`: so many of those that were taken are still on their way to the caller.
        """
        finished = not (self._open or self._queue or self._dropped or unheard_samples)
        played = self._played_samples - unheard_samples
        sentences = tuple(self._heard_of(sentence, played) for sentence in self._sentences)
        return Heard(self._turn, sentences, finished, self._rate)

    def take_back(self, frames: Sequence[PlayoutFrame]) -> None:
        """These frames, the latest that were taken, never reached the caller: their sound comes next again.

        Nothing of a turn that was flushed comes again.
        """
        ours = [frame for frame in frames if frame.turn == self._turn and not self._dropped]
        pcm = b"".join(frame.taken for frame in ours)
        self._queue[:0] = pcm
        self._played_samples -= len(pcm) // 2
        if any(isinstance(event, PlayoutFinished) for frame in ours for event in frame.events):
            self._finished = False

    # --- the tick

    def take(self, now: float) -> PlayoutFrame:
        """The frame to send at `now`. Call it once each 20 ms."""
        if self._turn is None or self._finished:
            return self._silent_frame
        if not self._open and not self._queue:
            self._finished = True
            self._sounding = False
            finished = PlayoutFinished(self._turn, now)
            return PlayoutFrame(self._silence, "silence", events=(finished,), turn=self._turn)
        if self._voice is _Voice.PAUSING:
            return self._pause_frame()
        if self._voice is _Voice.PAUSED:
            return self._silent_frame
        if self._open and not self._has_frame:
            return self._dry_frame()
        return self._speech_frame(self._turn, now)

    @property
    def _has_frame(self) -> bool:
        """A whole frame, or the rest of a sentence that has all its sound."""
        if len(self._queue) >= self._frame_bytes:
            return True
        latest = self._sentences[-1] if self._sentences else None
        begun = self._put_samples if latest is None else latest.start if latest.end is None else latest.end
        return len(self._queue) > 1 and latest is not None and begun == self._put_samples

    def _pause_frame(self) -> PlayoutFrame:
        """The next samples fade away and stay in the queue: after the pause they come again in full."""
        self._voice = _Voice.PAUSED
        if not self._sounding:
            return PlayoutFrame(self._silence, "silence")
        self._sounding = False
        tail = np.zeros(self._frame_bytes // 2, np.float32)
        ahead = _samples(self._queue[: 2 * len(self._fade_in)])
        tail[: len(ahead)] = ahead * self._fade_in[::-1][: len(ahead)]
        pcm = _pcm(tail)
        return PlayoutFrame(pcm, "speech", level_dbfs(pcm))

    def _dry_frame(self) -> PlayoutFrame:
        self._sounding = False
        if not self._played_samples or (self._sentences and self._sentences[-1].end is not None):
            return PlayoutFrame(self._silence, "silence")
        self.underruns += 1
        return PlayoutFrame(self._silence, "underrun")

    def _speech_frame(self, turn: int, now: float) -> PlayoutFrame:
        taken = bytes(self._queue[: self._frame_bytes])
        del self._queue[: self._frame_bytes]
        events = () if self._played_samples else (PlayoutStarted(turn, now),)
        self._played_samples += len(taken) // 2
        pcm = taken.ljust(self._frame_bytes, b"\0")
        if self._voice is _Voice.RESUMING:
            self._voice = _Voice.PLAYING
            samples = _samples(pcm)
            samples[: len(self._fade_in)] *= self._fade_in
            pcm = _pcm(samples)
        self._sounding = True
        return PlayoutFrame(pcm, "speech", level_dbfs(pcm), events, turn, taken)

    # --- small things

    def _change_voice(self) -> None:
        change = _ON_PAUSE if self._paused or self._held else _ON_RESUME
        self._voice = change.get(self._voice, self._voice)

    def _queued_ms(self) -> int:
        return len(self._queue) // 2 * 1000 // self._rate

    def _note_sound(self, sentence: _Sentence, first: int) -> None:
        """What was put from sample `first` on may be the end of the sentence's sound."""
        new = _samples(self._queue[2 * (first - self._played_samples) :])
        loud = np.flatnonzero(np.abs(new) >= _QUIETEST)
        if len(loud):
            sentence.sounds_until = first + int(loud[-1]) + 1

    def _heard_of(self, sentence: _Sentence, played_samples: int) -> HeardSentence:
        end = self._put_samples if sentence.end is None else sentence.end
        played = min(max(played_samples - sentence.start, 0), end - sentence.start)
        total = None if sentence.end is None else sentence.end - sentence.start
        sounding = None if total is None else max(sentence.sounds_until - sentence.start, 0)
        return HeardSentence(sentence.text, played, total, sounding)


def _samples(pcm: bytes | bytearray) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    whole = len(pcm) & ~1
    return np.frombuffer(bytes(pcm[:whole]), "<i2").astype(np.float32)


def _pcm(samples: np.ndarray[tuple[int], np.dtype[np.float32]]) -> bytes:
    return samples.astype("<i2").tobytes()
