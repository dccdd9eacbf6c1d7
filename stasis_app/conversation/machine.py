"""The conversation machine: what the bot does next, as a pure table.

Two rules. Every transition is in `TABLE` and nowhere else; a pair that is missing there means "nothing happens".
And the machine has no clock, no words and no sound: timers are commands that come back as events, utterances are
passed on unread.

Work on an answer begins at the caller's first pause (`Prepare`), waits in front of playout, and is either let out
(`Release`) when the turn has ended or thrown away (`Discard`) when the caller goes on.
"""

from collections.abc import Callable
from typing import Any

from stasis_app.conversation import aside
from stasis_app.conversation import transitions as to
from stasis_app.conversation.events import (
    CallerGone,
    CallerNotHeard,
    CallLimit,
    ClosingLimit,
    DigitPressed,
    DigitsEntered,
    Event,
    GoodbyeWanted,
    HangUpWanted,
    InterruptionJudged,
    InterruptionLasts,
    MediaLost,
    MediaReady,
    NoInput,
    NothingSaid,
    OngoingJudged,
    PassageEnded,
    PlayoutFinished,
    PlayoutStarted,
    SpeechEnded,
    SpeechOverPassage,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TransferWanted,
    TurnFailed,
)
from stasis_app.conversation.phases import Phase
from stasis_app.conversation.state import State, Step


def step(state: State, event: Event) -> Step:
    """The next state, and what to do about it, in order."""
    turn = getattr(event, "turn", None)
    if turn is not None and turn not in (state.turn, state.prepared):
        return state, ()  # stale: that turn is no longer live
    handler = TABLE.get((state.phase, type(event)))
    return handler(state, event) if handler else (state, ())


_BOT_ALONE = (Phase.THINKING, Phase.SPEAKING, Phase.JUDGING, Phase.JUDGING_LATE)
"""The bot has the turn, and the caller does not speak."""

_LEAVES = (HangUpWanted, TransferWanted)

_TALKING = {*Phase} - {Phase.CONNECTING, Phase.CLOSING, Phase.ENDED}

TABLE: dict[tuple[Phase, type[Event]], Callable[[State, Any], Step]] = {
    (Phase.CONNECTING, MediaReady): to.greet,
    (Phase.LISTENING, SpeechStarted): to.hear,
    (Phase.LISTENING, SpeechResumed): to.hear,
    (Phase.LISTENING, SpeechOverPassage): to.hear,
    (Phase.LISTENING, NoInput): to.no_input,
    (Phase.HEARING, SpeechPaused): to.prepare,
    (Phase.HEARING, SpeechResumed): to.go_on_hearing,
    (Phase.HEARING, SpeechOverPassage): to.go_on_hearing,
    (Phase.HEARING, SpeechEnded): to.answer,
    (Phase.HEARING, TurnFailed): to.fail_ahead,
    (Phase.HEARING, NothingSaid): to.fail_ahead,
    (Phase.THINKING, SpeechStarted): to.check,
    (Phase.THINKING, SpeechResumed): to.check,
    (Phase.THINKING, PlayoutStarted): to.start_speaking,
    (Phase.THINKING, PlayoutFinished): to.finish_speaking,
    (Phase.THINKING, NothingSaid): to.listen,
    (Phase.THINKING, TurnFailed): to.fail,
    (Phase.SPEAKING, SpeechStarted): to.check,
    (Phase.SPEAKING, SpeechResumed): to.check,
    (Phase.SPEAKING, PlayoutFinished): to.finish_speaking,
    (Phase.SPEAKING, NothingSaid): to.listen,  # a filler was heard
    (Phase.SPEAKING, TurnFailed): to.fail,
    (Phase.CHECKING, SpeechPaused): to.judge,
    (Phase.CHECKING, SpeechEnded): to.judge_at_end,
    (Phase.CHECKING, InterruptionLasts): to.judge_ongoing,
    (Phase.CHECKING, OngoingJudged): to.verdict_on_ongoing,
    (Phase.CHECKING, PlayoutFinished): to.finish_under_speech,
    (Phase.CHECKING, SpeechResumed): to.watch_again,
    (Phase.CHECKING, InterruptionJudged): to.verdict_under_speech,
    (Phase.CHECKING, NothingSaid): to.yield_turn,
    (Phase.CHECKING, TurnFailed): to.fail_under_speech,
    (Phase.JUDGING, SpeechResumed): to.check_again,
    (Phase.JUDGING, SpeechOverPassage): to.check_again,
    (Phase.JUDGING, SpeechEnded): to.end_before_verdict,
    (Phase.JUDGING, InterruptionLasts): to.last,
    (Phase.JUDGING, InterruptionJudged): to.verdict,
    (Phase.JUDGING, PlayoutFinished): to.finish_under_judgement,
    (Phase.JUDGING, NothingSaid): to.nothing_to_resume,
    (Phase.JUDGING, TurnFailed): to.fail,
    (Phase.JUDGING_LATE, SpeechStarted): to.check_again,
    (Phase.JUDGING_LATE, SpeechOverPassage): to.check_again,
    (Phase.JUDGING_LATE, InterruptionLasts): to.last,
    (Phase.JUDGING_LATE, InterruptionJudged): to.verdict_after_end,
    (Phase.JUDGING_LATE, PlayoutFinished): to.finish_under_judgement,
    (Phase.JUDGING_LATE, NothingSaid): to.nothing_to_resume,
    (Phase.JUDGING_LATE, TurnFailed): to.fail,
    (Phase.TALKING_ON, SpeechPaused): to.judge_and_pause,
    (Phase.TALKING_ON, SpeechEnded): to.judge_and_pause_at_end,
    (Phase.TALKING_ON, SpeechResumed): to.watch_again,
    (Phase.TALKING_ON, InterruptionLasts): to.judge_ongoing,
    (Phase.TALKING_ON, OngoingJudged): to.verdict_on_ongoing,
    (Phase.TALKING_ON, InterruptionJudged): to.verdict_under_speech,
    (Phase.TALKING_ON, PlayoutStarted): to.start_under_speech,
    (Phase.TALKING_ON, PlayoutFinished): to.finish_under_speech,
    (Phase.TALKING_ON, NothingSaid): to.yield_turn,
    (Phase.TALKING_ON, TurnFailed): to.fail_under_speech,
    (Phase.TALKING_ON, DigitPressed): to.take_turn,
    (Phase.TALKING_ON, DigitsEntered): aside.enter_over_both,
    **{
        (phase, SpeechOverPassage): aside.recite
        for phase in (Phase.THINKING, Phase.SPEAKING, Phase.TALKING_ON)
    },
    **{(phase, PlayoutStarted): to.start for phase in (Phase.RECITING, Phase.RECITING_ON)},
    # all has been heard that there is
    **{(Phase.RECITING, leaves): aside.passage_ended_under_speech for leaves in _LEAVES},
    **{(Phase.RECITING_ON, leaves): aside.passage_ended for leaves in _LEAVES},
    (Phase.RECITING, SpeechEnded): aside.recite_on,
    (Phase.RECITING, PassageEnded): aside.passage_ended_under_speech,
    (Phase.RECITING, PlayoutFinished): to.finish_under_speech,
    (Phase.RECITING, DigitsEntered): aside.keep_digits,
    (Phase.RECITING, NothingSaid): to.yield_turn,
    (Phase.RECITING, TurnFailed): to.fail_under_speech,
    **{
        (Phase.RECITING_ON, speech): aside.recite_under_more
        for speech in (SpeechStarted, SpeechResumed, SpeechOverPassage)
    },
    (Phase.RECITING_ON, PassageEnded): aside.passage_ended,
    (Phase.RECITING_ON, PlayoutFinished): aside.recited_to_the_end,
    (Phase.RECITING_ON, DigitsEntered): aside.keep_digits,
    (Phase.RECITING_ON, NothingSaid): aside.recited_to_the_end,
    (Phase.RECITING_ON, TurnFailed): to.fail,
    (Phase.LISTENING, DigitPressed): aside.key,
    (Phase.LISTENING, DigitsEntered): aside.enter,
    **{(phase, DigitPressed): aside.key_over_the_bot for phase in _BOT_ALONE},
    **{(phase, DigitsEntered): aside.enter_late for phase in _BOT_ALONE},
    (Phase.CHECKING, DigitPressed): to.take_turn,
    (Phase.CHECKING, DigitsEntered): aside.enter_over_both,
    (Phase.HEARING, DigitsEntered): aside.enter_over_speech,
    (Phase.KEYING, DigitsEntered): aside.enter,
    (Phase.KEYING, SpeechStarted): to.hear,
    (Phase.KEYING, SpeechResumed): to.hear,
    (Phase.KEYING, SpeechOverPassage): to.hear,
    (Phase.CLOSING, PlayoutFinished): to.hang_up,
    (Phase.CLOSING, NothingSaid): to.hang_up_unsaid,
    (Phase.CLOSING, TurnFailed): to.hang_up_unsaid,
    (Phase.CLOSING, ClosingLimit): to.hang_up_unsaid,
    # while it is not known yet whether the caller wants the turn, a turn does not leave: it says so again
    **{(phase, HangUpWanted): to.leave for phase in to.ALLOWED_TO_LEAVE},
    **{(phase, TransferWanted): to.put_through for phase in to.ALLOWED_TO_LEAVE},
    **{(phase, GoodbyeWanted): to.goodbye for phase in to.INTERRUPTIBLE},
    **{(phase, CallLimit): to.goodbye for phase in _TALKING | {Phase.CONNECTING}},
    **{(phase, CallerNotHeard): to.not_heard for phase in _TALKING},
    **{(phase, MediaLost): to.lost for phase in {*Phase} - {Phase.ENDED}},
    **{(phase, CallerGone): to.gone for phase in {*Phase} - {Phase.ENDED}},
}
