"""When the caller speaks and when they have finished.

Audio is the clock: a frame is 20 ms whenever it comes, `now` only stamps the events. Which state follows
which is in one table, and nowhere else.

Silero's probability is late on both edges, by 60 and 90 ms, so the edges are looked up in the sound itself: the first
and the last 10 ms that stand out. All waits count from there.
"""

from collections import deque
from enum import Enum, auto
from math import inf

import numpy as np
from numpy.typing import NDArray

from media_bridge.events import (
    EndpointEvent,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    Utterance,
)
from media_bridge.level import SILENCE_DBFS, level_dbfs
from media_bridge.settings import EndpointSettings, VoiceSettings
from media_bridge.sound import SoundMemory

RATE = 8000
FRAME_MS = 20
FRAME_SAMPLES = 160
FRAME_BYTES = 320
_SAMPLES_PER_MS = 8

# so long may speech flicker before it is certain, so long may becoming certain take in all, and so long has
# speech to last to undo a pause
_START_GAP_MS = 60
_START_LIMIT_MS = 700
_RESUME_MS = 60
# an utterance's pcm goes on so long after the last voiced sample
_TAIL_SAMPLES = 200 * _SAMPLES_PER_MS
# less of a tail than this is no quiet
_SOME_TAIL_SAMPLES = 60 * _SAMPLES_PER_MS
# sound remembered besides the pre-roll: flicker, guard and the look back together
_BEFORE_SAMPLES = 1500 * _SAMPLES_PER_MS

# the edges: blocks of 10 ms, so far around where the probability changed
_BLOCK = 80
_LOOK_BACK = 160 * _SAMPLES_PER_MS
_LINGER = 130 * _SAMPLES_PER_MS
# a sound that may be the next word holds the end back for so long: the probability rises later than the sound
_HOLD_MS = 160
_HOLD_BELOW_PEAK_DB = 30.0
# an edge is not so far below the loudest block, and so far above the line before the utterance
_BELOW_PEAK_DB = 34.0
_ABOVE_LINE_DB = 8.0

# the bot's own echo comes up to 200 ms late, waits in the jitter buffer for up to 120 more, and the probability fades
# 130 ms after it; it is 20 dB below what was played; the rest is margin
_ECHO_MS = 500
_ECHO_DB = 16.0
_BOT_SPEAKS_DBFS = -45.0


class EndpointState(Enum):
    QUIET = auto()
    STARTING = auto()
    SPEAKING = auto()
    STOPPING = auto()


class _Sign(Enum):
    VOICE = auto()
    CERTAIN = auto()
    NOTHING = auto()
    PAUSE = auto()
    AGAIN = auto()
    END = auto()


_TABLE: dict[EndpointState, dict[_Sign, EndpointState]] = {
    EndpointState.QUIET: {_Sign.VOICE: EndpointState.STARTING},
    EndpointState.STARTING: {_Sign.CERTAIN: EndpointState.SPEAKING, _Sign.NOTHING: EndpointState.QUIET},
    EndpointState.SPEAKING: {_Sign.PAUSE: EndpointState.STOPPING},
    EndpointState.STOPPING: {_Sign.AGAIN: EndpointState.SPEAKING, _Sign.END: EndpointState.QUIET},
}

_ON_STOP: dict[EndpointState, tuple[_Sign, ...]] = {
    EndpointState.QUIET: (),
    EndpointState.STARTING: (_Sign.NOTHING,),
    EndpointState.SPEAKING: (_Sign.PAUSE, _Sign.END),
    EndpointState.STOPPING: (_Sign.END,),
}


class Endpoint:
    """One for each call: `feed` it every 20 ms of the caller, silence included.

    `rate`, a multiple of 8000, is that of the utterances' pcm.
    """

    def __init__(self, settings: EndpointSettings, voice: VoiceSettings, rate: int = RATE) -> None:
        self.state = EndpointState.QUIET
        self._settings = settings
        self._voice = voice
        self._sound = SoundMemory()
        self._rate = rate
        self._wide = SoundMemory()
        self._now = 0.0
        self._bot_levels: deque[float] = deque([-inf], maxlen=_ECHO_MS // FRAME_MS)
        self._number = 0
        # samples up to here are in an earlier utterance's pcm, and in the one of the latest pause
        self._taken = self._cut_at = 0
        self._line_db = SILENCE_DBFS
        self._peak_db = SILENCE_DBFS
        self._first_voiced = 0
        self._last_voiced = 0
        self._voiced_ms = 0
        self._candidate_ms = 0
        self._paused_ms = 0.0
        self._started = 0
        # the sample after the last voiced one, once that is known
        self._ended: int | None = None
        self._end_wait_ms = settings.end_ms
        self._utterance: Utterance | None = None

    def set_end_wait(self, utterance_number: int, wait_ms: int) -> None:
        """End this utterance after so much silence; counts only while it is paused, until speech resumes.

        The silence began with the last voiced sample: if the wait is over already, the next frame ends
        the utterance.
        """
        if self.state is EndpointState.STOPPING and utterance_number == self._number:
            self._end_wait_ms = wait_ms

    def feed(
        self,
        pcm: bytes,
        probability: float,
        now: float,
        bot_level_dbfs: float | None = None,
        wide: bytes = b"",
    ) -> list[EndpointEvent]:
        """Take the 20 ms that ended at `now`, and say what changed.

        `probability` is the Vad's. `bot_level_dbfs` is the level of what the bot played meanwhile, None if it
        was silent. `wide` is the same 20 ms at `rate`, where that is not 8000. Raises ValueError for a frame
        that has not 320 bytes.
        """
        if len(pcm) != FRAME_BYTES:
            raise ValueError(f"A frame has {FRAME_BYTES} bytes, this one {len(pcm)}")
        self._now = now
        self._sound.append(pcm)
        self._wide.append(wide)
        self._bot_levels.append(-inf if bot_level_dbfs is None else bot_level_dbfs)
        events: list[EndpointEvent] = []
        for sign in self._read(probability, pcm):
            self.state = _TABLE[self.state][sign]
            events += self._act(sign)
        if self.state in (EndpointState.QUIET, EndpointState.STARTING):
            before = self._sound.position - self._pre_roll - _BEFORE_SAMPLES
            self._sound.forget(before)
            self._wide.forget(before * self._rate // RATE)
        return events

    def stop(self) -> list[EndpointEvent]:
        """No frame comes for a while: what is being said ends here, and what is said later knows nothing of it."""
        events: list[EndpointEvent] = []
        for sign in _ON_STOP[self.state]:
            self.state = _TABLE[self.state][sign]
            events += self._act(sign)
        self._sound.forget(self._sound.position)
        self._wide.forget(self._wide.position)
        self._bot_levels.clear()
        self._bot_levels.append(-inf)
        return events

    def so_far(self) -> Utterance | None:
        """What is being said, while it goes on; None when the caller is silent or pauses."""
        return self._make_utterance() if self.state is EndpointState.SPEAKING else None

    # --- what a frame means in each state

    def _read(self, probability: float, pcm: bytes) -> list[_Sign]:
        match self.state:
            case EndpointState.QUIET:
                return self._read_quiet(self._is_callers(probability, pcm))
            case EndpointState.STARTING:
                return self._read_starting(probability, pcm)
            case EndpointState.SPEAKING:
                return self._read_speaking(probability >= self._voice.stop_probability)
            case EndpointState.STOPPING:
                return self._read_stopping(self._is_callers(probability, pcm))

    def _read_quiet(self, callers: bool) -> list[_Sign]:
        if not callers:
            return []
        self._first_voiced = self._sound.position - FRAME_SAMPLES
        self._voiced_ms = 0
        return [_Sign.VOICE, *self._count_voice()]

    def _read_starting(self, probability: float, pcm: bytes) -> list[_Sign]:
        if self._ms_since(self._first_voiced) > _START_LIMIT_MS:
            return [_Sign.NOTHING]
        if self._is_callers(probability, pcm):
            return self._count_voice()
        if probability >= self._voice.start_probability:
            # a soft syllable under the bot's echo proves nothing, and a word may go on after it
            self._last_voiced = self._sound.position
        return [_Sign.NOTHING] if self._ms_since(self._last_voiced) > _START_GAP_MS else []

    def _count_voice(self) -> list[_Sign]:
        self._hear_voice(FRAME_MS)
        guard_ms = self._voice.start_speaking_ms if self._bot_speaks else self._voice.start_ms
        return [_Sign.CERTAIN] if self._voiced_ms >= guard_ms else []

    def _read_speaking(self, voiced: bool) -> list[_Sign]:
        if voiced:
            self._hear_voice(FRAME_MS)
        elif self._ended is None:
            self._ended = self._find_end()
        if self._is_too_long():
            return [_Sign.PAUSE, _Sign.END]
        over = self._ended is not None and self._ms_since(self._ended) >= self._settings.pause_ms
        return [_Sign.PAUSE] if over else []

    def _read_stopping(self, voiced: bool) -> list[_Sign]:
        if voiced:
            self._candidate_ms += FRAME_MS
            return [_Sign.AGAIN] if self._candidate_ms >= _RESUME_MS else []
        self._candidate_ms = 0
        past_ms = -1.0 if self._ended is None else self._ms_since(self._ended) - self._end_wait_ms
        over = past_ms >= 0 and not (past_ms < _HOLD_MS and self._stirs())
        return [_Sign.END] if over or self._is_too_long() else []

    def _stirs(self) -> bool:
        """Something in the last frames may be a word that the probability does not know yet."""
        now = self._sound.position
        _, latest = self._sound.levels(now - 2 * FRAME_SAMPLES, now, _BLOCK)
        return float(latest.max()) > max(self._peak_db - _HOLD_BELOW_PEAK_DB, self._line_db + _ABOVE_LINE_DB)

    def _is_callers(self, probability: float, pcm: bytes) -> bool:
        """Speech, and too loud to be the echo of what the bot said just now."""
        bot_level = max(self._bot_levels)
        if probability < (
            self._voice.start_speaking_probability if self._bot_speaks else self._voice.start_probability
        ):
            return False
        return bot_level == -inf or level_dbfs(pcm) > bot_level - _ECHO_DB

    @property
    def _bot_speaks(self) -> bool:
        """Not in its pauses: the echo is over then, but the probability is not yet."""
        return max(self._bot_levels) > _BOT_SPEAKS_DBFS

    def _hear_voice(self, ms: int) -> None:
        self._voiced_ms += ms
        self._last_voiced = self._sound.position
        self._ended = None

    def _is_too_long(self) -> bool:
        return self._ms_since(self._started) >= self._settings.max_utterance_ms

    def _ms_since(self, sample: int) -> float:
        return (self._sound.position - sample) / _SAMPLES_PER_MS

    # --- what a sign does

    def _act(self, sign: _Sign) -> list[EndpointEvent]:
        match sign:
            case _Sign.CERTAIN:
                self._number += 1
                self._started = self._find_start()
                self._paused_ms = 0.0
                return [SpeechStarted(self._now)]
            case _Sign.PAUSE:
                self._candidate_ms = 0
                self._end_wait_ms = self._settings.end_ms
                self._utterance = self._make_utterance()
                return [SpeechPaused(self._now, self._utterance)]
            case _Sign.AGAIN:
                if self._ended is not None:
                    silence_ms = self._ms_since(self._ended) - self._candidate_ms
                    self._paused_ms = max(self._paused_ms, silence_ms)
                self._hear_voice(self._candidate_ms)
                return [SpeechResumed(self._now)]
            case _Sign.END if self._utterance is not None:
                ended, self._utterance = self._utterance, None
                self._taken = self._cut_at
                return [SpeechEnded(self._now, ended)]
            case _:
                return []

    def _make_utterance(self) -> Utterance:
        ended = self._last_voiced if self._ended is None else self._ended
        first = max(self._taken, self._started - self._pre_roll)
        self._cut_at = min(self._sound.position, ended + _TAIL_SAMPLES)
        return Utterance(
            number=self._number,
            pcm=self._cut(first, self._cut_at) + self._more_quiet(ended),
            started=self._instant(self._started),
            ended=self._instant(ended),
            voiced_ms=self._voiced_ms,
            rate=self._rate,
            paused_ms=self._paused_ms,
        )

    def _cut(self, first: int, last: int) -> bytes:
        if self._rate == RATE:
            return self._sound.cut(first, last)
        return self._wide.cut(first * self._rate // RATE, last * self._rate // RATE)

    def _more_quiet(self, ended: int) -> bytes:
        """What is missing of the tail, made of what there is of it: models judge an end by the quiet behind it."""
        there = self._cut_at - ended
        if there < _SOME_TAIL_SAMPLES:
            return b""
        tail = np.frombuffer(self._cut(ended, self._cut_at), "<i2")
        missing = (_TAIL_SAMPLES - there) * self._rate // RATE
        return np.resize(np.concatenate([tail[::-1], tail]), missing).astype("<i2").tobytes()

    @property
    def _pre_roll(self) -> int:
        return self._voice.pre_roll_ms * _SAMPLES_PER_MS

    def _instant(self, sample: int) -> float:
        return self._now - self._ms_since(sample) / 1000

    # --- the edges of speech in the sound itself

    def _find_start(self) -> int:
        """The first sample that stands out, a little before the probability rose."""
        back = self._first_voiced - _LOOK_BACK
        _, line = self._sound.levels(max(self._taken, back - 2 * _LOOK_BACK), back, _BLOCK)
        self._line_db = float(np.median(line)) if len(line) else SILENCE_DBFS
        since, levels = self._sound.levels(max(self._taken, back), self._sound.position, _BLOCK)
        loud = self._standing_out(levels)
        return since + int(loud[0]) * _BLOCK if len(loud) else self._first_voiced

    def _find_end(self) -> int:
        """The sample after the last one that stands out, a little before the probability fell."""
        since, levels = self._sound.levels(self._last_voiced - 4 * _LOOK_BACK, self._last_voiced, _BLOCK)
        self._peak_db = float(levels.max())
        loud = self._standing_out(levels)
        end = since + (int(loud[-1]) + 1) * _BLOCK if len(loud) else self._last_voiced
        # what stands out may lie before the start, when the speech itself is hardly louder than the line
        return max(end, self._last_voiced - _LINGER, self._started + _BLOCK)

    def _standing_out(self, levels: NDArray[np.float32]) -> NDArray[np.intp]:
        threshold = max(float(levels.max()) - _BELOW_PEAK_DB, self._line_db + _ABOVE_LINE_DB)
        return np.flatnonzero(levels > threshold)
