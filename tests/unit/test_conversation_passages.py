"""The conversation machine: passages that are heard to their end, and leaving the talk."""

from dataclasses import replace

import pytest

from stasis_app import conversation as talk
from stasis_app.conversation import Phase, State, step
from tests.support.conversation import FIRST, SECOND, play, speaking

PASSAGE_ENDS = [
    (talk.PassageEnded(1), Phase.SPEAKING),
    (talk.HangUpWanted(1), Phase.SPEAKING),
    (talk.TransferWanted(1, "front_desk"), Phase.SPEAKING),
    (talk.PlayoutFinished(1), Phase.LISTENING),
]


@pytest.mark.parametrize("phase", [Phase.THINKING, Phase.SPEAKING, Phase.TALKING_ON])
def test_speech_over_a_passage_does_not_pause_it(phase: Phase) -> None:
    state, commands = step(State(phase=phase, turn=1), talk.SpeechOverPassage())
    assert (state.phase, commands) == (Phase.RECITING, (talk.WatchPassage(1),))


def test_what_was_said_over_a_passage_is_judged_when_it_has_been_heard() -> None:
    state, commands = play(
        State(phase=Phase.SPEAKING, turn=1),
        talk.SpeechOverPassage(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
        talk.PassageEnded(1),
        talk.InterruptionJudged(1, FIRST, meant=True),
    )
    assert commands == [
        talk.WatchPassage(1),
        talk.PausePlayout(1),
        talk.WatchInterruption(1),
        talk.Judge(1, FIRST, Phase.SPEAKING),
        talk.Cancel(1),
        talk.Keep(FIRST),
        talk.Prepare(2, FIRST),
        talk.Release(2, FIRST),
    ]
    assert state.phase is Phase.THINKING


def test_a_sound_over_a_passage_leaves_the_rest_of_the_turn() -> None:
    state, commands = play(
        State(phase=Phase.SPEAKING, turn=1),
        talk.SpeechOverPassage(),
        talk.SpeechEnded(FIRST),
        talk.PassageEnded(1),
        talk.InterruptionJudged(1, FIRST, meant=False),
    )
    assert commands[-1] == talk.ResumePlayout(1)
    assert (state.phase, state.unjudged) == (Phase.SPEAKING, ())


def test_a_passage_at_the_end_of_a_turn_is_remembered_and_what_was_said_answered() -> None:
    reciting = State(phase=Phase.RECITING, turn=1)
    _, commands = play(
        reciting,
        talk.SpeechEnded(FIRST),
        talk.PlayoutFinished(1),
        talk.InterruptionJudged(1, FIRST, meant=True),
    )
    assert commands[:3] == [
        talk.Remember(1),
        talk.WatchInterruption(1),
        talk.Judge(1, FIRST, Phase.LISTENING),
    ]
    assert commands[-1] == talk.Release(2, FIRST)


@pytest.mark.parametrize(("ends", "over"), PASSAGE_ENDS)
def test_all_that_was_said_over_a_passage_is_judged_when_it_has_been_heard(
    ends: talk.Event, over: Phase
) -> None:
    state, commands = play(
        State(phase=Phase.RECITING, turn=1),
        talk.SpeechEnded(FIRST),
        talk.SpeechOverPassage(),
        talk.SpeechEnded(SECOND),
        ends,
    )
    assert state.phase is Phase.JUDGING_LATE
    assert commands[-2:] == [talk.Judge(1, FIRST, over), talk.Judge(1, SECOND, over)]
    state, commands = play(
        state,
        talk.InterruptionJudged(1, SECOND, meant=False),
        talk.InterruptionJudged(1, FIRST, meant=True),
    )
    assert state.phase is Phase.THINKING
    assert commands == [talk.Cancel(1), talk.Keep(FIRST), talk.Prepare(2, FIRST), talk.Release(2, FIRST)]


def test_what_was_said_over_a_passage_is_judged_though_the_caller_speaks_again() -> None:
    state, commands = play(
        State(phase=Phase.RECITING, turn=1),
        talk.SpeechEnded(FIRST),
        talk.SpeechOverPassage(),
        talk.PassageEnded(1),
    )
    assert state.phase is Phase.CHECKING
    assert commands[-1] == talk.Judge(1, FIRST, Phase.SPEAKING)
    state, commands = play(
        state,
        talk.InterruptionJudged(1, FIRST, meant=True),
        talk.SpeechEnded(SECOND),
    )
    assert commands == [
        talk.Cancel(1),
        talk.Keep(FIRST),
        talk.Prepare(2, SECOND),
        talk.Release(2, SECOND),
    ]


def test_speech_that_outlasts_a_passage_is_speech_over_the_bot() -> None:
    state, commands = step(State(phase=Phase.RECITING, turn=1), talk.PassageEnded(1))
    assert (state.phase, state.interrupted) == (Phase.CHECKING, Phase.SPEAKING)
    assert commands == (talk.PausePlayout(1), talk.WatchInterruption(1))


def test_speech_that_outlasts_the_turn_is_simply_heard() -> None:
    state, commands = step(State(phase=Phase.RECITING, turn=1), talk.PlayoutFinished(1))
    assert (state.phase, commands) == (Phase.HEARING, (talk.Remember(1),))


@pytest.mark.parametrize("phase", [Phase.LISTENING, Phase.HEARING, Phase.KEYING])
def test_over_a_passage_that_was_thrown_away_the_caller_is_heard(phase: Phase) -> None:
    """A turn that fails in the middle of one leaves it unfinished."""
    state, commands = step(State(phase=phase, turn=3, prepared=4), talk.SpeechOverPassage())
    assert state.phase is Phase.HEARING
    assert commands == ((talk.Discard(4),) if phase is Phase.HEARING else ())


@pytest.mark.parametrize("phase", [Phase.JUDGING, Phase.JUDGING_LATE])
def test_speech_in_front_of_a_passage_that_has_not_begun_is_judged_like_any_other(phase: Phase) -> None:
    paused = replace(speaking(), phase=phase, unjudged=(FIRST,))
    state, commands = step(paused, talk.SpeechOverPassage())
    assert (state.phase, commands) == (Phase.CHECKING, ())


def test_speech_that_paused_while_a_passage_ended_is_watched_when_it_goes_on() -> None:
    state, commands = play(
        State(phase=Phase.RECITING, turn=1),
        talk.SpeechPaused(FIRST),
        talk.PassageEnded(1),
        talk.SpeechResumed(),
    )
    assert (state.phase, commands[-1]) == (Phase.CHECKING, talk.WatchInterruption(1))


LEAVING = (talk.HangUpWanted(3), talk.TransferWanted(3, "front_desk"))


@pytest.mark.parametrize("phase", [Phase.THINKING, Phase.SPEAKING, Phase.TALKING_ON])
def test_a_turn_whose_last_words_were_heard_leaves_the_talk(phase: Phase) -> None:
    state = replace(speaking(), phase=phase)
    hung_up, transferred = (step(state, event) for event in LEAVING)
    assert hung_up[0].phase is transferred[0].phase is Phase.ENDED
    assert hung_up[1] == (talk.Remember(3), talk.HangUp("model_hung_up"))
    assert transferred[1] == (talk.PutThrough(3, "front_desk"), talk.Remember(3))


@pytest.mark.parametrize("event", LEAVING)
def test_nobody_leaves_while_it_is_open_whether_the_caller_wants_to_go_on(event: talk.Event) -> None:
    allowed = {Phase.THINKING, Phase.SPEAKING, Phase.TALKING_ON}
    reciting = {Phase.RECITING, Phase.RECITING_ON}  # all of the passage that is said was heard
    for phase in set(Phase) - allowed - reciting:
        state = replace(speaking(), phase=phase)
        assert step(state, event) == (state, ())
    judging = replace(speaking(), phase=Phase.TALKING_ON, unjudged=(FIRST,))
    assert step(judging, event) == (judging, ())
    for phase in reciting:
        state, judges = step(replace(speaking(), phase=phase, unjudged=(FIRST,)), event)
        assert state.phase in {Phase.CHECKING, Phase.JUDGING_LATE}
        assert judges[-1] == talk.Judge(3, FIRST, Phase.SPEAKING)
    coughed, _ = play(speaking(), talk.SpeechStarted(), event, talk.SpeechPaused(FIRST), event)
    resumed, commands = play(coughed, talk.InterruptionJudged(3, FIRST, meant=False), event)
    assert resumed.phase is Phase.ENDED
    assert commands[0] == talk.ResumePlayout(3)


def test_who_goes_on_talking_is_not_sent_away() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=True),
        *LEAVING,
    )
    assert state.phase is Phase.HEARING
    assert not any(isinstance(command, talk.HangUp | talk.PutThrough) for command in commands)
