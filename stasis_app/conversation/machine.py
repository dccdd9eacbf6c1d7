"""The conversation machine: what the bot does next, as a pure table.

Two rules. Every transition is in `TABLE` and nowhere else; a pair that is missing there means "nothing happens".
And the machine has no clock, no words and no sound: timers are commands that come back as events, utterances are
passed on unread.

Work on an answer begins at the caller's first pause (`Prepare`), waits in front of playout, and is either let out
(`Release`) when the turn has ended or thrown away (`Discard`) when the caller goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from stasis_app.conversation.commands import (
    AwaitInput,
    Cancel,
    Command,
    Discard,
    HangUp,
    Judge,
    Keep,
    LimitClosing,
    PausePlayout,
    Prepare,
    Release,
    Remember,
    ResumePlayout,
    Say,
    WatchInterruption,
)
from stasis_app.conversation.events import (
    CallerGone,
    CallerNotHeard,
    CallLimit,
    ClosingLimit,
    Event,
    GoodbyeWanted,
    InterruptionJudged,
    InterruptionLasts,
    MediaLost,
    MediaReady,
    NoInput,
    NothingSaid,
    PlayoutFinished,
    PlayoutStarted,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnFailed,
)
from stasis_app.conversation.phases import Phase, Saying


@dataclass(frozen=True, slots=True)
class State:
    phase: Phase = Phase.CONNECTING
    turn: int = 0  # the number of the live turn, or of the last one
    saying: Saying = Saying.GREETING  # what the live turn is made of
    prepared: int | None = None  # a turn being made ahead, while the caller pauses
    interrupted: Phase = Phase.SPEAKING  # where a false interruption goes back to
    prompts: int = 0  # "are you still there?" in a row
    failures: int = 0  # failed answers in a row
    max_prompts: int = 2
    max_failures: int = 2


Step = tuple[State, tuple[Command, ...]]


def step(state: State, event: Event) -> Step:
    """The next state, and what to do about it, in order."""
    turn = getattr(event, "turn", None)
    if turn is not None and turn not in (state.turn, state.prepared):
        return state, ()  # stale: that turn is no longer live
    handler = TABLE.get((state.phase, type(event)))
    return handler(state, event) if handler else (state, ())


# --- transitions ---


def _say(state: State, saying: Saying, *before: Command) -> Step:
    turn = _next_turn(state)
    said = replace(state, phase=Phase.THINKING, turn=turn, saying=saying, prepared=None)
    return said, (*before, Say(turn, saying))


def _close(state: State, saying: Saying, *before: Command) -> Step:
    said, commands = _say(state, saying, *before)
    return replace(said, phase=Phase.CLOSING), (*commands, LimitClosing())


def _next_turn(state: State) -> int:
    return max(state.turn, state.prepared or 0) + 1


def _drop(state: State) -> tuple[Command, ...]:
    """What stops everything that is being made or heard."""
    live = state.phase in _BOT_HAS_THE_TURN
    cancel: tuple[Command, ...] = (Cancel(state.turn),) if live else ()
    return cancel if state.prepared is None else (*cancel, Discard(state.prepared))


def _greet(state: State, _: Event) -> Step:
    return _say(state, Saying.GREETING)


def _hear(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.HEARING), ()


def _prepare(state: State, event: SpeechPaused) -> Step:
    turn = _next_turn(state)
    before = () if state.prepared is None else (Discard(state.prepared),)
    return replace(state, prepared=turn), (*before, Prepare(turn, event.utterance))


def _go_on_hearing(state: State, _: Event) -> Step:
    if state.prepared is None:
        return state, ()
    # the number is spent: a late event of the discarded turn must stay stale
    return replace(state, turn=state.prepared, prepared=None), (Discard(state.prepared),)


def _answer(state: State, event: SpeechEnded) -> Step:
    if state.prepared is None:
        prepared, commands = _prepare(state, SpeechPaused(event.utterance))
    else:
        prepared, commands = state, ()
    turn = prepared.prepared or 0
    released = replace(prepared, phase=Phase.THINKING, turn=turn, saying=Saying.ANSWER, prepared=None)
    return released, (*commands, Release(turn, event.utterance))


def _start_speaking(state: State, _: Event) -> Step:
    prompts = 0 if state.saying is Saying.ANSWER else state.prompts
    return replace(state, phase=Phase.SPEAKING, prompts=prompts), ()


def _listen(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.LISTENING), (Cancel(state.turn), AwaitInput(state.turn))


def _finish_speaking(state: State, _: Event) -> Step:
    failures = 0 if state.saying is Saying.ANSWER else state.failures
    listening = replace(state, phase=Phase.LISTENING, failures=failures)
    return listening, (Remember(state.turn), AwaitInput(state.turn))


def _fail(state: State, _: Event) -> Step:
    failed = replace(state, failures=state.failures + 1)
    if state.saying is Saying.ANSWER and failed.failures < state.max_failures:
        return _say(failed, Saying.APOLOGY, Cancel(state.turn))
    if state.saying in (Saying.GREETING, Saying.STILL_THERE):
        # a caller who was not greeted can still be heard and answered
        return replace(failed, phase=Phase.LISTENING), (Cancel(state.turn), AwaitInput(state.turn))
    return _close(failed, Saying.TROUBLE, Cancel(state.turn))


def _fail_ahead(state: State, event: TurnFailed | NothingSaid) -> Step:
    """A turn made ahead failed: it is made again when the caller has finished."""
    if event.turn != state.prepared:
        return state, ()
    return replace(state, turn=event.turn, prepared=None), (Discard(event.turn),)


def _check(state: State, _: Event) -> Step:
    checking = replace(state, phase=Phase.CHECKING, interrupted=state.phase)
    return checking, (PausePlayout(state.turn), WatchInterruption(state.turn))


def _judge(state: State, event: SpeechPaused) -> Step:
    return replace(state, phase=Phase.JUDGING), (Judge(state.turn, event.utterance, state.interrupted),)


def _judge_at_end(state: State, event: SpeechEnded) -> Step:
    return replace(state, phase=Phase.JUDGING_LATE), (Judge(state.turn, event.utterance, state.interrupted),)


def _check_again(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.CHECKING), (WatchInterruption(state.turn),)


def _end_before_verdict(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.JUDGING_LATE), ()


def _finish_under_speech(state: State, _: Event) -> Step:
    """The bot was through when the caller began: nothing was interrupted."""
    return replace(state, phase=Phase.HEARING), (Remember(state.turn),)


def _finish_under_judgement(state: State, _: Event) -> Step:
    return replace(state, interrupted=Phase.LISTENING), (Remember(state.turn),)


def _yield_turn(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.HEARING), (Cancel(state.turn),)


def _nothing_to_resume(state: State, _: Event) -> Step:
    """What was interrupted turned out to have no words: there is nothing to go back to."""
    return replace(state, interrupted=Phase.LISTENING), ()


def _go_back(state: State) -> Step:
    back = replace(state, phase=state.interrupted)
    if state.interrupted is Phase.LISTENING:
        return back, (Cancel(state.turn), AwaitInput(state.turn))
    return back, (ResumePlayout(state.turn),)


def _verdict(state: State, event: InterruptionJudged) -> Step:
    if not event.meant:
        return _go_back(state)
    prepared, commands = _prepare(replace(state, phase=Phase.HEARING), SpeechPaused(event.utterance))
    return prepared, (Cancel(state.turn), *commands)


def _verdict_after_end(state: State, event: InterruptionJudged) -> Step:
    if not event.meant:
        return _go_back(state)
    answered, commands = _answer(replace(state, phase=Phase.HEARING), SpeechEnded(event.utterance))
    return answered, (Cancel(state.turn), *commands)


def _verdict_while_speaking_on(state: State, event: InterruptionJudged) -> Step:
    if not event.meant:
        return state, ()
    return replace(state, phase=Phase.HEARING), (Cancel(state.turn), Keep(event.utterance))


def _late_verdict(state: State, event: InterruptionJudged) -> Step:
    """The caller spoke on and has the turn already: their first words belong to what they say now."""
    return state, (Keep(event.utterance),) if event.meant else ()


def _no_input(state: State, _: Event) -> Step:
    if state.prompts >= state.max_prompts:
        return _close(state, Saying.GOODBYE)
    return _say(replace(state, prompts=state.prompts + 1), Saying.STILL_THERE)


def _goodbye(state: State, _: Event) -> Step:
    return _close(state, Saying.GOODBYE, *_drop(state))


def _hang_up(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.ENDED), (Cancel(state.turn), HangUp("normal"))


def _not_heard(state: State, _: Event) -> Step:
    return _close(state, Saying.NOT_HEARD, *_drop(state))


def _lost(state: State, event: MediaLost) -> Step:
    return replace(state, phase=Phase.ENDED, prepared=None), (*_drop(state), HangUp(event.cause))


def _gone(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.ENDED, prepared=None), _drop(state)


_INTERRUPTIBLE = {Phase.THINKING, Phase.SPEAKING, Phase.CHECKING, Phase.JUDGING, Phase.JUDGING_LATE}
_BOT_HAS_THE_TURN = {*_INTERRUPTIBLE, Phase.CLOSING}
_TALKING = {*Phase} - {Phase.CONNECTING, Phase.CLOSING, Phase.ENDED}

TABLE: dict[tuple[Phase, type[Event]], Callable[[State, Any], Step]] = {
    (Phase.CONNECTING, MediaReady): _greet,
    (Phase.LISTENING, SpeechStarted): _hear,
    (Phase.LISTENING, SpeechResumed): _hear,
    (Phase.LISTENING, NoInput): _no_input,
    (Phase.HEARING, SpeechPaused): _prepare,
    (Phase.HEARING, SpeechResumed): _go_on_hearing,
    (Phase.HEARING, SpeechEnded): _answer,
    (Phase.HEARING, InterruptionJudged): _late_verdict,
    (Phase.HEARING, TurnFailed): _fail_ahead,
    (Phase.HEARING, NothingSaid): _fail_ahead,
    (Phase.THINKING, SpeechStarted): _check,
    (Phase.THINKING, SpeechResumed): _check,
    (Phase.THINKING, PlayoutStarted): _start_speaking,
    (Phase.THINKING, PlayoutFinished): _finish_speaking,
    (Phase.THINKING, NothingSaid): _listen,
    (Phase.THINKING, TurnFailed): _fail,
    (Phase.SPEAKING, SpeechStarted): _check,
    (Phase.SPEAKING, SpeechResumed): _check,
    (Phase.SPEAKING, PlayoutFinished): _finish_speaking,
    (Phase.SPEAKING, TurnFailed): _fail,
    (Phase.CHECKING, SpeechPaused): _judge,
    (Phase.CHECKING, SpeechEnded): _judge_at_end,
    (Phase.CHECKING, InterruptionLasts): _yield_turn,
    (Phase.CHECKING, PlayoutFinished): _finish_under_speech,
    (Phase.CHECKING, InterruptionJudged): _verdict_while_speaking_on,
    (Phase.CHECKING, NothingSaid): _yield_turn,
    (Phase.CHECKING, TurnFailed): _yield_turn,
    (Phase.JUDGING, SpeechResumed): _check_again,
    (Phase.JUDGING, SpeechEnded): _end_before_verdict,
    (Phase.JUDGING, InterruptionJudged): _verdict,
    (Phase.JUDGING, PlayoutFinished): _finish_under_judgement,
    (Phase.JUDGING, NothingSaid): _nothing_to_resume,
    (Phase.JUDGING, TurnFailed): _fail,
    (Phase.JUDGING_LATE, SpeechStarted): _check_again,
    (Phase.JUDGING_LATE, InterruptionJudged): _verdict_after_end,
    (Phase.JUDGING_LATE, PlayoutFinished): _finish_under_judgement,
    (Phase.JUDGING_LATE, NothingSaid): _nothing_to_resume,
    (Phase.JUDGING_LATE, TurnFailed): _fail,
    (Phase.CLOSING, PlayoutFinished): _hang_up,
    (Phase.CLOSING, NothingSaid): _hang_up,
    (Phase.CLOSING, TurnFailed): _hang_up,
    (Phase.CLOSING, ClosingLimit): _hang_up,
    **{(phase, GoodbyeWanted): _goodbye for phase in _INTERRUPTIBLE},
    **{(phase, CallLimit): _goodbye for phase in _TALKING | {Phase.CONNECTING}},
    **{(phase, CallerNotHeard): _not_heard for phase in _TALKING},
    **{(phase, MediaLost): _lost for phase in {*Phase} - {Phase.ENDED}},
    **{(phase, CallerGone): _gone for phase in {*Phase} - {Phase.ENDED}},
}
