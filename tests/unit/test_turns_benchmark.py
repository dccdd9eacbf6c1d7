"""The figures of benchmarks.turns, and the corpus they are taken from."""

import wave
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import turns_pipecat
from benchmarks.quantile import in_whole, quantile
from benchmarks.turns_corpus import Clip, CorpusError, read_corpus
from benchmarks.turns_replay import Cache, Reading, over, turn
from benchmarks.turns_score import Decided, Interrupted, figures, is_read, words_lost
from media_bridge.settings import MediaSettings
from tests.support.media_call import speech

HEADER = "file\tkind\tspeech_start_ms\tspeech_end_ms\tpauses_ms\ttext\tanswer_type\tvalue"


def clip(
    kind: str = "finished", *pauses: tuple[int, int], name: str = "a", text: str = "Hello there."
) -> Clip:
    tone = np.rint(3000 * np.sin(np.arange(16_000) * 0.3)).astype(np.int16)
    return Clip(name, kind, tone, 200, 1500, pauses, text, "open", "")


def corpus(folder: Path, *lines: str, header: str = HEADER) -> Path:
    with wave.open(str(folder / "a.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16_000))
    (folder / "turns.tsv").write_text("\n".join([header, *lines]) + "\n")
    return folder


def test_a_corpus_is_read(tmp_path: Path) -> None:
    line = "a.wav\tunfinished\t200\t900\t300-500,600-700\tI need, a, lamp.\topen\t"
    (read,) = read_corpus(corpus(tmp_path, line))
    assert (read.name, read.kind, read.start_ms, read.end_ms) == ("a", "unfinished", 200, 900)
    assert read.pauses_ms == ((300, 500), (600, 700))
    assert len(read.samples) == 8000


@pytest.mark.parametrize(
    ("header", "line", "said"),
    [
        ("file\tkind", "a.wav\tfinished", "no column speech_start_ms"),
        (HEADER, "a.wav\tsung\t0\t1\t\t\t\t", "line 2: kind 'sung' is none of finished"),
        (HEADER, "b.wav\tfinished\t0\t1\t\t\t\t", r"line 2: .*b\.wav"),
        (HEADER, "a.wav\tfinished\tsoon\t1\t\t\t\t", "line 2: the milliseconds are not whole numbers"),
        (HEADER, "a.wav\tfinished\t0\t1\t3\t\t\t", "line 2: the milliseconds are not whole numbers"),
    ],
)
def test_what_is_wrong_with_a_corpus_is_said(tmp_path: Path, header: str, line: str, said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        read_corpus(corpus(tmp_path, line, header=header))


def test_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"turns\.tsv cannot be read"):
        read_corpus(tmp_path)


def test_a_bed_lies_as_far_under_a_clip_as_it_should() -> None:
    loud, bed = clip(), clip(name="bed")
    for ratio_db in (10, 20):
        under = loud.over(bed, ratio_db).samples.astype(float) - loud.samples
        level = 10 * np.log10(np.square(loud.samples.astype(float)).mean() / np.square(under).mean())
        assert level == pytest.approx(ratio_db, abs=0.5)


def test_a_decision_after_the_end_is_a_wait_and_one_before_it_a_cut() -> None:
    one = Decided(clip("unfinished", (500, 900)), (800.0, 1850.0))
    assert (one.wait_ms, one.cuts, one.whole) == (350.0, 1, False)
    at_the_edge = Decided(clip("unfinished", (500, 900)), (1470.0,))
    assert (at_the_edge.wait_ms, at_the_edge.cuts, at_the_edge.whole) == (-30.0, 0, True)


@pytest.mark.parametrize("ends", [(), (4501.0,), (900.0,)])
def test_no_decision_within_three_seconds_is_a_missed_end(ends: tuple[float, ...]) -> None:
    assert Decided(clip(), ends).wait_ms is None


def test_the_figures_of_one_way_of_deciding() -> None:
    decided = [
        *(Decided(clip(), (1500.0 + wait,)) for wait in (300, 400, 800)),
        Decided(clip(), ()),
        Decided(clip("unfinished", (500, 900)), (800.0, 1900.0)),
        Decided(clip("dictation", (500, 900)), (2500.0,)),
    ]
    over = [
        Interrupted(clip("interrupt"), stopped=True, paused=True, silent_ms=450.0),
        Interrupted(clip("backchannel"), stopped=False, paused=True, silent_ms=3000.0),
        Interrupted(clip("noise"), stopped=True, paused=True, silent_ms=500.0),
    ]
    assert figures(decided, over) == {
        "wait_p50_ms": 600,
        "wait_p95_ms": "inf",
        "false_cut_pct": 50.0,
        "missed_end_pct": 16.7,
        "barge_p95_ms": 250,
        "barge_missed": 0,
        "false_stops": 1,
        "digits_whole": 1,
    }


@pytest.mark.parametrize(
    "missed",
    [
        Interrupted(clip("interrupt"), stopped=False, paused=True, silent_ms=450.0),
        Interrupted(clip("interrupt"), stopped=True, paused=True, silent_ms=None),
    ],
)
def test_who_misses_interruptions_is_not_the_faster_for_it(missed: Interrupted) -> None:
    slow = Interrupted(clip("interrupt"), stopped=True, paused=True, silent_ms=900.0)
    quick = [Interrupted(clip("interrupt"), stopped=True, paused=True, silent_ms=450.0)] * 9
    stopped, kept = figures([], [slow, *quick]), figures([], [missed, *quick])
    assert (stopped["barge_p95_ms"], stopped["barge_missed"]) == (498, 0)
    assert (kept["barge_p95_ms"], kept["barge_missed"]) == ("inf", 1)


def test_nothing_measured_is_no_figure() -> None:
    assert figures([], [])["wait_p50_ms"] == "-"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 100))
def test_a_percentile_of_what_was_never_missed_is_numpys(values: list[float], percent: float) -> None:
    assert quantile(values, percent) == pytest.approx(
        float(np.percentile(values, percent)), rel=1e-9, abs=1e-6
    )


def test_a_percentile_with_misses_is_infinite_from_where_they_begin() -> None:
    values = [1.0, 2.0, 3.0, None, None]
    assert [quantile(values, percent) for percent in (0, 50, 51, 75, 100)] == [1.0, 3.0, inf, inf, inf]
    assert [in_whole(value) for value in (None, inf, 3.6)] == ["-", "inf", 4]


def test_words_that_were_not_understood_are_lost_and_numbers_are_not_compared() -> None:
    said = [clip(text="I need two lamps, please."), clip(name="b", text="Stop.")]
    assert words_lost({"a": "I need 2 lamps", "b": "Stop!"}, said) == 20.0


def test_words_of_which_no_turn_was_made_are_lost() -> None:
    said = [clip(text="I need two lamps, please."), clip(name="b", text="Stop."), clip("noise", name="c")]
    assert words_lost({"a": "I need two lamps, please.", "b": ""}, said) == 20.0
    assert words_lost({}, said) == "-"


def test_a_turn_of_the_peer_holds_what_its_recogniser_was_given() -> None:
    one = clip()
    events = {
        "a": [
            {"what": "started", "ms": 400},
            {"what": "stopped", "ms": 900},
            {"what": "started", "ms": 1300},
            {"what": "stopped", "ms": 1700},
            {"what": "started", "ms": 1900},
        ]
    }
    first, second = turns_pipecat.turns(one, events)
    assert first == one.samples[: 900 * 8].astype("<i2").tobytes()
    assert second == one.samples[900 * 8 : 1700 * 8].astype("<i2").tobytes()


@pytest.mark.parametrize(
    ("value", "heard", "read"),
    [
        ("2125550138", "It is 212-555 01 38.", True),
        ("42771", "four two seven seven one", True),
        ("MARTINEZ", "M-A-R-T-I-N-E-Z.", True),
        ("peter.novak@example.com", "Peter dot Novak at example dot com", True),
        ("42771", "4 2 7 7", False),
    ],
)
def test_a_dictation_is_read_however_it_is_written(value: str, heard: str, read: bool) -> None:
    assert is_read(value, heard) is read


class _Read(Cache):
    """Reads out what it was given; the voice detector is the real one."""

    def __init__(self, folder: Path, *readings: Reading) -> None:
        super().__init__(folder / "cache.json")
        self._readings = list(readings)

    def reading(self, pcm: bytes) -> Reading:
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]


def _said(text: str, sounds_finished: float = 0.95) -> Reading:
    return Reading(text, sounds_finished, -0.05, 0.01)


def _recorded(name: str, start_ms: int, end_ms: int, *pauses: tuple[int, int]) -> Clip:
    samples = np.frombuffer(speech(f"{name}.wav"), "<i2").astype(np.int16)
    return Clip(
        name, "unfinished" if pauses else "finished", samples, start_ms, end_ms, pauses, "", "open", ""
    )


IN_PARTS = _recorded("unfinished13", 202, 3568, (1280, 2180), (2680, 3080))
WHOLE = _recorded("finished09", 198, 2402)
OVER = _recorded("interrupt02", 202, 1902)


@pytest.mark.parametrize(
    ("first", "cuts"), [("Please put me down for", 0), ("Please put me down for the tour.", 1)]
)
def test_a_turn_is_replayed_in_virtual_time(tmp_path: Path, first: str, cuts: int) -> None:
    read = _Read(tmp_path, _said(first), _said(f"{first} Thursday."), _said("Please put me down at eleven."))
    decided, pauses = turn(IN_PARTS, "Which day would suit you?", read, 200, MediaSettings())
    assert decided.cuts == cuts
    assert len(pauses) == (1 if cuts else 3)
    assert [pause.ended_ms for pause in pauses[:1]] == [pytest.approx(1280, abs=30)]


def test_words_that_come_late_make_the_wait_longer(tmp_path: Path) -> None:
    waits = [
        turn(
            WHOLE, "How can I help you?", _Read(tmp_path, _said("How late is it open?")), ms, MediaSettings()
        )[0].wait_ms
        for ms in (100, 500)
    ]
    assert waits[0] is not None
    assert waits[1] is not None
    assert 330 <= waits[0] <= 420
    assert waits[1] == pytest.approx(waits[0] + 280, abs=60)


@pytest.mark.parametrize(("text", "stopped"), [("Wait a second.", True), ("Okay.", False), ("", False)])
def test_a_sound_over_the_bot_is_replayed(tmp_path: Path, text: str, stopped: bool) -> None:
    outcome = over(OVER, _Read(tmp_path, _said(text)), 200, MediaSettings()).outcome
    assert (outcome.stopped, outcome.paused) == (stopped, True)


def test_what_was_read_once_is_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.json")
    first = cache.probabilities(IN_PARTS.samples)
    cache.save()
    again = Cache(tmp_path / "cache.json")
    again._gate = None  # type: ignore[assignment]
    assert again.probabilities(IN_PARTS.samples) == first
