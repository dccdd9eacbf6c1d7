"""The conversation machine: keys of the phone."""

import pytest

from stasis_app import conversation as talk
from stasis_app.conversation import Phase, Saying, State, step
from tests.support.conversation import FIRST, play, speaking


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
