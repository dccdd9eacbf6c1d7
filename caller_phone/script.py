"""A scripted talk: what a caller says and waits for, step by step, and the figures of each turn."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from caller_phone.call import Call
from caller_phone.errors import CallEnded
from caller_phone.outgoing import Said
from caller_phone.recording import Recording
from caller_phone.ruler import (
    TALKED_ON_MS,
    PacketFigures,
    answer_duration_ms,
    cut_ms,
    early_ms,
    inner_pauses_ms,
    packet_figures,
    pause_ms,
    response_ms,
    talkspurts,
)
from caller_phone.talkspurt import Talkspurt

# Longer than any pause between two sentences of one answer.
QUIET_MS = 1200.0


@dataclass(frozen=True, slots=True)
class WaitGreeting:
    """The bot speaks first; go on when it has been quiet for `quiet_ms`."""

    timeout_s: float = 15.0
    quiet_ms: float = QUIET_MS


@dataclass(frozen=True, slots=True)
class Say:
    wav: str | Path


@dataclass(frozen=True, slots=True)
class WaitAnswer:
    """The bot's answer to what was said last, to its end; `timeout_s` is how long it may take to begin."""

    timeout_s: float = 15.0
    quiet_ms: float = QUIET_MS
    longest_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Wait for the answer to what was said last, and speak into it `after_s` of the bot's speech."""

    wav: str | Path
    after_s: float
    timeout_s: float = 15.0


@dataclass(frozen=True, slots=True)
class Murmur:
    """The same with a sound that wants nothing, such as a cough: the answer is to go on."""

    wav: str | Path
    after_s: float
    timeout_s: float = 15.0


@dataclass(frozen=True, slots=True)
class Press:
    digits: str


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class HangUp:
    pass


Step = WaitGreeting | Say | WaitAnswer | Interrupt | Murmur | Press | Pause | HangUp


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing the caller said and what the bot made of it (the figures are those of `ruler`).

    `cut_ms` is None unless this turn was an interruption; `response_ms` is None when no answer began after the
    caller's last voiced sample, `early_ms` is set when one began before it. A bot that talked through an interruption
    did not answer it, whatever its next sentence was. `pauses_ms` are those inside what was said.
    """

    said: str
    first_voiced_s: float
    last_voiced_s: float
    answered: bool
    response_ms: float | None
    answer_duration_ms: float | None
    cut_ms: float | None
    early_ms: float | None
    pauses_ms: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Murmured:
    """A sound over the answer to `over`. `pause_ms`: how long the bot fell silent for it; None: it did not go on."""

    said: str
    over: str
    pause_ms: float | None


@dataclass(frozen=True, slots=True)
class TalkResult:
    """`greeting_ms`: answer of the call to the first audible sample of the bot. `finished`: all steps were done;
    otherwise the far end hung up first, or a greeting or talk never came to an end (`stopped_at` says where)."""

    turns: tuple[Turn, ...]
    murmurs: tuple[Murmured, ...]
    greeting_ms: float | None
    finished: bool
    stopped_at: str | None
    ended_by_far_end: bool
    packets: PacketFigures
    skipped_ticks: int
    recording: Recording


@dataclass(frozen=True, slots=True)
class _Spoken:
    name: str
    said: Said
    interruption: bool


@dataclass(frozen=True, slots=True)
class _Over:
    """A murmur over the answer to what was said last, which was number `turn`."""

    name: str
    said: Said
    turn: int


async def run_script(call: Call, steps: Sequence[Step]) -> TalkResult:
    """Do the steps in order. An answer that never comes is a result (`answered` is false), not an error."""
    talk = _Talk(call)
    stopped_at: str | None = None
    for number, step in enumerate(steps, start=1):
        try:
            await talk.do(step)
        except (CallEnded, TimeoutError) as reason:
            stopped_at = f"step {number} ({type(step).__name__}): {reason}"
            break
    return _result(call, talk.spoken, talk.murmured, stopped_at)


class _Talk:
    def __init__(self, call: Call) -> None:
        self._call = call
        self.spoken: list[_Spoken] = []
        self.murmured: list[_Over] = []

    async def do(self, step: Step) -> None:
        call = self._call
        match step:
            case WaitGreeting():
                await call.wait_for_bot_speech(step.timeout_s, since_s=call.answered_s)
                await call.wait_for_bot_quiet(step.quiet_ms, timeout_s=60.0)
            case Say():
                await self._say(step.wav, interruption=False)
            case WaitAnswer():
                await self._wait_answer(step)
            case Interrupt():
                await self._wait_into_answer(step)
                await self._say(step.wav, interruption=True)
            case Murmur():
                await self._wait_into_answer(step)
                said = await call.say(step.wav)
                self.murmured.append(_Over(Path(step.wav).name, said, len(self.spoken) - 1))
            case Press():
                await call.press(step.digits)
            case Pause():
                await call.sleep(step.seconds)
            case HangUp():
                await call.hang_up()

    async def _say(self, wav: str | Path, *, interruption: bool) -> None:
        said = await self._call.say(wav)
        self.spoken.append(_Spoken(Path(wav).name, said, interruption))

    async def _wait_into_answer(self, step: Interrupt | Murmur) -> None:
        began_s = await self._wait_for_answer(step.timeout_s)
        await self._call.sleep(max(0.0, began_s + step.after_s - time.monotonic()))

    async def _wait_answer(self, step: WaitAnswer) -> None:
        try:
            await self._wait_for_answer(step.timeout_s)
        except TimeoutError:
            return  # the turn's figures say that nothing came
        await self._call.wait_for_bot_quiet(step.quiet_ms, step.longest_s)

    async def _wait_for_answer(self, timeout_s: float) -> float:
        call = self._call
        if not self.spoken:
            return await call.wait_for_bot_speech(timeout_s, since_s=call.answered_s)
        said = self.spoken[-1].said
        return await call.wait_for_bot_speech(
            timeout_s, since_s=said.last_voiced_s, began_after_s=said.first_voiced_s
        )


def _result(
    call: Call, spoken: Sequence[_Spoken], murmured: Sequence[_Over], stopped_at: str | None
) -> TalkResult:
    recording = call.recording()
    bot, caller = talkspurts(recording.bot()), talkspurts(recording.caller())
    greeting_s = (
        bot[0].start_s if bot and not (spoken and bot[0].start_s > spoken[0].said.first_voiced_s) else None
    )
    turns: list[Turn] = []
    for index, one in enumerate(spoken):
        first_s, last_s = one.said.first_voiced_s, one.said.last_voiced_s
        until_s = spoken[index + 1].said.first_voiced_s if index + 1 < len(spoken) else float("inf")
        # an answer that begins after the caller's next words is the answer to those
        own = [spurt for spurt in bot if spurt.start_s < until_s]
        cut = cut_ms(bot, first_s) if one.interruption else None
        if cut is not None and cut >= TALKED_ON_MS:
            own = []
        response, early = response_ms(own, last_s), early_ms(own, first_s, last_s)
        turns.append(
            Turn(
                said=one.name,
                first_voiced_s=first_s,
                last_voiced_s=last_s,
                answered=response is not None or early is not None,
                response_ms=response,
                answer_duration_ms=answer_duration_ms(own, last_s, until_s),
                cut_ms=cut,
                early_ms=early,
                pauses_ms=inner_pauses_ms(caller, first_s, last_s),
            )
        )
    return TalkResult(
        turns=tuple(turns),
        murmurs=tuple(_murmured(one, spoken, bot) for one in murmured),
        greeting_ms=None if greeting_s is None else 1000 * (greeting_s - call.answered_s),
        finished=stopped_at is None,
        stopped_at=stopped_at,
        ended_by_far_end=call.ended_by_far_end,
        packets=packet_figures(recording.received, call.ended_s),
        skipped_ticks=call.skipped_ticks,
        recording=recording,
    )


def _murmured(one: _Over, spoken: Sequence[_Spoken], bot: Sequence[Talkspurt]) -> Murmured:
    until_s = spoken[one.turn + 1].said.first_voiced_s if one.turn + 1 < len(spoken) else float("inf")
    pause = pause_ms(bot, one.said.first_voiced_s, one.said.last_voiced_s, until_s)
    return Murmured(one.name, spoken[one.turn].name if one.turn >= 0 else "the call", pause)
