"""Whatever is heard, the events of the caller's speech come in their order and add up."""

import re

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from media_bridge.endpoint import Endpoint
from media_bridge.events import EndpointEvent, SpeechEnded, SpeechPaused
from media_bridge.settings import EndpointSettings, VoiceSettings

SETTINGS = EndpointSettings(pause_ms=100, end_ms=300, max_utterance_ms=3000)
VOICE = VoiceSettings(pre_roll_ms=200)

# S started, P paused, R resumed, E ended
GRAMMAR = re.compile(r"(SP(RP)*E)*(S|S(PR)*P|S(PR)+)?")

stretches = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.3, 0.4, 0.6, 1.0]),
        st.integers(1, 40),
        st.sampled_from([0, 30, 3000]),
        st.sampled_from([None, -60.0, -10.0]),
        st.sampled_from([None, None, 0, 200, 2000]),
    ),
    max_size=30,
)


# a voice without loudness, begun while the bot's echo was still expected
@example(
    [(0.0, 7, 0, None, None), (0.0, 1, 30, -60.0, None), (0.6, 29, 0, None, None), (0.0, 9, 0, None, None)]
)
@given(stretches)
def test_events_follow_the_grammar_and_utterances_do_not_overlap(
    stretches: list[tuple[float, int, int, float | None, int | None]],
) -> None:
    endpoint = Endpoint(SETTINGS, VOICE)
    events: list[EndpointEvent] = []
    now = 0.0
    for probability, frames, amplitude, bot_level, wait_ms in stretches:
        pcm = np.tile(np.array([amplitude, -amplitude], "<i2"), 80).tobytes()
        for _ in range(frames):
            now += 0.02
            events += endpoint.feed(pcm, probability, now, bot_level)
        if wait_ms is not None:
            numbers = [event.utterance.number for event in events if isinstance(event, SpeechPaused)]
            endpoint.set_end_wait(numbers[-1] if numbers else 0, wait_ms)
    letters = "".join(type(event).__name__[6] for event in events)
    assert GRAMMAR.fullmatch(letters), letters
    ended = [event for event in events if isinstance(event, SpeechEnded)]
    assert [event.utterance.number for event in ended] == list(range(1, len(ended) + 1))
    last_end = -1.0
    for event in ended:
        utterance = event.utterance
        assert -1e-6 <= utterance.started < utterance.ended <= event.at + 1e-6
        assert utterance.started >= last_end - 1e-6
        assert len(utterance.pcm) <= 16 * (3000 + 200 + 220)
        assert len(utterance.pcm) % 2 == 0
        last_end = utterance.ended
