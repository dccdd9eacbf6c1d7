"""The conversation machine: speech over the bot in pieces, judged late and in any order, and sound that lasts."""

from dataclasses import replace

import pytest

from media_bridge.events import Utterance
from stasis_app import conversation as talk
from stasis_app.conversation import Phase, Saying, State, step
from tests.support.conversation import FIRST, LASTING, SECOND, play, speaking, utterance


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


AGAIN_AND_AGAIN = (*TWICE, talk.InterruptionLasts(3))
"""Of several short sounds the second has paused when 1.5 s have passed since the first began."""


def test_how_long_the_bot_is_silent_counts_from_the_first_of_several_sounds() -> None:
    _, commands = play(speaking(), *TWICE, talk.SpeechResumed())
    assert commands.count(talk.WatchInterruption(3)) == 1


@pytest.mark.parametrize("goes_on", [(), (talk.SpeechResumed(),)])
def test_the_bot_goes_on_in_the_end_though_each_verdict_comes_behind_the_next_sound(
    goes_on: tuple[talk.Event, ...],
) -> None:
    state, commands = play(speaking(), *AGAIN_AND_AGAIN, *goes_on, no(UH))
    assert (state.phase, state.unjudged) == (Phase.TALKING_ON, (UH_NO_STOP,))
    assert commands[-2:] == [talk.ResumePlayout(3), talk.WatchInterruption(3)]
    state, commands = play(state, yes(UH_NO_STOP))
    assert state.phase is Phase.HEARING
    assert commands == [talk.Cancel(3), talk.Keep(UH_NO_STOP)]


def test_a_sound_that_goes_on_behind_the_last_verdict_does_not_keep_the_bot_silent() -> None:
    state, commands = play(speaking(), *AGAIN_AND_AGAIN, talk.SpeechResumed(), no(UH_NO_STOP))
    assert (state.phase, state.unjudged) == (Phase.TALKING_ON, ())
    assert commands[-2:] == [talk.ResumePlayout(3), talk.WatchInterruption(3)]


def test_what_ended_while_the_bot_had_gone_on_is_judged_once() -> None:
    state, commands = play(speaking(), *AGAIN_AND_AGAIN, no(UH), talk.SpeechEnded(UH_NO_STOP))
    assert state.phase is Phase.JUDGING_LATE
    assert commands[-1] == talk.PausePlayout(3)
    assert commands.count(talk.Judge(3, UH_NO_STOP, Phase.SPEAKING)) == 1
    state, commands = play(state, yes(UH_NO_STOP))
    assert commands[-1] == talk.Release(4, UH_NO_STOP)


def test_who_speaks_again_while_the_bot_goes_on_is_read_again() -> None:
    _, commands = play(speaking(), *AGAIN_AND_AGAIN, no(UH), talk.SpeechResumed())
    assert commands[-1] == talk.WatchInterruption(3)


def test_of_speech_that_has_ended_the_last_verdict_is_waited_for() -> None:
    state, _ = play(speaking(), *AGAIN_AND_AGAIN, talk.SpeechEnded(UH_NO_STOP), no(UH))
    assert (state.phase, state.unjudged) == (Phase.JUDGING_LATE, (UH_NO_STOP,))
    state, _ = play(state, no(UH_NO_STOP))
    assert state == speaking()


def test_sounds_over_an_answer_that_is_over_leave_the_turn_to_the_caller_in_the_end() -> None:
    state, commands = play(
        speaking(),
        talk.SpeechStarted(),
        talk.SpeechPaused(FIRST),
        talk.PlayoutFinished(3),
        talk.InterruptionLasts(3),
        talk.SpeechResumed(),
        no(FIRST),
    )
    assert state.phase is Phase.HEARING
    assert commands[-1] == talk.Cancel(3)
