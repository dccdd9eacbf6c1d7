"""The conversation machine, scene by scene."""

from dataclasses import replace

import pytest

from stasis_app import conversation as talk
from stasis_app.conversation import Phase, Saying, State, step
from tests.support.conversation import FIRST, LASTING, SECOND, play, speaking


def test_a_plain_talk() -> None:
    state, commands = play(
        State(),
        talk.MediaReady(),
        talk.PlayoutStarted(1),
        talk.PlayoutFinished(1),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
        talk.PlayoutStarted(2),
        talk.PlayoutFinished(2),
    )
    assert state.phase is Phase.LISTENING
    assert commands == [
        talk.Say(1, Saying.GREETING),
        talk.Remember(1),
        talk.AwaitInput(1),
        talk.Prepare(2, FIRST),
        talk.Release(2, FIRST),
        talk.Remember(2),
        talk.AwaitInput(2),
    ]


def test_a_pause_inside_a_turn_throws_the_prepared_answer_away() -> None:
    hearing = State(phase=Phase.HEARING, turn=1)
    state, commands = play(
        hearing,
        talk.SpeechPaused(FIRST),
        talk.SpeechResumed(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
    )
    assert commands == [
        talk.Prepare(2, FIRST),
        talk.Discard(2),
        talk.Prepare(3, FIRST),
        talk.Release(3, FIRST),
    ]
    assert (state.phase, state.turn) == (Phase.THINKING, 3)


def test_an_event_of_a_discarded_turn_is_stale() -> None:
    hearing = State(phase=Phase.HEARING, turn=1)
    state, _ = play(hearing, talk.SpeechPaused(FIRST), talk.SpeechResumed(), talk.SpeechPaused(FIRST))
    assert step(state, talk.TurnFailed(2)) == (state, ())


def test_a_turn_that_failed_ahead_is_made_again_at_the_end_of_speech() -> None:
    hearing = State(phase=Phase.HEARING, turn=1)
    _, commands = play(hearing, talk.SpeechPaused(FIRST), talk.TurnFailed(2), talk.SpeechEnded(FIRST))
    assert commands == [
        talk.Prepare(2, FIRST),
        talk.Discard(2),
        talk.Prepare(3, FIRST),
        talk.Release(3, FIRST),
    ]


def test_speech_over_the_bot_pauses_it_at_once() -> None:
    state, commands = step(speaking(), talk.SpeechStarted())
    assert state.phase is Phase.CHECKING
    assert commands == (talk.PausePlayout(3), talk.WatchInterruption(3))


def test_a_cough_resumes() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=False),
    )
    assert state == speaking()
    assert commands[-2:] == [talk.Judge(3, FIRST, Phase.SPEAKING), talk.ResumePlayout(3)]


def test_a_cough_whose_verdict_is_late_resumes() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=False),
    )
    assert state == speaking()
    assert commands[-1] == talk.ResumePlayout(3)


def test_words_over_the_bot_take_the_turn() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=True),
    )
    assert (state.phase, state.prepared) == (Phase.HEARING, 4)
    assert commands[-3:] == [talk.Cancel(3), talk.Keep(FIRST), talk.Prepare(4, FIRST)]


def test_words_that_ended_before_the_verdict_are_answered() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=True),
    )
    assert (state.phase, state.turn) == (Phase.THINKING, 4)
    assert commands[-4:] == [
        talk.Cancel(3),
        talk.Keep(FIRST),
        talk.Prepare(4, FIRST),
        talk.Release(4, FIRST),
    ]


def test_words_before_more_speech_are_kept_for_the_next_answer() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
        talk.SpeechStarted(),
        talk.InterruptionJudged(3, FIRST, meant=True),
        talk.SpeechPaused(SECOND),
    )
    assert state.phase is Phase.HEARING
    assert commands[-3:] == [talk.Cancel(3), talk.Keep(FIRST), talk.Prepare(4, SECOND)]


def test_a_cough_while_the_answer_is_made_loses_nothing() -> None:
    thinking = State(phase=Phase.THINKING, turn=2, saying=Saying.ANSWER)
    state, commands = play(
        thinking,
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.InterruptionJudged(2, FIRST, meant=False),
    )
    assert state == replace(thinking, interrupted=Phase.THINKING)
    assert commands[-1] == talk.ResumePlayout(2)


@pytest.mark.parametrize("ends", [(), (talk.SpeechEnded(FIRST),)])
def test_noise_over_a_turn_without_words_leads_back_to_listening(ends: tuple[talk.Event, ...]) -> None:
    thinking = State(phase=Phase.THINKING, turn=2, saying=Saying.ANSWER)
    state, commands = play(
        thinking,
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        *ends,
        talk.NothingSaid(2),
        talk.InterruptionJudged(2, FIRST, meant=False),
    )
    assert state.phase is Phase.LISTENING
    assert commands[-2:] == [talk.Cancel(2), talk.AwaitInput(2)]


def test_a_turn_without_words_behind_a_filler_leads_back_to_listening() -> None:
    state, commands = step(speaking(), talk.NothingSaid(3))
    assert state.phase is Phase.LISTENING
    assert commands == (talk.Cancel(3), talk.AwaitInput(3))


def test_the_first_failure_is_an_apology_and_the_second_the_end() -> None:
    thinking = State(phase=Phase.THINKING, turn=2, saying=Saying.ANSWER)
    state, commands = step(thinking, talk.TurnFailed(2))
    assert commands == (talk.Cancel(2), talk.Say(3, Saying.APOLOGY))
    state, _ = play(state, talk.PlayoutStarted(3), talk.PlayoutFinished(3), talk.SpeechStarted())
    state, commands2 = play(state, talk.SpeechEnded(FIRST), talk.TurnFailed(4))
    assert state.phase is Phase.CLOSING
    assert talk.Say(5, Saying.TROUBLE) in commands2
    state, commands3 = play(state, talk.PlayoutFinished(5))
    assert state.phase is Phase.ENDED
    assert commands3[-1] == talk.HangUp("normal")


def test_an_answer_that_was_heard_forgives_a_failure() -> None:
    thinking = State(phase=Phase.SPEAKING, turn=2, saying=Saying.ANSWER, failures=1)
    state, _ = step(thinking, talk.PlayoutFinished(2))
    assert state.failures == 0


FAILED_ONCE = replace(speaking(), failures=1)


@pytest.mark.parametrize(
    "events",
    [
        (talk.SpeechStarted(), talk.PlayoutFinished(3)),
        (*LASTING, talk.PlayoutFinished(3)),
        (talk.SpeechStarted(), talk.SpeechPaused(FIRST), talk.PlayoutFinished(3)),
        (talk.SpeechOverPassage(), talk.PlayoutFinished(3)),
        (talk.SpeechOverPassage(), talk.SpeechEnded(FIRST), talk.PlayoutFinished(3)),
        (talk.SpeechStarted(), talk.InterruptionLasts(3), talk.OngoingJudged(3, meant=True)),
        (talk.SpeechStarted(), talk.SpeechPaused(FIRST), talk.InterruptionJudged(3, FIRST, meant=True)),
        (talk.SpeechStarted(), talk.SpeechEnded(FIRST), talk.InterruptionJudged(3, FIRST, meant=True)),
        (talk.DigitPressed(),),
    ],
)
def test_a_failure_is_forgiven_by_an_answer_that_was_heard_however_it_ended(
    events: tuple[talk.Event, ...],
) -> None:
    state, _ = play(FAILED_ONCE, *events)
    assert state.failures == 0


@pytest.mark.parametrize(
    "state",
    [
        replace(FAILED_ONCE, saying=Saying.APOLOGY),
        replace(FAILED_ONCE, phase=Phase.THINKING),
    ],
)
@pytest.mark.parametrize("takes", [True, False])
def test_an_answer_that_nobody_heard_forgives_nothing(state: State, takes: bool) -> None:
    events = (talk.OngoingJudged(3, meant=True),) if takes else (talk.TurnFailed(3),)
    state, _ = play(state, talk.SpeechStarted(), *events)
    assert (state.phase, state.failures) == (Phase.HEARING, 1 if takes else 2)


@pytest.mark.parametrize(
    "over", [(talk.SpeechStarted(),), LASTING, (talk.SpeechOverPassage(),)], ids=["paused", "on", "passage"]
)
def test_a_failure_under_speech_is_one_of_the_row(over: tuple[talk.Event, ...]) -> None:
    """The caller is heard first; when what they said cannot be answered either, that is the second."""
    state, commands = play(speaking(), *over, talk.TurnFailed(3))
    assert (state.phase, commands[-1]) == (Phase.HEARING, talk.Cancel(3))
    state, commands = play(state, talk.SpeechEnded(FIRST), talk.TurnFailed(4))
    assert state.phase is Phase.CLOSING
    assert talk.Say(5, Saying.TROUBLE) in commands


def test_an_answer_that_begins_over_a_passage_ends_the_row_of_prompts() -> None:
    thinking = State(phase=Phase.THINKING, turn=3, saying=Saying.ANSWER, prompts=2)
    state, _ = play(thinking, talk.SpeechOverPassage(), talk.PlayoutStarted(3))
    assert (state.phase, state.prompts) == (Phase.RECITING, 0)


def test_a_failed_greeting_still_listens() -> None:
    state, _ = play(State(), talk.MediaReady(), talk.TurnFailed(1))
    assert state.phase is Phase.LISTENING


def test_a_silent_caller_is_asked_twice_and_then_told_goodbye() -> None:
    state = State(phase=Phase.LISTENING, turn=1)
    said: list[Saying] = []
    while state.phase is not Phase.ENDED:
        state, commands = play(
            state,
            talk.NoInput(state.turn),
            talk.PlayoutStarted(state.turn + 1),
            talk.PlayoutFinished(state.turn + 1),
        )
        said += [command.saying for command in commands if isinstance(command, talk.Say)]
    assert said == [Saying.STILL_THERE, Saying.STILL_THERE, Saying.GOODBYE]


def test_noise_does_not_count_as_an_answer_to_are_you_there() -> None:
    state = State(phase=Phase.LISTENING, turn=4, prompts=2)
    state, _ = play(state, talk.SpeechStarted(), talk.SpeechEnded(FIRST), talk.NothingSaid(5))
    assert (state.phase, state.prompts) == (Phase.LISTENING, 2)


def test_goodbye_is_said_before_the_line_is_dropped() -> None:
    thinking = State(phase=Phase.THINKING, turn=2, saying=Saying.ANSWER)
    state, commands = play(thinking, talk.GoodbyeWanted(2), talk.PlayoutStarted(3), talk.PlayoutFinished(3))
    assert state.phase is Phase.ENDED
    assert commands == [
        talk.Cancel(2),
        talk.Say(3, Saying.GOODBYE),
        talk.LimitClosing(),
        talk.Remember(3),
        talk.HangUp("normal"),
    ]


@pytest.mark.parametrize("event", [talk.NothingSaid(3), talk.TurnFailed(3), talk.ClosingLimit()])
def test_a_goodbye_that_does_not_come_to_its_end_is_cut(event: talk.Event) -> None:
    state, commands = step(State(phase=Phase.CLOSING, turn=3, saying=Saying.GOODBYE), event)
    assert (state.phase, commands) == (Phase.ENDED, (talk.Cancel(3), talk.HangUp("normal")))


@pytest.mark.parametrize("event", [talk.CallerGone("caller_hung_up"), talk.MediaLost("media_timeout")])
def test_whoever_leaves_in_the_middle_of_the_goodbye_cuts_it(event: talk.Event) -> None:
    state, commands = step(State(phase=Phase.CLOSING, turn=3, saying=Saying.GOODBYE), event)
    assert (state.phase, commands[0]) == (Phase.ENDED, talk.Cancel(3))


def test_a_caller_who_leaves_stops_what_is_being_made() -> None:
    hearing = State(phase=Phase.HEARING, turn=1)
    state, commands = play(hearing, talk.SpeechPaused(FIRST), talk.CallerGone("caller_hung_up"))
    assert state.phase is Phase.ENDED
    assert commands[-1] == talk.Discard(2)


def test_speech_at_the_very_end_of_an_answer_is_a_new_turn() -> None:
    state, commands = play(speaking(), talk.SpeechStarted(), talk.PlayoutFinished(3), talk.SpeechEnded(FIRST))
    assert state.phase is Phase.THINKING
    assert commands[-3:] == [talk.Remember(3), talk.Prepare(4, FIRST), talk.Release(4, FIRST)]


def test_a_cough_at_the_very_end_of_an_answer_leaves_the_bot_listening() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.PlayoutFinished(3),
        talk.InterruptionJudged(3, FIRST, meant=False),
    )
    assert state.phase is Phase.LISTENING
    assert talk.Remember(3) in commands
    assert commands[-1] == talk.AwaitInput(3)


def test_a_caller_who_is_never_heard_is_told_and_hung_up() -> None:
    listening = State(phase=Phase.LISTENING, turn=1)
    state, commands = play(listening, talk.CallerNotHeard(), talk.PlayoutStarted(2), talk.PlayoutFinished(2))
    assert state.phase is Phase.ENDED
    assert commands[0] == talk.Say(2, Saying.NOT_HEARD)
    assert commands[-1] == talk.HangUp("normal")


def test_lost_sound_ends_the_call_at_once() -> None:
    state, commands = step(speaking(), talk.MediaLost("media_timeout"))
    assert state.phase is Phase.ENDED
    assert commands == (talk.Cancel(3), talk.HangUp("media_timeout"))


@pytest.mark.parametrize("phase", [Phase.SPEAKING, Phase.THINKING])
def test_speech_that_goes_on_after_a_sound_of_listening_is_checked_again(phase: Phase) -> None:
    state, commands = play(
        replace(speaking(), phase=phase),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=False),
        talk.SpeechResumed(),
        talk.SpeechPaused(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=True),
        talk.SpeechEnded(FIRST),
    )
    assert (state.phase, state.turn) == (Phase.THINKING, 4)
    assert commands[-3:] == [talk.Keep(FIRST), talk.Prepare(4, FIRST), talk.Release(4, FIRST)]


def test_words_judged_after_the_caller_took_the_turn_are_kept() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
        talk.SpeechStarted(),
        talk.OngoingJudged(3, meant=True),
        talk.InterruptionJudged(3, FIRST, meant=True),
        talk.SpeechPaused(SECOND),
    )
    assert state.phase is Phase.HEARING
    assert commands[-3:] == [talk.Cancel(3), talk.Keep(FIRST), talk.Prepare(4, SECOND)]


def test_a_goodbye_asked_for_while_the_call_connects_is_said() -> None:
    state, commands = step(State(), talk.CallLimit())
    assert state.phase is Phase.CLOSING
    assert commands[0] == talk.Say(1, Saying.GOODBYE)
