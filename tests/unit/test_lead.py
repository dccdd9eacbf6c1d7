"""What Asterisk has of us and has not played: by the clock, by its marks and by its own count."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_bridge.events import PlayoutStarted
from media_bridge.lead import PTIME_S, Lead
from media_bridge.playout import PlayoutFrame

TICK = PTIME_S


def frame(number: int, *, speech: bool = True) -> PlayoutFrame:
    pcm = bytes([number]) * 320
    return PlayoutFrame(pcm, "speech" if speech else "silence", turn=1, taken=pcm if speech else b"")


def lead_of(frames: int, at: float = 10.0) -> Lead:
    lead = Lead()
    for number in range(frames):
        lead.add(frame(number), at)
    return lead


def numbers(frames: list[PlayoutFrame]) -> list[int]:
    return [frame.pcm[0] for frame in frames]


def test_one_frame_is_played_every_20_ms() -> None:
    lead = lead_of(5)
    assert numbers(lead.advance(10.001)) == [0]
    assert numbers(lead.advance(10.019)) == []
    assert numbers(lead.advance(10.061)) == [1, 2, 3]
    assert (len(lead), lead.sent, lead.speech_samples) == (1, 5, 160)


def test_a_dry_queue_plays_nothing_and_keeps_the_beat() -> None:
    lead = lead_of(1)
    assert numbers(lead.advance(10.5)) == [0]
    lead.add(frame(1), 10.505)
    assert numbers(lead.advance(10.519)) == []
    assert numbers(lead.advance(10.5201)) == [1]


def test_a_long_stall_is_one_step() -> None:
    lead = lead_of(5)
    assert len(lead.advance(10_000.0)) == 5


def test_what_became_true_with_a_frame_did_so_when_it_was_played() -> None:
    lead = lead_of(2)
    started = PlayoutStarted(1, 9.0)
    lead.add(PlayoutFrame(b"", "speech", events=(started,)), 10.0)
    (heard,) = lead.advance(10.055)[2:]
    (event,) = heard.events
    assert event.at == pytest.approx(10.04)


def test_a_mark_that_comes_early_sets_the_clock_at_once() -> None:
    lead = lead_of(10)
    lead.advance(10.0)
    # Asterisk has played three and takes the fourth: it began 60 ms before we thought
    lead.mark(3, 10.001)
    assert numbers(lead.advance(10.002)) == [1, 2, 3]
    assert numbers(lead.advance(10.022)) == [4]


def test_a_mark_that_comes_late_moves_it_a_little() -> None:
    lead = lead_of(10)
    lead.advance(10.0)
    # frame 2 is due at 10.020; the mark behind frame 1 is told at 10.028
    lead.mark(1, 10.028)
    assert numbers(lead.advance(10.0219)) == []
    assert numbers(lead.advance(10.0221)) == [1]


def test_an_old_mark_read_after_a_stall_makes_nobody_wait() -> None:
    """The process stood still for 8 s, and Asterisk did not: what is sent now is played at once."""
    lead = lead_of(5)
    assert len(lead.advance(18.0)) == 5
    lead.mark(3, 18.001)
    lead.add(frame(5), 18.002)
    assert numbers(lead.advance(18.0211)) == [5]


def test_a_mark_that_was_never_sent_tells_nothing() -> None:
    lead = lead_of(5)
    lead.advance(10.0)
    lead.mark(6, 10.001)
    assert numbers(lead.advance(10.0199)) == []
    assert numbers(lead.advance(10.0201)) == [1]


@given(phase_s=st.floats(0, 0.0199), lateness_s=st.lists(st.floats(0, 0.03), min_size=40, max_size=40))
def test_marks_bring_the_clock_to_asterisks_beat(phase_s: float, lateness_s: list[float]) -> None:
    """A mark every other frame, told up to 30 ms late: in the end the clock is less than a frame off."""
    lead = Lead()
    began = 10.0 + phase_s
    lateness = iter(lateness_s)
    for number in count():
        now = 10.0 + number * TICK
        lead.add(frame(0), now)
        lead.advance(now)
        if number % 2 == 0 and number > 2:
            late = next(lateness, None)
            if late is None:
                break
            lead.mark(number - 2, began + (number - 2) * TICK + late)
    truth = int((now - began) / TICK) + 1
    assert abs(truth - (lead.sent - len(lead))) <= 2


@pytest.mark.parametrize(
    ("waiting", "played", "thrown"),
    [
        (4, [], [2, 3, 4, 5]),
        # it had played one more than the clock says
        (3, [2], [3, 4, 5]),
        (0, [2, 3, 4, 5], []),
        # it had played one less
        (5, [], [1, 2, 3, 4, 5]),
        (99, [], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_its_own_count_settles_what_was_heard(waiting: int, played: list[int], thrown: list[int]) -> None:
    lead = lead_of(6)
    assert numbers(lead.advance(10.021)) == [0, 1]
    heard, unheard = lead.settle(waiting)
    assert (numbers(heard), numbers(unheard)) == (played, thrown)
    assert len(lead) == 0
    assert lead.sent == 6 - len(thrown)


def test_silence_is_known_from_speech() -> None:
    silent, mixed = Lead(), lead_of(1)
    for lead in (silent, mixed):
        lead.add(frame(7, speech=False), 10.0)
    assert (silent.is_silent, mixed.is_silent) == (True, False)
    assert numbers(mixed.clear()) == [0, 7]
    assert mixed.is_silent
