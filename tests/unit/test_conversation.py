"""The conversation machine, scene by scene."""

from dataclasses import replace

import pytest

from media_bridge.events import Utterance
from stasis_app import conversation as talk
from stasis_app.conversation import Phase, Saying, State, step


def utterance(number: int = 1) -> Utterance:
    return Utterance(number=number, pcm=bytes(320), started=1.0, ended=2.0, voiced_ms=800)


FIRST, SECOND = utterance(1), utterance(2)


def play(state: State, *events: talk.Event) -> tuple[State, list[talk.Command]]:
    commands: list[talk.Command] = []
    for event in events:
        state, more = step(state, event)
        commands += more
    return state, commands


def speaking(saying: Saying = Saying.ANSWER) -> State:
    return State(phase=Phase.SPEAKING, turn=3, saying=saying)


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
    assert commands[-2:] == [talk.Cancel(3), talk.Prepare(4, FIRST)]


def test_words_that_ended_before_the_verdict_are_answered() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.SpeechEnded(FIRST),
        talk.InterruptionJudged(3, FIRST, meant=True),
    )
    assert (state.phase, state.turn) == (Phase.THINKING, 4)
    assert commands[-3:] == [talk.Cancel(3), talk.Prepare(4, FIRST), talk.Release(4, FIRST)]


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


def test_lasting_speech_takes_the_turn_by_its_words() -> None:
    state, commands = play(speaking(), talk.SpeechStarted(), talk.InterruptionLasts(3))
    assert state.phase is Phase.CHECKING
    assert commands[-1] == talk.JudgeOngoing(3, Phase.SPEAKING)
    state, commands = play(state, talk.OngoingJudged(3, meant=True))
    assert state.phase is Phase.HEARING
    assert commands == [talk.Cancel(3)]


LASTING = (talk.SpeechStarted(), talk.InterruptionLasts(3), talk.OngoingJudged(3, meant=False))


def test_under_lasting_sound_without_words_the_bot_goes_on_and_listens_again_and_again() -> None:
    state, commands = play(speaking(), *LASTING)
    assert state.phase is Phase.TALKING_ON
    assert commands[-2:] == [talk.ResumePlayout(3), talk.WatchInterruption(3)]
    state, commands = play(state, talk.InterruptionLasts(3), talk.OngoingJudged(3, meant=False))
    assert commands == [talk.JudgeOngoing(3, Phase.SPEAKING), talk.WatchInterruption(3)]
    state, commands = play(state, talk.InterruptionLasts(3), talk.OngoingJudged(3, meant=True))
    assert state.phase is Phase.HEARING
    assert commands[-1] == talk.Cancel(3)


@pytest.mark.parametrize(("meant", "phase"), [(False, Phase.SPEAKING), (True, Phase.HEARING)])
def test_what_was_said_under_lasting_sound_is_judged_when_it_pauses(meant: bool, phase: Phase) -> None:
    state, commands = play(speaking(), *LASTING, talk.SpeechPaused(FIRST))
    assert commands[-2:] == [talk.PausePlayout(3), talk.Judge(3, FIRST, Phase.SPEAKING)]
    state, commands = play(state, talk.InterruptionJudged(3, FIRST, meant=meant))
    assert state.phase is phase
    assert commands[0] == (talk.Cancel(3) if meant else talk.ResumePlayout(3))


def test_an_answer_that_begins_and_ends_under_lasting_sound_is_remembered() -> None:
    thinking = State(phase=Phase.THINKING, turn=3, saying=Saying.ANSWER, prompts=1)
    state, _ = play(thinking, *LASTING, talk.PlayoutStarted(3))
    assert (state.phase, state.interrupted, state.prompts) == (Phase.TALKING_ON, Phase.SPEAKING, 0)
    state, commands = play(state, talk.PlayoutFinished(3))
    assert state.phase is Phase.HEARING
    assert commands == [talk.Remember(3)]


def test_lasting_sound_over_an_answer_that_is_over_leaves_the_turn_to_the_caller() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.PlayoutFinished(3),
        talk.SpeechResumed(),
        talk.InterruptionLasts(3),
        talk.OngoingJudged(3, meant=False),
    )
    assert state.phase is Phase.HEARING
    assert commands[-1] == talk.Cancel(3)


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
        talk.Cancel(3),
        talk.HangUp("normal"),
    ]


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
    assert commands[-3:] == [talk.Cancel(3), talk.Prepare(4, FIRST), talk.Release(4, FIRST)]


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


# --- keys ---


def test_a_key_is_a_turn_of_its_own() -> None:
    listening = State(phase=Phase.LISTENING, turn=3)
    state, commands = play(listening, talk.DigitPressed(), talk.DigitPressed(), talk.DigitsEntered("12"))
    assert commands == [talk.AnswerDigits(4, "12")]
    assert (state.phase, state.turn, state.saying) == (Phase.THINKING, 4, Saying.ANSWER)


@pytest.mark.parametrize("phase", [Phase.THINKING, Phase.SPEAKING, Phase.JUDGING, Phase.JUDGING_LATE])
def test_a_key_stops_the_bot(phase: Phase) -> None:
    state, commands = step(State(phase=phase, turn=3), talk.DigitPressed())
    assert (state.phase, commands) == (Phase.KEYING, (talk.Cancel(3),))


def test_a_key_under_speech_over_the_bot_takes_the_turn() -> None:
    state, commands = step(State(phase=Phase.CHECKING, turn=3), talk.DigitPressed())
    assert (state.phase, commands) == (Phase.HEARING, (talk.Cancel(3),))


def test_only_the_terminator_leads_back_to_listening() -> None:
    state, commands = play(State(phase=Phase.LISTENING, turn=3), talk.DigitPressed(), talk.DigitsEntered(""))
    assert (state.phase, commands) == (Phase.LISTENING, [talk.AwaitInput(3)])


def test_digits_entered_while_the_caller_speaks_belong_to_their_answer() -> None:
    hearing = State(phase=Phase.HEARING, turn=3)
    _, commands = play(hearing, talk.SpeechPaused(FIRST), talk.DigitsEntered("12"), talk.SpeechEnded(FIRST))
    assert commands == [
        talk.Prepare(4, FIRST),
        talk.Discard(4),
        talk.KeepDigits("12"),
        talk.Prepare(5, FIRST),
        talk.Release(5, FIRST),
    ]


def test_speech_behind_keys_is_heard() -> None:
    state, _ = play(State(phase=Phase.LISTENING, turn=3), talk.DigitPressed(), talk.SpeechStarted())
    assert state.phase is Phase.HEARING


def test_digits_entered_when_the_bot_has_begun_again_are_answered_instead() -> None:
    state, commands = step(speaking(), talk.DigitsEntered("12"))
    assert commands == (talk.Cancel(3), talk.AnswerDigits(4, "12"))
    assert state.phase is Phase.THINKING


def test_no_event_shows_its_digits() -> None:
    assert "4711" not in repr(
        (talk.DigitsEntered("4711"), talk.AnswerDigits(1, "4711"), talk.KeepDigits("4711"))
    )


# --- passages ---


@pytest.mark.parametrize("phase", [Phase.THINKING, Phase.SPEAKING])
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
        talk.Judge(1, FIRST, Phase.SPEAKING),
        talk.Cancel(1),
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
    assert (state.phase, state.kept) == (Phase.SPEAKING, None)


def test_a_passage_at_the_end_of_a_turn_is_remembered_and_what_was_said_answered() -> None:
    reciting = State(phase=Phase.RECITING, turn=1)
    _, commands = play(
        reciting,
        talk.SpeechEnded(FIRST),
        talk.PlayoutFinished(1),
        talk.InterruptionJudged(1, FIRST, meant=True),
    )
    assert commands[:2] == [talk.Remember(1), talk.Judge(1, FIRST, Phase.LISTENING)]
    assert commands[-1] == talk.Release(2, FIRST)


def test_all_that_was_said_over_a_passage_is_kept() -> None:
    state, commands = play(
        State(phase=Phase.RECITING, turn=1),
        talk.SpeechEnded(FIRST),
        talk.SpeechOverPassage(),
        talk.SpeechEnded(SECOND),
    )
    assert (state.phase, state.kept, commands) == (Phase.RECITING_ON, SECOND, [talk.Keep(FIRST)])


def test_speech_that_outlasts_a_passage_is_speech_over_the_bot() -> None:
    state, commands = step(State(phase=Phase.RECITING, turn=1), talk.PassageEnded(1))
    assert (state.phase, state.interrupted) == (Phase.CHECKING, Phase.SPEAKING)
    assert commands == (talk.PausePlayout(1), talk.WatchInterruption(1))


def test_speech_that_outlasts_the_turn_is_simply_heard() -> None:
    state, commands = step(State(phase=Phase.RECITING, turn=1), talk.PlayoutFinished(1))
    assert (state.phase, commands) == (Phase.HEARING, (talk.Remember(1),))


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
    for phase in set(Phase) - allowed:
        state = replace(speaking(), phase=phase)
        assert step(state, event) == (state, ())
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
