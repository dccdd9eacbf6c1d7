"""The conversation machine in a test: told events, and asked what it would do."""

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


LASTING = (talk.SpeechStarted(), talk.InterruptionLasts(3), talk.OngoingJudged(3, meant=False))
"""Sound over the third turn, without words so far."""
