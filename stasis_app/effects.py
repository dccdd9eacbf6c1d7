"""What the conversation machine wants done is done here: to turns, judgements, playout, timers and the call itself."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from stasis_app import closing
from stasis_app import conversation as talk
from stasis_app.conversation import Phase, Saying
from stasis_app.judging import Judges
from stasis_app.read_ahead import ReadAhead, Reading
from stasis_app.silence import Silence
from stasis_app.timers import Timers
from stasis_app.transcript import Transcript
from stasis_app.turn import Parts
from stasis_app.turns import Turns

INTERRUPTION_LASTS_S = 1.5
"""Speech over the bot that goes on for this long after it was noticed is read while it does, and again and again
until it has words; shorter speech is read when it pauses."""

WANT_MODEL = (talk.Prepare, talk.Release, talk.Judge, talk.JudgeOngoing)
"""Commands that need the recogniser or the language model now."""


class Effects:
    """One for each talk, as a context manager: whatever ends the talk, what was heard of the bot is not lost with it.

    `passage_left_s`: how long a passage that nothing may cut short still lasts. `hang_up` is given the cause,
    `go_onward` the target that the caller is put through to when all else is undone.
    """

    def __init__(
        self,
        parts: Parts,
        transcript: Transcript,
        group: asyncio.TaskGroup,
        post: Callable[[talk.Event], None],
        timers: Timers,
        silence: Silence,
        passage_left_s: Callable[[], float],
        hang_up: Callable[[str], Awaitable[None]],
        go_onward: Callable[[str], None],
    ) -> None:
        self._parts = parts
        self._turns = Turns(parts, transcript, group)
        self._judges = Judges(parts, post, group)
        reading = Reading(
            parts.call_id, parts.llm, parts.hearing, parts.history, parts.media.so_far, parts.tools.offered
        )
        self._ahead = ReadAhead(reading, group)
        self._post = post
        self._timers = timers
        self._silence = silence
        self._passage_left_s = passage_left_s
        self._hang_up = hang_up
        self._go_onward = go_onward

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ahead.stop()
        self._judges.stop()
        await self._turns.end()
        self._parts.tools.stop()

    async def obey(self, commands: tuple[talk.Command, ...]) -> None:
        if any(isinstance(command, WANT_MODEL) for command in commands):
            self._ahead.stop()
        for command in commands:
            await self._obey(command)

    def read_ahead(self, phase: Phase, before: Phase, event: talk.Event) -> None:
        """The model reads what it can while there is time for that."""
        if phase is Phase.LISTENING and before is not Phase.LISTENING:
            self._ahead.read_talk()
        elif isinstance(event, talk.SpeechStarted | talk.SpeechResumed) and phase is Phase.HEARING:
            self._ahead.follow_caller()

    async def _obey(self, command: talk.Command) -> None:
        turns = self._turns
        match command:
            case talk.Say(turn=number, saying=saying):
                turns.say(number, saying, self._phrases(saying))
            case talk.Prepare(turn=number, utterance=utterance):
                turns.prepare(number, utterance)
            case talk.Release(turn=number, utterance=utterance):
                turns.release(number, utterance)
            case talk.AnswerDigits(turn=number, digits=digits):
                turns.answer_digits(number, digits)
            case talk.KeepDigits(digits=digits):
                turns.keep_digits(digits)
            case talk.Keep(utterance=utterance):
                turns.keep(utterance)
            case talk.Discard(turn=number):
                await turns.stop(number)
            case talk.Cancel(turn=number):
                await turns.cancel(number)
            case talk.Remember(turn=number):
                await turns.remember(number)
            case _:
                await self._obey_aside(command)

    async def _obey_aside(self, command: talk.Command) -> None:
        """The commands that neither begin nor end a turn."""
        match command:
            case talk.PausePlayout():
                self._parts.media.pause()
            case talk.ResumePlayout():
                self._parts.media.resume()
            case talk.Judge(turn=number, utterance=utterance, over=over):
                self._judges.judge(number, utterance, over)
            case talk.JudgeOngoing(turn=number) if self._passage_left_s():
                self._watch_interruption(number)
            case talk.JudgeOngoing(turn=number, over=over):
                self._judges.judge_ongoing(number, over)
            case talk.WatchInterruption(turn=number):
                self._watch_interruption(number)
            case talk.WatchPassage(turn=number):
                self._watch_passage(number)
            case talk.AwaitInput(turn=number):
                self._silence.count(number)
            case talk.LimitClosing():
                self._timers.call(talk.ClosingLimit, closing.LIMIT_S, self._limit_closing)
            case talk.PutThrough(turn=number, target=target):
                self._parts.tools.has_put_through(number)
                self._go_onward(target)
            case talk.HangUp(cause=cause):
                await self._hang_up(cause)

    def _watch_interruption(self, turn: int) -> None:
        self._timers.post(talk.InterruptionLasts(turn), INTERRUPTION_LASTS_S)

    def _watch_passage(self, turn: int) -> None:
        left_s = self._passage_left_s()
        if not left_s:
            self._post(talk.PassageEnded(turn))
            return
        self._timers.call(talk.PassageEnded, left_s, lambda: self._watch_passage(turn))

    def _limit_closing(self) -> None:
        """Last words that are heard are heard to their end; on hold they would be over by then, too."""
        left_s = self._turns.sound_left_s()
        if left_s > -closing.MARGIN_S:
            self._timers.call(talk.ClosingLimit, left_s + closing.MARGIN_S, self._limit_closing)
        else:
            self._post(talk.ClosingLimit())

    def _phrases(self, saying: Saying) -> list[str]:
        profile, said = self._parts.profile, self._parts.profile.phrases
        return {
            Saying.GREETING: [profile.disclosure, profile.greeting],
            Saying.STILL_THERE: [said.still_there],
            Saying.APOLOGY: [said.apology],
            Saying.GOODBYE: [said.goodbye],
            Saying.TROUBLE: [said.trouble],
            Saying.NOT_HEARD: [said.not_heard],
        }[saying]
