"""Which other runs of the bot live: those whose variable was seen to change, or is new (fault A7)."""

from stasis_app.ari.runs import BEAT_S, LONGEST_GAP_S, LOOK_BESIDE_S, SILENT_S, OtherRuns


def test_one_that_has_said_nothing_is_dead() -> None:
    runs = OtherRuns()
    runs.saw("a", "", 10.0)
    assert runs.alive(10.0) == frozenset()


def test_one_lives_as_long_as_it_goes_on_counting() -> None:
    runs = OtherRuns()
    for second in range(60):
        runs.saw("a", str(second), float(second))
        assert runs.alive(second + 0.5) == {"a"}
    # five seconds later still the same: it was killed, however often it is looked at
    for second in range(60, 90):
        runs.saw("a", "59", float(second))
        assert runs.alive(float(second)) == ({"a"} if second - 59 < SILENT_S else frozenset())


def test_one_that_says_that_it_has_ended_has() -> None:
    runs = OtherRuns()
    runs.saw("a", "7", 1.0)
    runs.saw("b", "1", 1.0)
    runs.saw("a", "", 1.1)
    assert runs.alive(1.1) == {"b"}


def test_several_beats_fit_into_the_silence_that_means_death() -> None:
    assert SILENT_S >= 4 * BEAT_S


def test_a_gap_of_our_own_looks_is_no_silence_of_others() -> None:
    """What it counted meanwhile was in an Asterisk that was frozen, too: the value is the old one."""
    runs = OtherRuns()
    runs.saw("a", "7", 0.0)
    runs.saw("a", "8", 1.0)
    runs.saw("a", "8", 1.0 + LONGEST_GAP_S + 0.1)
    assert runs.alive(1.0 + LONGEST_GAP_S + 0.1) == {"a"}
    # it had until the next look to count on
    next_look = 1.0 + LONGEST_GAP_S + 0.1 + LOOK_BESIDE_S
    runs.saw("a", "8", next_look)
    assert runs.alive(next_look) == frozenset()


def test_a_look_that_takes_long_counts_as_no_silence() -> None:
    runs = OtherRuns()
    runs.saw("a", "7", 0.0)
    assert runs.alive(SILENT_S + 1) == {"a"}
    assert runs.alive(LONGEST_GAP_S + 1) == frozenset(), "nothing of it is there to be looked at"
