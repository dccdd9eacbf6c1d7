"""Whatever happens in whatever order: no turn is left behind and no state is a dead end."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from media_bridge.events import Utterance
from stasis_app import conversation as talk
from stasis_app.conversation import TABLE, Phase, State, step

_UTTERANCE = Utterance(number=1, pcm=b"", started=0.0, ended=1.0, voiced_ms=500)

_PLAIN: list[talk.Event] = [
    talk.MediaReady(),
    talk.SpeechStarted(),
    talk.SpeechPaused(_UTTERANCE),
    talk.SpeechResumed(),
    talk.SpeechEnded(_UTTERANCE),
    talk.SpeechOverPassage(),
    talk.DigitPressed(),
    talk.DigitsEntered("12"),
    talk.DigitsEntered(""),
    talk.CallLimit(),
    talk.ClosingLimit(),
    talk.CallerNotHeard(),
    talk.MediaLost("media_timeout"),
    talk.CallerGone("caller_hung_up"),
]
_OF_A_TURN: list[Callable[[int], talk.Event]] = [
    talk.PlayoutStarted,
    talk.PlayoutFinished,
    talk.NothingSaid,
    talk.TurnFailed,
    talk.GoodbyeWanted,
    talk.HangUpWanted,
    lambda turn: talk.TransferWanted(turn, "front_desk"),
    talk.InterruptionLasts,
    talk.PassageEnded,
    talk.NoInput,
]


def _ongoing(meant: bool) -> Callable[[int], talk.Event]:
    return lambda turn: talk.OngoingJudged(turn, meant)


event = st.one_of(
    st.sampled_from(_PLAIN),
    st.builds(lambda kind, ago: (kind, ago), st.sampled_from(_OF_A_TURN), st.integers(0, 2)),
    st.builds(lambda meant, ago: (meant, ago), st.booleans(), st.integers(0, 1)),
    st.builds(lambda meant, ago: (_ongoing(meant), ago), st.booleans(), st.integers(0, 1)),
)


def _make(drawn: object, state: State) -> talk.Event:
    """A drawn event, for the newest turn or one of those before it."""
    if not isinstance(drawn, tuple):
        return drawn  # type: ignore[return-value]
    kind, ago = drawn
    turn = (state.prepared or state.turn) - ago
    if isinstance(kind, bool):
        return talk.InterruptionJudged(turn, _UTTERANCE, meant=kind)
    return kind(turn)  # type: ignore[no-any-return]


@given(st.lists(event, max_size=60))
@settings(max_examples=600)
def test_every_turn_that_is_begun_is_ended_once(drawn: list[object]) -> None:
    state, open_turns, finished = State(), set[int](), set[int]()
    for one in [*drawn, talk.CallerGone("caller_hung_up")]:
        before = state.phase
        state, commands = step(state, _make(one, state))
        for command in commands:
            match command:
                case talk.Say(turn=turn) | talk.Prepare(turn=turn) | talk.AnswerDigits(turn=turn):
                    assert turn not in open_turns | finished, "a turn number was used twice"
                    open_turns.add(turn)
                case talk.PutThrough(turn=turn):
                    assert turn in open_turns
                case talk.Release(turn=turn) | talk.PausePlayout(turn=turn) | talk.ResumePlayout(turn=turn):
                    assert turn in open_turns
                case talk.Discard(turn=turn) | talk.Cancel(turn=turn) | talk.Remember(turn=turn):
                    open_turns.discard(turn)
                    finished.add(turn)
        assert len(open_turns) <= 2, f"{before} let turns pile up"
    assert state.phase is Phase.ENDED
    assert not open_turns


def test_every_phase_has_a_way_out_without_the_caller() -> None:
    """A caller who says and does nothing more is never kept in a state that waits for ever."""
    own: dict[Phase, set[type[talk.Event]]] = {
        Phase.CONNECTING: {talk.MediaReady},
        Phase.LISTENING: {talk.NoInput},
        Phase.HEARING: {talk.SpeechEnded},
        Phase.THINKING: {talk.PlayoutFinished, talk.NothingSaid, talk.TurnFailed},
        Phase.SPEAKING: {talk.PlayoutFinished, talk.TurnFailed},
        Phase.CHECKING: {talk.SpeechPaused, talk.SpeechEnded, talk.OngoingJudged, talk.TurnFailed},
        Phase.JUDGING: {talk.InterruptionJudged, talk.SpeechEnded, talk.TurnFailed},
        Phase.TALKING_ON: {talk.PlayoutFinished, talk.NothingSaid, talk.TurnFailed, talk.SpeechPaused},
        Phase.JUDGING_LATE: {talk.InterruptionJudged, talk.TurnFailed},
        Phase.KEYING: {talk.DigitsEntered},
        Phase.RECITING: {talk.SpeechEnded, talk.PassageEnded, talk.PlayoutFinished, talk.TurnFailed},
        Phase.RECITING_ON: {talk.PassageEnded, talk.PlayoutFinished, talk.TurnFailed},
        Phase.CLOSING: {talk.PlayoutFinished, talk.NothingSaid, talk.TurnFailed, talk.ClosingLimit},
    }
    for phase in set(Phase) - {Phase.ENDED}:
        assert own[phase] <= {kind for (at, kind) in TABLE if at is phase}, phase
