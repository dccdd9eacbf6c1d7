"""Every sample goes out once and in order, whatever is done in between."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from media_bridge.events import PlayoutFinished, PlayoutStarted
from media_bridge.heard import Heard, HeardSentence, heard_text
from media_bridge.playout import Playout
from tests.support.speech import sound_of

FADE = 40

steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 2000)),
        st.tuples(st.sampled_from(["pause", "resume", "hold", "unhold", "sentence"]), st.just(0)),
        st.tuples(st.just("take"), st.integers(1, 6)),
    ),
    max_size=60,
)


class Line:
    """Plays a signal that never repeats, and notes what came out of whole frames of speech."""

    def __init__(self) -> None:
        self.playout = Playout(limit_ms=10_000)
        self.playout.start_turn(1)
        self.playout.begin_sentence(1, "All of it.")
        self.fed = 0
        self.out: list[float] = []
        self.events: list[object] = []

    def put(self, size: int) -> None:
        self.playout.put(1, signal_bytes(self.fed, self.fed + size))
        self.fed += size

    def take(self) -> None:
        before = self.played()
        frame = self.playout.take(0.0)
        self.events += frame.events
        # a fade before a pause is heard but not played: it comes again
        self.out += list(sound_of(frame.pcm))[: self.played() - before]

    def played(self) -> int:
        return sum(sentence.played_samples for sentence in self.playout.heard().sentences)


def signal_bytes(first: int, last: int) -> bytes:
    """Bytes `first` to `last` of a signal in which every sample within 3.5 s is another."""
    samples = np.arange(first // 2, last // 2 + 1) % 28_000 + 1000
    return samples.astype("<i2").tobytes()[first % 2 : first % 2 + last - first]


@given(steps)
def test_no_sample_is_lost_or_repeated(script: list[tuple[str, int]]) -> None:
    line = Line()
    for step, size in script:
        match step:
            case "put":
                line.put(size)
            case "take":
                for _ in range(size):
                    line.take()
            case "pause":
                line.playout.pause()
            case "resume":
                line.playout.resume()
            case "hold":
                line.playout.hold()
            case "unhold":
                line.playout.unhold()
    line.playout.resume()
    line.playout.unhold()
    line.playout.end_turn(1)
    while PlayoutFinished(1, 0.0) not in line.events:
        line.take()
    expected = sound_of(signal_bytes(0, line.fed & ~1))
    out = np.array(line.out)
    assert len(out) == len(expected)
    # but for the fades, which only make a frame's first 5 ms softer, the signal is the signal
    exact = out == expected
    for at in np.flatnonzero(~exact):
        assert at % 160 < FADE
        assert out[at] <= expected[at]
    assert line.events.count(PlayoutStarted(1, 0.0)) == (1 if len(expected) else 0)
    assert line.events[-1] == PlayoutFinished(1, 0.0)


@given(steps)
def test_what_is_heard_is_what_went_out(script: list[tuple[str, int]]) -> None:
    line = Line()
    for number, (step, size) in enumerate(script):
        match step:
            case "put":
                line.put(size & ~1)
            case "take":
                for _ in range(size):
                    line.take()
            case "pause":
                line.playout.pause()
            case "resume":
                line.playout.resume()
            case "hold":
                line.playout.hold()
            case "unhold":
                line.playout.unhold()
            case "sentence":
                line.playout.begin_sentence(1, f"Sentence {number}.")
    heard = line.playout.flush()
    assert sum(sentence.played_samples for sentence in heard.sentences) == len(line.out)
    for before, after in zip(heard.sentences, heard.sentences[1:], strict=False):
        assert before.total_samples is not None
        assert not after.played_samples or before.whole
    assert line.playout.take(0.0).pcm == bytes(320)


@given(st.text(max_size=200), st.integers(0, 100_000), st.one_of(st.none(), st.integers(1, 100_000)))
def test_heard_text_is_a_beginning_of_the_text(text: str, played: int, total: int | None) -> None:
    played = played if total is None else min(played, total)
    words, cut = heard_text(Heard(1, (HeardSentence(text, played, total),), finished=True))
    assert text.strip().startswith(words)
    assert cut == (played != total)
