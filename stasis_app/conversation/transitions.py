"""What the talk's plain events change: speech, playout, verdicts, silence and the end."""

from dataclasses import replace

from stasis_app.conversation.commands import (
    MODEL_HUNG_UP,
    AwaitInput,
    Cancel,
    Command,
    Discard,
    HangUp,
    Judge,
    JudgeOngoing,
    Keep,
    LimitClosing,
    PausePlayout,
    Prepare,
    PutThrough,
    Release,
    Remember,
    ResumePlayout,
    Say,
    WatchInterruption,
)
from stasis_app.conversation.events import (
    Event,
    InterruptionJudged,
    MediaLost,
    NothingSaid,
    OngoingJudged,
    SpeechEnded,
    SpeechPaused,
    TransferWanted,
    TurnFailed,
)
from stasis_app.conversation.phases import Phase, Saying
from stasis_app.conversation.state import State, Step

INTERRUPTIBLE = {
    Phase.THINKING,
    Phase.SPEAKING,
    Phase.CHECKING,
    Phase.JUDGING,
    Phase.JUDGING_LATE,
    Phase.TALKING_ON,
    Phase.RECITING,
    Phase.RECITING_ON,
}
ALLOWED_TO_LEAVE = {Phase.THINKING, Phase.SPEAKING, Phase.TALKING_ON}
_BOT_HAS_THE_TURN = {*INTERRUPTIBLE, Phase.CLOSING}


def say(state: State, saying: Saying, *before: Command) -> Step:
    turn = next_turn(state)
    said = replace(state, phase=Phase.THINKING, turn=turn, saying=saying, prepared=None)
    return said, (*before, Say(turn, saying))


def close(state: State, saying: Saying, *before: Command) -> Step:
    said, commands = say(state, saying, *before)
    return replace(said, phase=Phase.CLOSING), (*commands, LimitClosing())


def next_turn(state: State) -> int:
    return max(state.turn, state.prepared or 0) + 1


def _drop(state: State) -> tuple[Command, ...]:
    """What stops everything that is being made or heard."""
    live = state.phase in _BOT_HAS_THE_TURN
    cancel: tuple[Command, ...] = (Cancel(state.turn),) if live else ()
    return cancel if state.prepared is None else (*cancel, Discard(state.prepared))


def greet(state: State, _: Event) -> Step:
    return say(state, Saying.GREETING)


def hear(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.HEARING), ()


def prepare(state: State, event: SpeechPaused) -> Step:
    turn = next_turn(state)
    before = () if state.prepared is None else (Discard(state.prepared),)
    return replace(state, prepared=turn), (*before, Prepare(turn, event.utterance))


def go_on_hearing(state: State, _: Event) -> Step:
    if state.prepared is None:
        return state, ()
    # the number is spent: a late event of the discarded turn must stay stale
    return replace(state, turn=state.prepared, prepared=None), (Discard(state.prepared),)


def answer(state: State, event: SpeechEnded) -> Step:
    if state.prepared is None:
        prepared, commands = prepare(state, SpeechPaused(event.utterance))
    else:
        prepared, commands = state, ()
    turn = prepared.prepared or 0
    released = replace(prepared, phase=Phase.THINKING, turn=turn, saying=Saying.ANSWER, prepared=None)
    return released, (*commands, Release(turn, event.utterance))


def start_speaking(state: State, _: Event) -> Step:
    prompts = 0 if state.saying is Saying.ANSWER else state.prompts
    return replace(state, phase=Phase.SPEAKING, prompts=prompts), ()


def listen(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.LISTENING), (Cancel(state.turn), AwaitInput(state.turn))


def finish_speaking(state: State, _: Event) -> Step:
    failures = 0 if state.saying is Saying.ANSWER else state.failures
    listening = replace(state, phase=Phase.LISTENING, failures=failures)
    return listening, (Remember(state.turn), AwaitInput(state.turn))


def fail(state: State, _: Event) -> Step:
    failed = replace(state, failures=state.failures + 1)
    if state.saying is Saying.ANSWER and failed.failures < state.max_failures:
        return say(failed, Saying.APOLOGY, Cancel(state.turn))
    if state.saying in (Saying.GREETING, Saying.STILL_THERE):
        # a caller who was not greeted can still be heard and answered
        return replace(failed, phase=Phase.LISTENING), (Cancel(state.turn), AwaitInput(state.turn))
    return close(failed, Saying.TROUBLE, Cancel(state.turn))


def fail_ahead(state: State, event: TurnFailed | NothingSaid) -> Step:
    """A turn made ahead failed: it is made again when the caller has finished."""
    if event.turn != state.prepared:
        return state, ()
    return replace(state, turn=event.turn, prepared=None), (Discard(event.turn),)


def check(state: State, _: Event) -> Step:
    checking = replace(state, phase=Phase.CHECKING, interrupted=state.phase)
    return checking, (PausePlayout(state.turn), WatchInterruption(state.turn))


def judge(state: State, event: SpeechPaused) -> Step:
    return replace(state, phase=Phase.JUDGING), (Judge(state.turn, event.utterance, state.interrupted),)


def judge_at_end(state: State, event: SpeechEnded) -> Step:
    return replace(state, phase=Phase.JUDGING_LATE), (Judge(state.turn, event.utterance, state.interrupted),)


def judge_ongoing(state: State, _: Event) -> Step:
    return state, (JudgeOngoing(state.turn, state.interrupted),)


def verdict_on_ongoing(state: State, event: OngoingJudged) -> Step:
    """Loud talk in the room may last as long as the bot's answer: words take the turn, not length."""
    if event.meant or state.interrupted is Phase.LISTENING:
        return yield_turn(state, event)
    watch = WatchInterruption(state.turn)
    if state.phase is Phase.TALKING_ON:
        return state, (watch,)
    return replace(state, phase=Phase.TALKING_ON), (ResumePlayout(state.turn), watch)


def start_under_speech(state: State, event: Event) -> Step:
    started, commands = start_speaking(state, event)
    return replace(started, phase=Phase.TALKING_ON, interrupted=Phase.SPEAKING), commands


def judge_and_pause(state: State, event: SpeechPaused) -> Step:
    judged, commands = judge(state, event)
    return judged, (PausePlayout(state.turn), *commands)


def judge_and_pause_at_end(state: State, event: SpeechEnded) -> Step:
    judged, commands = judge_at_end(state, event)
    return judged, (PausePlayout(state.turn), *commands)


def check_again(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.CHECKING), (WatchInterruption(state.turn),)


def end_before_verdict(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.JUDGING_LATE), ()


def finish_under_speech(state: State, _: Event) -> Step:
    """The bot was through when the caller began: nothing was interrupted."""
    return replace(state, phase=Phase.HEARING), (Remember(state.turn),)


def finish_under_judgement(state: State, _: Event) -> Step:
    return replace(state, interrupted=Phase.LISTENING), (Remember(state.turn),)


def yield_turn(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.HEARING), (Cancel(state.turn),)


def nothing_to_resume(state: State, _: Event) -> Step:
    """What was interrupted turned out to have no words: there is nothing to go back to."""
    return replace(state, interrupted=Phase.LISTENING), ()


def go_back(state: State) -> Step:
    back = replace(state, phase=state.interrupted)
    if state.interrupted is Phase.LISTENING:
        return back, (Cancel(state.turn), AwaitInput(state.turn))
    return back, (ResumePlayout(state.turn),)


def verdict(state: State, event: InterruptionJudged) -> Step:
    if not event.meant:
        return go_back(state)
    prepared, commands = prepare(replace(state, phase=Phase.HEARING), SpeechPaused(event.utterance))
    return prepared, (Cancel(state.turn), *commands)


def verdict_after_end(state: State, event: InterruptionJudged) -> Step:
    if not event.meant:
        return go_back(state)
    answered, commands = answer(replace(state, phase=Phase.HEARING), SpeechEnded(event.utterance))
    return answered, (Cancel(state.turn), *commands)


def verdict_while_speaking_on(state: State, event: InterruptionJudged) -> Step:
    if not event.meant:
        return state, ()
    return replace(state, phase=Phase.HEARING), (Cancel(state.turn), Keep(event.utterance))


def late_verdict(state: State, event: InterruptionJudged) -> Step:
    """The caller spoke on and has the turn already: their first words belong to what they say now."""
    return state, (Keep(event.utterance),) if event.meant else ()


def no_input(state: State, _: Event) -> Step:
    if state.prompts >= state.max_prompts:
        return close(state, Saying.GOODBYE)
    return say(replace(state, prompts=state.prompts + 1), Saying.STILL_THERE)


def goodbye(state: State, _: Event) -> Step:
    return close(state, Saying.GOODBYE, *_drop(state))


def leave(state: State, _: Event) -> Step:
    """The model's last words were heard to their end."""
    return replace(state, phase=Phase.ENDED), (Remember(state.turn), HangUp(MODEL_HUNG_UP))


def put_through(state: State, event: TransferWanted) -> Step:
    return replace(state, phase=Phase.ENDED), (
        PutThrough(state.turn, event.target),
        Remember(state.turn),
    )


def hang_up(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.ENDED), (Cancel(state.turn), HangUp("normal"))


def not_heard(state: State, _: Event) -> Step:
    return close(state, Saying.NOT_HEARD, *_drop(state))


def lost(state: State, event: MediaLost) -> Step:
    return replace(state, phase=Phase.ENDED, prepared=None), (*_drop(state), HangUp(event.cause))


def gone(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.ENDED, prepared=None), _drop(state)
