"""Corpora decided in virtual time: what a change of the rules does, in seconds and without a call.

    python -m benchmarks.turns_replay DIR... [--words-ms 200] [--unasked] [--verbose] [--cache FILE]

Voice detector, recogniser and turn model hear each sound once; what they said is kept in FILE. After that only the
rules run: `media_bridge.endpoint`, `turn_end` and, for what is said over the bot, `stasis_app.interruption`.
No packets, no other calls, a recogniser that always takes as long: `benchmarks.turns` has the last word.
"""

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.report import table
from benchmarks.turns_corpus import Clip, CorpusError, read_corpus
from benchmarks.turns_run import OPEN, TELLING, over_jobs, question_for
from benchmarks.turns_score import Decided, Interrupted, cut_pauses, figures
from caller_phone.g711 import Samples
from gpu_workers.client.stt import wav_file
from gpu_workers.models import fetch
from gpu_workers.settings import SttSettings
from gpu_workers.stt.audio import samples_of
from gpu_workers.stt.scheduler import Utterance as Sound
from media_bridge.endpoint import FRAME_BYTES, FRAME_MS, Endpoint
from media_bridge.events import SpeechEnded, SpeechPaused, SpeechResumed, SpeechStarted
from media_bridge.heard import Heard, HeardSentence
from media_bridge.settings import MediaSettings
from media_bridge.turn_end import end_wait_ms
from media_bridge.turn_end_waits import EndWaits
from media_bridge.vad import SileroGate
from stasis_app.expecting import asked_for
from stasis_app.hearing import LESS_BEFORE_S
from stasis_app.interruption import Reading as Judged
from stasis_app.interruption import first_words, is_meant, wants_second_reading
from voicebot.cache import default_cache_dir

LINE_MS: Final = 30
"""What packets, the jitter buffer and the tick add to a decision on the wire."""
RATIOS_DB: Final = (20.0, 10.0)
_SILENCE_MS: Final = 3600
_LASTS_MS: Final = 1500  # stasis_app.effects: speech over the bot that goes on is read while it does
_BOT_DBFS: Final = -17.0
_RATE: Final = 8000
_SLOW_MS: Final = 550
_SAVE_EVERY: Final = 40


@dataclass(frozen=True)
class Reading:
    """What the recogniser and the turn model make of a sound."""

    text: str
    turn_end: float
    avg_logprob: float
    no_speech_prob: float
    first_words_logprob: float | None = None

    @property
    def judged(self) -> Judged:
        return Judged(self.text, self.avg_logprob, self.first_words_logprob)


class Cache:
    """Readings and voice probabilities by the sound itself, in a file; the models are loaded when one is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[Any]] = json.loads(path.read_text()) if path.is_file() else {}
        self._models: tuple[Any, Any] | None = None
        self._gate = SileroGate(MediaSettings().voice)
        self._new = 0

    def reading(self, pcm: bytes) -> Reading:
        key = f"heard {hashlib.sha256(pcm).hexdigest()}"
        if key not in self._known:
            self._keep(key, self._read(pcm))
        return Reading(*self._known[key])

    def probabilities(self, samples: Samples) -> list[float]:
        """Of each 20 ms frame, with the silence behind the clip."""
        pcm = samples.astype("<i2").tobytes()
        key = f"voice {hashlib.sha256(pcm).hexdigest()}"
        if key not in self._known:
            self._gate.reset()
            self._keep(key, [round(self._gate.feed(frame), 3) for frame in frames(pcm)])
        return self._known[key]

    def save(self) -> None:
        if self._new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._known))
            self._new = 0

    def _keep(self, key: str, value: list[Any]) -> None:
        self._known[key] = value
        self._new += 1
        if self._new >= _SAVE_EVERY:
            self.save()

    def _read(self, pcm: bytes) -> list[Any]:
        whisper, turn_end = self._load()
        samples = samples_of(wav_file(pcm, _RATE))
        (heard,) = whisper.transcribe([Sound(samples, "en", first_words=first_words("en"))])
        return [
            heard.text,
            turn_end.probability(samples),
            heard.avg_logprob,
            heard.no_speech_prob,
            heard.first_words_logprob,
        ]

    def _load(self) -> tuple[Any, Any]:
        if self._models is None:
            # only where something is missing in the cache
            from gpu_workers.stt.turn_end import TurnEndModel
            from gpu_workers.stt.whisper import WhisperRecogniser

            stt, folder = SttSettings(), default_cache_dir()
            assert stt.turn_model
            self._models = (
                WhisperRecogniser(fetch(stt.model, folder, _say).path, "cpu", stt.compute_type, 1, 1),
                TurnEndModel(fetch(stt.turn_model, folder, _say).path),
            )
        return self._models


def frames(pcm: bytes) -> list[bytes]:
    """20 ms each, with silence behind the clip for whatever is still to be decided."""
    padded = pcm + bytes(_SILENCE_MS * 2 * _RATE // 1000)
    return [padded[at : at + FRAME_BYTES] for at in range(0, len(padded) - FRAME_BYTES + 1, FRAME_BYTES)]


@dataclass(frozen=True)
class Paused:
    """One pause, and what became of it. Milliseconds of the clip; `end_wait_ms` is what the rules said."""

    paused_ms: float
    ended_ms: float
    reading: Reading
    end_wait_ms: int


def turn(
    clip: Clip, question: str, cache: Cache, words_ms: int, settings: MediaSettings
) -> tuple[Decided, list[Paused]]:
    """When the turn is taken for finished, up to the first time."""
    endpoint = Endpoint(settings.endpoint, settings.voice)
    waits = EndWaits.around(settings.endpoint.end_ms)
    expected = asked_for(question)
    pauses: list[Paused] = []
    known_at = float("inf")
    number = 0
    pcm = clip.samples.astype("<i2").tobytes()
    for place, (frame, probability) in enumerate(
        zip(frames(pcm), cache.probabilities(clip.samples), strict=True), 1
    ):
        now = place * FRAME_MS / 1000
        if now >= known_at:
            endpoint.set_end_wait(number, pauses[-1].end_wait_ms)
            known_at = float("inf")
        for event in endpoint.feed(frame, probability, now):
            match event:
                case SpeechPaused(utterance=utterance):
                    reading = cache.reading(utterance.pcm)
                    wait_ms = end_wait_ms(
                        reading.text,
                        expected,
                        waits,
                        reading.turn_end,
                        reading.avg_logprob,
                        utterance.paused_ms,
                    )
                    number, known_at = utterance.number, now + words_ms / 1000
                    pauses.append(Paused(1000 * now, 1000 * utterance.ended, reading, wait_ms))
                    endpoint.set_end_wait(number, waits.wordless_ms)
                case SpeechResumed():
                    known_at = float("inf")
                case SpeechEnded():
                    return Decided(clip, (1000 * now + LINE_MS,)), pauses
    return Decided(clip, ()), pauses


@dataclass(frozen=True)
class OverBot:
    """What a sound over the bot's voice did; `readings` are what was judged."""

    outcome: Interrupted
    readings: list[Reading]


def over(clip: Clip, cache: Cache, words_ms: int, settings: MediaSettings) -> OverBot:
    """Up to the verdict that stops the bot, or to the end of the clip."""
    endpoint = Endpoint(settings.endpoint, settings.voice)
    heard = Heard(1, (HeardSentence(TELLING, _RATE, 4 * _RATE),), finished=False)
    silent = paused = False
    paused_ms: float | None = None
    readings: list[Reading] = []
    due: tuple[float, bytes] | None = None  # when what was said is read
    look_at = float("inf")
    pcm = clip.samples.astype("<i2").tobytes()
    for place, (frame, probability) in enumerate(
        zip(frames(pcm), cache.probabilities(clip.samples), strict=True), 1
    ):
        now = place * FRAME_MS
        for event in endpoint.feed(frame, probability, now / 1000, None if silent else _BOT_DBFS):
            match event:
                case SpeechStarted() | SpeechResumed():
                    silent = paused = True
                    paused_ms = now if paused_ms is None else paused_ms
                    look_at = now + _LASTS_MS
                case SpeechPaused(utterance=utterance):
                    look_at = float("inf")
                    due = (now + words_ms, utterance.pcm)
        if now >= look_at and (so_far := endpoint.so_far()) is not None:
            due, look_at = (now + words_ms, so_far.pcm), now + _LASTS_MS
        if due is not None and now >= due[0]:
            (_, sound), due = due, None
            meant, read = _judge(sound, heard, cache)
            readings += read
            if meant:
                return OverBot(Interrupted(clip, True, True, (paused_ms or now) + LINE_MS), readings)
            silent = False
    return OverBot(Interrupted(clip, False, paused, None), readings)


def _judge(sound: bytes, heard: Heard, cache: Cache) -> tuple[bool, list[Reading]]:
    """As stasis_app.judging does, at once."""
    one = cache.reading(sound)
    if not wants_second_reading(one.judged, heard, "en"):
        return is_meant(one.judged, heard, "en"), [one]
    other = cache.reading(sound[2 * int(_RATE * LESS_BEFORE_S) :])
    again = Judged(other.text, other.avg_logprob)
    return is_meant(one.judged, heard, "en", again), [one, other]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--words-ms", type=int, default=200, help="how long the recogniser takes")
    parser.add_argument(
        "--unasked", action="store_true", help="the bot has asked an open question before every clip"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="each pause that was taken for the end, and each slow turn"
    )
    parser.add_argument("--cache", type=Path, default=default_cache_dir() / "turns-replay.json")
    chosen = parser.parse_args()
    cache = Cache(chosen.cache)
    rows: list[tuple[object, ...]] = []
    try:
        rows.extend((folder.name, *_replay(folder, cache, chosen)) for folder in chosen.corpora)
    except CorpusError as error:
        _say(str(error))
        return 2
    finally:
        cache.save()
    print(table(("corpus", *_KEYS), rows))
    return 0


_KEYS: Final = (
    "wait_p50_ms", "wait_p95_ms", "false_cut_pct", "pauses cut", "finished cut", "missed_end_pct", "barge_p95_ms",
    "false_stops", "interrupts missed", "digits_whole",
)  # fmt: skip


def _replay(folder: Path, cache: Cache, chosen: argparse.Namespace) -> list[object]:
    settings = MediaSettings()
    clips = read_corpus(folder)
    decided = []
    for clip in clips:
        if clip.kind in ("finished", "unfinished", "dictation"):
            question = OPEN if chosen.unasked else question_for(clip.answer)
            one, pauses = turn(clip, question, cache, chosen.words_ms, settings)
            decided.append(one)
            if chosen.verbose:
                _show(one, pauses)
    beds = [clip for clip in clips if clip.kind == "bed"]
    over_bot = [over(job.clip, cache, chosen.words_ms, settings) for job in over_jobs(clips, beds, RATIOS_DB)]
    if chosen.verbose:
        for sound in over_bot:
            if sound.outcome.stopped != (sound.outcome.clip.kind == "interrupt"):
                what = "stopped" if sound.outcome.stopped else "missed"
                _say(f"  over {sound.outcome.clip.name} {what}: {sound.readings}")
    found = figures(decided, [one.outcome for one in over_bot])
    cut, of = cut_pauses(decided)
    found["pauses cut"] = f"{cut} of {of}"
    found["finished cut"] = sum(bool(one.cuts) for one in decided if one.clip.kind == "finished")
    meant = [one.outcome for one in over_bot if one.outcome.clip.kind == "interrupt"]
    found["interrupts missed"] = f"{sum(not one.stopped for one in meant)} of {len(meant)}"
    found["digits_whole"] = (
        f"{found['digits_whole']} of {sum(one.clip.kind == 'dictation' for one in decided)}"
    )
    return [found[key] for key in _KEYS]


def _show(one: Decided, pauses: list[Paused]) -> None:
    slow = one.wait_ms is None or one.wait_ms > _SLOW_MS
    if one.cuts or (one.clip.kind == "finished" and slow):
        last = pauses[-1] if pauses else None
        what = "CUT " if one.cuts else f"{one.wait_ms}"
        _say(f"  {what} {one.clip.name} [{one.clip.text}] {last and (last.reading, last.end_wait_ms)}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
