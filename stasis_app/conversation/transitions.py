"""What the talk's plain events change: speech, playout, verdicts, silence and the end."""

from dataclasses import replace

from media_bridge.events import Utterance
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
    said = replace(state, phase=Phase.THINKING, turn=turn, saying=saying, prepared=None, unjudged=())
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


def keep(state: State) -> tuple[Command, ...]:
    """Nobody will judge any more what was said over the bot: it belongs to the next answer."""
    return tuple(Keep(one) for one in state.unjudged)


def said_over(state: State, utterance: Utterance) -> State:
    """A longer piece of an utterance stands for the shorter one."""
    others = (one for one in state.unjudged if one.number != utterance.number)
    return replace(state, unjudged=(*others, utterance))


def forgive(state: State) -> State:
    """An answer that the caller has heard ends a row of failures, to its end or not."""
    return replace(state, failures=0) if state.saying is Saying.ANSWER else state


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


def start_speaking(state: State, event: Event) -> Step:
    started, commands = start(state, event)
    return replace(started, phase=Phase.SPEAKING), commands


def start(state: State, _: Event) -> Step:
    return replace(state, prompts=0) if state.saying is Saying.ANSWER else state, ()


def listen(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.LISTENING), (Cancel(state.turn), AwaitInput(state.turn))


def finish_speaking(state: State, _: Event) -> Step:
    listening = replace(forgive(state), phase=Phase.LISTENING)
    return listening, (Remember(state.turn), AwaitInput(state.turn))


def fail(state: State, _: Event) -> Step:
    failed = replace(state, failures=state.failures + 1, unjudged=())
    stop = (Cancel(state.turn), *keep(state))
    if state.saying is Saying.ANSWER and failed.failures < state.max_failures:
        return say(failed, Saying.APOLOGY, *stop)
    if state.saying in (Saying.GREETING, Saying.STILL_THERE):
        # a caller who was not greeted can still be heard and answered
        return replace(failed, phase=Phase.LISTENING), (*stop, AwaitInput(state.turn))
    return close(failed, Saying.TROUBLE, *stop)


def fail_under_speech(state: State, event: Event) -> Step:
    """Who speaks is heard first; but workers that fail under noise do not go on failing for ever."""
    return yield_turn(replace(state, failures=state.failures + 1), event)


def fail_ahead(state: State, event: TurnFailed | NothingSaid) -> Step:
    """A turn made ahead failed: it is made again when the caller has finished."""
    if event.turn != state.prepared:
        return state, ()
    return replace(state, turn=event.turn, prepared=None), (Discard(event.turn),)


def check(state: State, _: Event) -> Step:
    checking = replace(state, phase=Phase.CHECKING, interrupted=state.phase, lasts=False)
    return checking, (PausePlayout(state.turn), WatchInterruption(state.turn))


def judge(state: State, event: SpeechPaused) -> Step:
    judging = replace(said_over(state, event.utterance), phase=Phase.JUDGING)
    return judging, (Judge(state.turn, event.utterance, state.interrupted),)


def judge_at_end(state: State, event: SpeechEnded) -> Step:
    judging = replace(said_over(state, event.utterance), phase=Phase.JUDGING_LATE)
    return judging, (Judge(state.turn, event.utterance, state.interrupted),)


def judge_ongoing(state: State, _: Event) -> Step:
    return replace(state, lasts=True), (JudgeOngoing(state.turn, state.interrupted),)


def last(state: State, _: Event) -> Step:
    """A verdict is on its way already."""
    return replace(state, lasts=True), ()


def verdict_on_ongoing(state: State, event: OngoingJudged) -> Step:
    """Loud talk in the room may last as long as the bot's answer: words take the turn, not length."""
    if event.meant:
        return take_turn(state, event)
    if state.phase is Phase.TALKING_ON:
        return state, (WatchInterruption(state.turn),)
    return _end_silence(state, event)


def _end_silence(state: State, event: Event) -> Step:
    """The bot goes on under the sound, if it has anything left to say."""
    return take_turn(state, event) if state.interrupted is Phase.LISTENING else talk_on(state)


def talk_on(state: State) -> Step:
    resumed = replace(state, phase=Phase.TALKING_ON)
    return resumed, (ResumePlayout(state.turn), WatchInterruption(state.turn))


def start_under_speech(state: State, event: Event) -> Step:
    started, commands = start_speaking(state, event)
    return replace(started, phase=Phase.TALKING_ON, interrupted=Phase.SPEAKING), commands


def judge_and_pause(state: State, event: SpeechPaused) -> Step:
    judged, commands = judge(state, event)
    return judged, (PausePlayout(state.turn), *commands)


def judge_and_pause_at_end(state: State, event: SpeechEnded) -> Step:
    """It is read already where the bot went on in its last pause."""
    if event.utterance in state.unjudged:
        return replace(state, phase=Phase.JUDGING_LATE), (PausePlayout(state.turn),)
    judged, commands = judge_at_end(state, event)
    return judged, (PausePlayout(state.turn), *commands)


def check_again(state: State, _: Event) -> Step:
    """How long the bot is silent counts from the first of the sounds: short ones may follow each other for ever."""
    return replace(state, phase=Phase.CHECKING), ()


def watch_again(state: State, _: Event) -> Step:
    """The speech had paused when a passage under it ended, or when the bot went on, and goes on."""
    return state, (WatchInterruption(state.turn),)


def end_before_verdict(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.JUDGING_LATE), ()


def finish_under_speech(state: State, _: Event) -> Step:
    """The bot was through when the caller began: nothing was interrupted."""
    hearing = replace(forgive(state), phase=Phase.HEARING, unjudged=())
    return hearing, (Remember(state.turn), *keep(state))


def finish_under_judgement(state: State, _: Event) -> Step:
    return replace(forgive(state), interrupted=Phase.LISTENING), (Remember(state.turn),)


def yield_turn(state: State, _: Event) -> Step:
    """The bot has nothing to go on with."""
    return replace(state, phase=Phase.HEARING, unjudged=()), (Cancel(state.turn), *keep(state))


def take_turn(state: State, event: Event) -> Step:
    """The caller wants the turn, and has it with all they said over the bot."""
    over = state.phase if state.phase in (Phase.THINKING, Phase.SPEAKING) else state.interrupted
    return yield_turn(forgive(state) if over is Phase.SPEAKING else state, event)


def nothing_to_resume(state: State, _: Event) -> Step:
    """What was interrupted turned out to have no words: there is nothing to go back to."""
    return replace(state, interrupted=Phase.LISTENING), ()


def go_back(state: State) -> Step:
    back = replace(state, phase=state.interrupted, lasts=False)
    if state.interrupted is Phase.LISTENING:
        return back, (Cancel(state.turn), AwaitInput(state.turn))
    return back, (ResumePlayout(state.turn),)


def verdict(state: State, event: InterruptionJudged) -> Step:
    """Any piece that was meant takes the turn, with all that was said since; the bot goes on when none was."""
    if not event.meant:
        return _not_meant(state, event.utterance)
    if not _is_open(state, event.utterance):
        return state, ()
    taken, commands = take_turn(state, event)
    prepared, more = prepare(taken, SpeechPaused(state.unjudged[-1]))
    return prepared, (*commands, *more)


def verdict_after_end(state: State, event: InterruptionJudged) -> Step:
    if not event.meant:
        return _not_meant(state, event.utterance)
    if not _is_open(state, event.utterance):
        return state, ()
    taken, commands = take_turn(state, event)
    answered, more = answer(taken, SpeechEnded(state.unjudged[-1]))
    return answered, (*commands, *more)


def verdict_under_speech(state: State, event: InterruptionJudged) -> Step:
    """The caller speaks on: their first words belong to what they say now."""
    if not event.meant:
        judged = _without(state, event.utterance)
        return _end_silence(judged, event) if state.lasts and state.phase is Phase.CHECKING else (judged, ())
    return take_turn(state, event) if _is_open(state, event.utterance) else (state, ())


def _not_meant(state: State, utterance: Utterance) -> Step:
    judged = _without(state, utterance)
    if not judged.unjudged:
        return go_back(judged)
    # where verdicts come later than the next sound there is always one still to come
    waits = state.phase is Phase.JUDGING_LATE or state.interrupted is Phase.LISTENING
    return talk_on(judged) if state.lasts and not waits else (judged, ())


def _is_open(state: State, utterance: Utterance) -> bool:
    """Whether this piece, or a longer one of the same utterance, is still to be judged."""
    return any(one.number == utterance.number for one in state.unjudged)


def _without(state: State, utterance: Utterance) -> State:
    """A shorter piece says nothing against the longer one."""
    return replace(state, unjudged=tuple(one for one in state.unjudged if one != utterance))


def no_input(state: State, _: Event) -> Step:
    if state.prompts >= state.max_prompts:
        return close(state, Saying.GOODBYE)
    return say(replace(state, prompts=state.prompts + 1), Saying.STILL_THERE)


def goodbye(state: State, _: Event) -> Step:
    return close(state, Saying.GOODBYE, *_drop(state))


def leave(state: State, _: Event) -> Step:
    """The model's last words were heard to their end."""
    if state.unjudged:
        return state, ()
    return replace(state, phase=Phase.ENDED), (Remember(state.turn), HangUp(MODEL_HUNG_UP))


def put_through(state: State, event: TransferWanted) -> Step:
    if state.unjudged:
        return state, ()
    return replace(state, phase=Phase.ENDED), (
        PutThrough(state.turn, event.target),
        Remember(state.turn),
    )


def hang_up(state: State, _: Event) -> Step:
    """The last words were heard to their end."""
    return replace(state, phase=Phase.ENDED), (Remember(state.turn), HangUp("normal"))


def hang_up_unsaid(state: State, _: Event) -> Step:
    """There were none, or no more of them come."""
    return replace(state, phase=Phase.ENDED), (Cancel(state.turn), HangUp("normal"))


def not_heard(state: State, _: Event) -> Step:
    return close(state, Saying.NOT_HEARD, *_drop(state))


def lost(state: State, event: MediaLost) -> Step:
    return replace(state, phase=Phase.ENDED, prepared=None), (*_drop(state), HangUp(event.cause))


def gone(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.ENDED, prepared=None), _drop(state)
