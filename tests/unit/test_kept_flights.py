"""Calls of the real product, replayed: tests/data/flights/README.md says what they are and how one is renewed."""

from functools import cache
from pathlib import Path

import pytest

from media_bridge.level import level_dbfs
from stasis_app.flight.ear_lines import Ended, EndWait, Paused, Resumed, Said, Started
from stasis_app.flight.wav import read_wav
from tests.support.flights import Again, replayed

FOLDER = Path(__file__).parents[1] / "data" / "flights"
FLIGHTS = sorted(FOLDER.glob("*.flight"))
FRAME_S = 0.02
MOST_BYTES = 10**6


@cache
def again(name: str) -> Again:
    return replayed(FOLDER / f"{name}.flight")


def said_now(name: str) -> list[tuple[type[Said], float]]:
    """What the ear says, and when, in seconds."""
    replay = again(name)
    assert replay.flight.ear_head is not None
    rate = replay.flight.ear_head.rate
    return [(type(line), line.sample / rate) for line in replay.heard.now if not isinstance(line, EndWait)]


def commands(name: str, since_s: float, until_s: float) -> list[str]:
    """The conversation's about the bot's voice."""
    wanted = ("PausePlayout", "ResumePlayout", "Cancel")
    replay = again(name)
    given = [one for step in replay.steps if since_s <= step.t <= until_s for one in step.now[1]]
    return [kind for one in given for kind in wanted if f'"{kind}"' in one]


@pytest.mark.parametrize("file", FLIGHTS, ids=lambda file: file.stem)
def test_all_is_as_it_was(file: Path) -> None:
    replay = again(file.stem)
    assert [step for step in replay.steps if not step.same] == []
    assert [pair for pair in replay.heard.pairs if not (pair.known and pair.same)] == []
    assert replay.flight.end is not None
    assert replay.flight.end.whole
    assert replay.heard.until == replay.flight.end.samples
    assert len(replay.steps) > 10
    assert len(replay.heard.pairs) > 10


def test_they_are_small() -> None:
    assert FLIGHTS
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES
    assert {path.stem for path in FOLDER.glob("*.wav")} == {path.stem for path in FLIGHTS}


class TestBooking:
    """Seconds of booking.wav."""

    COUGH = 7.95, 8.75
    YES = 9.68
    WORDS = 18.78

    def test_speech_starts_and_ends_where_it_did(self) -> None:
        expected = [
            # "Please put me down for, Thursday, at eleven.": one utterance, whatever the pauses
            (Started, 2.518),
            (Paused, 3.578),
            (Resumed, 4.458),
            (Paused, 4.998),
            (Resumed, 5.358),
            (Paused, 5.898),
            (Ended, 6.938),
            # no cough, and then "Yes." over the bot
            (Started, 9.738),
            (Paused, 10.258),
            (Ended, 10.858),
            # the question
            (Started, 14.558),
            (Paused, 16.278),
            (Ended, 16.498),
            # "Wait a second, that is wrong." over its answer
            (Started, 18.898),
            (Paused, 20.598),
            (Ended, 20.818),
        ]
        now = said_now("booking")
        assert [kind for kind, _ in now] == [kind for kind, _ in expected]
        late = [abs(is_at - was_at) for (_, is_at), (_, was_at) in zip(now, expected, strict=True)]
        assert max(late) < FRAME_S + 0.001

    def test_the_cough_is_loud_and_over_the_answer_and_nothing_comes_of_it(self) -> None:
        sound = read_wav((FOLDER / "booking.wav").read_bytes())
        first, last = (round(at * sound.rate) for at in self.COUGH)
        assert all(level_dbfs(side) > -30 for side in sound.cut(first, last))
        assert not [at for _, at in said_now("booking") if 6.95 < at < self.YES]
        assert commands("booking", 6.95, self.YES) == []

    def test_a_yes_over_the_answer_costs_a_moment_of_silence(self) -> None:
        assert commands("booking", self.YES, 14.0) == ["PausePlayout", "ResumePlayout"]

    def test_words_over_the_answer_end_it(self) -> None:
        assert commands("booking", self.WORDS, 22.0) == ["PausePlayout", "Cancel"]

    def test_what_was_prepared_in_a_pause_is_thrown_away_and_one_answer_is_given(self) -> None:
        wish = [one for step in again("booking").steps if 2.0 < step.t < 7.0 for one in step.now[1]]
        kinds = [one.split('"')[1] for one in wish]
        assert kinds == ["Prepare", "Discard", "Prepare", "Discard", "Prepare", "Release"]
