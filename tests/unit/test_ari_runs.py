"""Which other runs of the bot live: those whose variable was seen to change, or is new (fault A7)."""

from stasis_app.ari.runs import BEAT_S, SILENT_S, OtherRuns


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
