"""The corpus, played: which clip after which question of the bot, over which words of it, several side by side."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from benchmarks.turns_corpus import Clip
from benchmarks.turns_line import Line, Played
from benchmarks.turns_score import Decided, Interrupted
from caller_phone.recording import Recording
from caller_phone.talkspurt import levels_dbfs
from media_bridge.ear import Ear
from media_bridge.events import SpeechEnded, SpeechStarted, Utterance
from media_bridge.settings import EndpointSettings, MediaSettings
from media_bridge.vad import SileroGate

FIXED_MS: Final = 700

ASKED: Final = {
    "yes_no": "Is that right?",
    "digits": "What is your phone number, please?",
    "spelling": "How do you spell that?",
    "email": "What is your e-mail address?",
    "date": "Which day would suit you?",
}
"""What the bot asked before a clip, by the kind of answer it is."""
HOW_MANY: Final = "How many would you like?"
OPEN: Final = "How can I help you?"
TELLING: Final = "We are open from nine to five on weekdays, and on Saturdays until noon."

_QUESTION_MS: Final = 300
_TURN_WAIT_MS: Final = 700
_OVER_WAIT_MS: Final = 1000
_OVER_REST_MS: Final = 1200  # the bot goes on for so long after the clip
_OVER_STAY_MS: Final = 7000
_OVER_OFFSETS_MS: Final = (0, 7, 13)
_STAY_MS: Final = 3200
_BOT_DBFS: Final = -40.0
_GAP_MS: Final = 100.0
_FRAME_MS: Final = 20.0


@dataclass(frozen=True)
class Job:
    """One call. `over`: the bot goes on speaking while the caller does."""

    clip: Clip
    question: str
    over: bool


@dataclass
class FixedRule:
    """The same voice detector on the same frames; a turn ends after a fixed silence, any speech stops the bot."""

    ear: Ear
    clock: Callable[[], float]
    started: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    turns: list[Utterance] = field(default_factory=list)

    def hear(self, caller: bytes, _bot: bytes) -> None:
        now = self.clock()
        for event in self.ear.listen(caller, now, None):
            if isinstance(event, SpeechStarted):
                self.started.append(now)
            elif isinstance(event, SpeechEnded):
                self.ended.append(now)
                self.turns.append(event.utterance)


@dataclass(frozen=True)
class Outcome:
    """One clip, decided by both. `fixed_turns` is what the fixed rule took for turns."""

    job: Job
    played: Played
    ours: Decided | Interrupted
    fixed: Decided | Interrupted
    fixed_turns: Sequence[Utterance] = ()


def turn_jobs(clips: Sequence[Clip], *, asked: bool) -> list[Job]:
    """The clips that are turns; `asked`: after a question that wants such an answer, where it is no open one."""
    turns = [clip for clip in clips if clip.kind in ("finished", "unfinished", "dictation")]
    return [Job(clip, question_for(clip.answer) if asked else OPEN, False) for clip in turns]


def question_for(answer: str) -> str:
    """A digit or two are a count, no number that is dictated."""
    kind, _, digits = answer.partition(":")
    return HOW_MANY if digits in ("1", "2") else ASKED.get(kind, OPEN)


def over_jobs(clips: Sequence[Clip], beds: Sequence[Clip], ratios_db: Sequence[float]) -> list[Job]:
    """What is said over the bot; sounds that are no turn also over each bed in its turn, in each ratio."""
    jobs = [Job(clip, TELLING, True) for clip in clips if clip.kind == "interrupt"]
    sounds = [clip for clip in clips if clip.kind in ("backchannel", "noise")]
    jobs += [Job(clip, TELLING, True) for clip in sounds]
    for ratio in ratios_db if beds else ():
        jobs += [
            Job(clip.over(beds[place % len(beds)], ratio), TELLING, True) for place, clip in enumerate(sounds)
        ]
    return jobs


async def play_all(
    line: Line, jobs: Sequence[Job], beside: int, settings: MediaSettings, say: Callable[[str], None]
) -> list[Outcome]:
    """Every job, `beside` of them at a time; in the order of the jobs."""
    places = asyncio.Semaphore(beside)
    vads = [SileroGate(settings.voice) for _ in range(beside)]

    async def one(number: int, job: Job) -> Outcome:
        async with places:
            vad = vads.pop()
            try:
                outcome = await _play(line, number, job, settings, vad)
            finally:
                vad.reset()
                vads.append(vad)
            if number % 20 == 0:
                say(f"{number} of {len(jobs)}")
            return outcome

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number, job)) for number, job in enumerate(jobs, 1)]
    return [task.result() for task in tasks]


async def _play(line: Line, number: int, job: Job, settings: MediaSettings, vad: SileroGate) -> Outcome:
    fixed_settings = settings.model_copy(update={"endpoint": EndpointSettings(end_ms=FIXED_MS)})
    rule = FixedRule(Ear(fixed_settings, vad, 8000), asyncio.get_running_loop().time)
    clip, clip_ms = job.clip, len(job.clip.samples) // 8
    # off the bot's own grid, by another part of a frame for each clip
    wait_ms = (_OVER_WAIT_MS if job.over else _TURN_WAIT_MS) + _OVER_OFFSETS_MS[
        number % len(_OVER_OFFSETS_MS)
    ]
    played = await line.play(
        f"{number}",
        clip.samples,
        greeting=job.question,
        greeting_ms=wait_ms + clip_ms + _OVER_REST_MS if job.over else _QUESTION_MS,
        wait_ms=wait_ms,
        stay_ms=_OVER_STAY_MS if job.over else _STAY_MS,
        until_answered=not job.over or clip.kind == "interrupt",
        listener=rule.hear,
    )
    if job.over:
        stopped = _fixed_interrupted(clip, played, rule)
        return Outcome(job, played, _interrupted(clip, played), stopped, rule.turns)
    ours = Decided(clip, tuple(played.ms(answer.at_s) for answer in played.answers))
    fixed = Decided(clip, tuple(played.ms(at) for at in rule.ended))
    return Outcome(job, played, ours, fixed, rule.turns)


def _interrupted(clip: Clip, played: Played) -> Interrupted:
    answered_s = min((answer.at_s for answer in played.answers), default=float("inf"))
    spoken = [at for at in _bot_speech_s(played.recording) if at < answered_s]
    after = [played.ms(at) for at in spoken]
    paused = any(b - a > _GAP_MS for a, b in pairwise(after) if b > clip.start_ms)
    return Interrupted(clip, played.greeting_cut, paused or played.greeting_cut, after[-1] if after else None)


def _fixed_interrupted(clip: Clip, played: Played, rule: FixedRule) -> Interrupted:
    stops = [at for at in map(played.ms, rule.started) if at >= clip.start_ms - _FRAME_MS]
    # it falls silent with the next packet
    return Interrupted(clip, bool(stops), bool(stops), stops[0] if stops else None)


def _bot_speech_s(recording: Recording) -> list[float]:
    return [sound.at_s for sound in recording.bot() if max(levels_dbfs(sound.samples)) > _BOT_DBFS]
