"""What the phone's keys change, and passages that are heard to their end whatever the caller does."""

from dataclasses import replace

from stasis_app.conversation.commands import (
    AnswerDigits,
    AwaitInput,
    Command,
    Discard,
    Judge,
    KeepDigits,
    PausePlayout,
    Remember,
    WatchInterruption,
    WatchPassage,
)
from stasis_app.conversation.events import DigitsEntered, Event, SpeechEnded
from stasis_app.conversation.phases import Phase, Saying
from stasis_app.conversation.state import State, Step
from stasis_app.conversation.transitions import check, forgive, next_turn, said_over, take_turn

# --- keys ---


def key(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.KEYING), ()


def key_over_the_bot(state: State, event: Event) -> Step:
    """A key wants the turn; nobody presses one in passing."""
    taken, commands = take_turn(state, event)
    return replace(taken, phase=Phase.KEYING), commands


def enter(state: State, event: DigitsEntered) -> Step:
    if not event.digits:
        return replace(state, phase=Phase.LISTENING), (AwaitInput(state.turn),)
    return _answer_digits(state, event)


def enter_late(state: State, event: DigitsEntered) -> Step:
    """The bot has the turn again already."""
    if not event.digits:
        return state, ()
    taken, commands = take_turn(state, event)
    return _answer_digits(taken, event, *commands)


def enter_over_speech(state: State, event: DigitsEntered) -> Step:
    """The caller is speaking, or pauses: one answer to both, made anew with the digits in it."""
    if not event.digits:
        return state, ()
    kept = KeepDigits(event.digits)
    if state.prepared is None:
        return state, (kept,)
    return replace(state, turn=state.prepared, prepared=None), (Discard(state.prepared), kept)


def enter_over_both(state: State, event: DigitsEntered) -> Step:
    """The caller speaks over the bot and has pressed keys: they want the turn."""
    if not event.digits:
        return state, ()
    taken, commands = take_turn(state, event)
    return taken, (*commands, KeepDigits(event.digits))


def keep_digits(state: State, event: DigitsEntered) -> Step:
    return state, (KeepDigits(event.digits),) if event.digits else ()


def _answer_digits(state: State, event: DigitsEntered, *before: Command) -> Step:
    turn = next_turn(state)
    answered = replace(state, phase=Phase.THINKING, turn=turn, saying=Saying.ANSWER, prepared=None)
    return answered, (*before, AnswerDigits(turn, event.digits))


# --- passages ---


def recite(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.RECITING), (WatchPassage(state.turn),)


def recite_on(state: State, event: SpeechEnded) -> Step:
    return replace(said_over(state, event.utterance), phase=Phase.RECITING_ON), ()


def recite_under_more(state: State, _: Event) -> Step:
    return replace(state, phase=Phase.RECITING), ()


def passage_ended_under_speech(state: State, event: Event) -> Step:
    """From here on it is speech over the bot like any other."""
    checking, commands = check(replace(state, phase=Phase.SPEAKING), event)
    return checking, (*commands, *_judge(checking))


def passage_ended(state: State, _: Event) -> Step:
    judging = replace(state, phase=Phase.JUDGING_LATE, interrupted=Phase.SPEAKING, lasts=False)
    return judging, (PausePlayout(state.turn), WatchInterruption(state.turn), *_judge(judging))


def recited_to_the_end(state: State, _: Event) -> Step:
    judging = replace(forgive(state), phase=Phase.JUDGING_LATE, interrupted=Phase.LISTENING, lasts=False)
    return judging, (Remember(state.turn), WatchInterruption(state.turn), *_judge(judging))


def _judge(state: State) -> tuple[Command, ...]:
    return tuple(Judge(state.turn, one, state.interrupted) for one in state.unjudged)
