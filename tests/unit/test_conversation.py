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


# --- several pieces of speech, judged late and in any order ---


def piece(number: int, ended: float) -> Utterance:
    return replace(utterance(number), ended=ended)


UH, UH_NO_STOP = piece(5, 2.0), piece(5, 3.0)


def no(one: Utterance) -> talk.Event:
    return talk.InterruptionJudged(3, one, meant=False)


def yes(one: Utterance) -> talk.Event:
    return talk.InterruptionJudged(3, one, meant=True)


TWICE = (
    talk.SpeechStarted(),
    talk.SpeechPaused(UH),
    talk.SpeechResumed(),
    talk.SpeechPaused(UH_NO_STOP),
)


def test_a_late_verdict_on_the_first_word_does_not_let_the_bot_go_on() -> None:
    state, commands = play(speaking(), *TWICE, no(UH))
    assert state.phase is Phase.JUDGING
    assert commands[-1] == talk.Judge(3, UH_NO_STOP, Phase.SPEAKING)
    state, commands = play(state, yes(UH_NO_STOP), talk.SpeechEnded(UH_NO_STOP))
    assert commands == [
        talk.Cancel(3),
        talk.Keep(UH_NO_STOP),
        talk.Prepare(4, UH_NO_STOP),
        talk.Release(4, UH_NO_STOP),
    ]


@pytest.mark.parametrize("ends", [(), (talk.SpeechEnded(UH_NO_STOP),)])
def test_a_late_verdict_on_the_first_word_takes_the_turn_for_all_of_them(
    ends: tuple[talk.Event, ...],
) -> None:
    state, commands = play(speaking(), *TWICE, *ends, yes(UH))
    assert talk.Prepare(4, UH_NO_STOP) in commands
    state, commands = play(state, no(UH_NO_STOP), talk.SpeechEnded(UH_NO_STOP))
    assert (state.phase, state.turn) == (Phase.THINKING, 4)
    assert talk.Cancel(4) not in commands


@pytest.mark.parametrize("meant", [False, True])
def test_the_verdict_on_the_first_word_says_nothing_any_more_behind_that_on_all(meant: bool) -> None:
    state, _ = play(speaking(), *TWICE, no(UH_NO_STOP))
    assert state == speaking()
    assert step(state, talk.InterruptionJudged(3, UH, meant=meant)) == (state, ())


TWO = (
    talk.SpeechStarted(),
    talk.SpeechEnded(FIRST),
    talk.SpeechStarted(),
    talk.SpeechPaused(SECOND),
)


@pytest.mark.parametrize(
    "verdicts", [(no(FIRST), yes(SECOND)), (yes(FIRST), no(SECOND)), (no(SECOND), yes(FIRST))]
)
@pytest.mark.parametrize("ends", [0, 1, 2])
def test_of_two_pieces_the_one_that_was_meant_is_answered_whichever_is_judged_first(
    verdicts: tuple[talk.Event, ...], ends: int
) -> None:
    events = [*verdicts]
    events.insert(ends, talk.SpeechEnded(SECOND))
    state, commands = play(speaking(), *TWO, *events)
    assert state.phase is Phase.THINKING
    prepared = [one for one in commands if isinstance(one, talk.Prepare)]
    kept = [one.utterance for one in commands if isinstance(one, talk.Keep)]
    meant = FIRST if yes(FIRST) in verdicts else SECOND
    assert meant in [*kept, prepared[-1].utterance]
    assert talk.Release(4, prepared[-1].utterance) in commands or talk.Release(4, SECOND) in commands


def test_the_bot_goes_on_when_no_piece_was_meant() -> None:
    state, commands = play(speaking(), *TWO, no(SECOND))
    assert state.phase is Phase.JUDGING
    assert talk.ResumePlayout(3) not in commands
    state, commands = play(state, no(FIRST))
    assert (state, commands) == (speaking(), [talk.ResumePlayout(3)])


def test_what_the_caller_goes_on_with_is_answered_together_with_what_was_meant() -> None:
    more = piece(2, 4.0)
    _, commands = play(speaking(), *TWO, no(SECOND), yes(FIRST), talk.SpeechResumed(), talk.SpeechEnded(more))
    assert commands[-6:] == [
        talk.Cancel(3),
        talk.Keep(FIRST),
        talk.Prepare(4, FIRST),
        talk.Discard(4),
        talk.Prepare(5, more),
        talk.Release(5, more),
    ]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (talk.PlayoutFinished(3), [talk.Remember(3), talk.Keep(FIRST)]),
        (talk.OngoingJudged(3, meant=True), [talk.Cancel(3), talk.Keep(FIRST)]),
        (talk.TurnFailed(3), [talk.Cancel(3), talk.Keep(FIRST)]),
        (talk.DigitPressed(), [talk.Cancel(3), talk.Keep(FIRST)]),
        (talk.DigitsEntered("1"), [talk.Cancel(3), talk.Keep(FIRST), talk.KeepDigits("1")]),
    ],
)
def test_who_gets_the_turn_has_it_with_what_was_not_judged_yet(
    event: talk.Event, said: list[talk.Command]
) -> None:
    state, commands = play(
        speaking(), talk.SpeechStarted(), talk.SpeechEnded(FIRST), talk.SpeechStarted(), event
    )
    assert (state.phase, state.unjudged) == (Phase.HEARING, ())
    assert commands[-len(said) :] == said


@pytest.mark.parametrize(
    ("event", "phase", "said"),
    [
        (talk.DigitPressed(), Phase.KEYING, []),
        (talk.DigitsEntered("1"), Phase.THINKING, [talk.AnswerDigits(4, "1")]),
        (talk.TurnFailed(3), Phase.THINKING, [talk.Say(4, Saying.APOLOGY)]),
    ],
)
def test_what_is_not_judged_yet_is_not_lost(
    event: talk.Event, phase: Phase, said: list[talk.Command]
) -> None:
    state, commands = play(speaking(), talk.SpeechStarted(), talk.SpeechEnded(FIRST), event)
    assert (state.phase, state.unjudged) == (phase, ())
    assert commands[3:] == [talk.Cancel(3), talk.Keep(FIRST), *said]


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
    assert commands[-2:] == [talk.Cancel(3), talk.Keep(FIRST)]


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
    assert (state.phase, state.failures) == (Phase.HEARING, 1)


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
    assert commands[:2] == [talk.Remember(1), talk.Judge(1, FIRST, Phase.LISTENING)]
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
    assert (state.phase, commands) == (Phase.CHECKING, (talk.WatchInterruption(3),))


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
