"""The bot's voice on its way out."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from media_bridge.events import PlayoutFinished, PlayoutStarted
from media_bridge.heard import Heard, HeardSentence, heard_text
from media_bridge.playout import Playout, PlayoutFrame, PlayoutOverflowError
from tests.support.speech import pcm_of, sound_of, tone

SILENCE = bytes(320)
FRAME = pcm_of(np.full(160, 1000.0))


def take(playout: Playout, count: int = 1) -> list[PlayoutFrame]:
    return [playout.take(tick * 0.02) for tick in range(count)]


def kinds(frames: list[PlayoutFrame]) -> str:
    """s for speech, - for silence, u for an underrun."""
    return "".join({"speech": "s", "silence": "-", "underrun": "u"}[frame.kind] for frame in frames)


def speaking(frames: int = 10, text: str = "Good morning to you.") -> Playout:
    """Turn 1 is open and has said `text` in so many frames."""
    playout = Playout()
    playout.start_turn(1)
    playout.begin_sentence(1, text)
    playout.put(1, FRAME * frames)
    return playout


def test_before_any_turn_there_is_silence() -> None:
    frame = Playout().take(1.0)
    assert frame == PlayoutFrame(SILENCE, "silence", -96.0, ())
    assert Playout().heard() == Heard(None, ())


def test_a_turn_starts_with_its_first_sound_and_finishes_after_its_last() -> None:
    playout = Playout()
    playout.start_turn(7)
    assert playout.take(1.0).events == ()
    playout.put(7, FRAME + FRAME[:100])
    playout.end_turn(7)
    first, second, third, fourth = (playout.take(at) for at in (1.02, 1.04, 1.06, 1.08))
    assert (first.pcm, first.events) == (FRAME, (PlayoutStarted(7, 1.02),))
    assert (second.pcm, second.events) == (FRAME[:100] + bytes(220), ())
    assert (third.pcm, third.kind, third.events) == (SILENCE, "silence", (PlayoutFinished(7, 1.06),))
    assert fourth.events == ()


def test_a_turn_without_sound_finishes_too_and_never_starts() -> None:
    playout = Playout()
    playout.start_turn(1)
    playout.end_turn(1)
    assert [frame.events for frame in take(playout, 2)] == [(PlayoutFinished(1, 0.0),), ()]


def test_the_level_is_that_of_the_frame() -> None:
    playout = Playout()
    playout.start_turn(1)
    playout.put(1, pcm_of(tone(400, 0.02, 32767)))
    assert playout.take(0.0).level == pytest.approx(-3.0, abs=0.1)


def test_a_dry_queue_is_an_underrun_only_in_the_middle_of_a_turn() -> None:
    playout = Playout()
    playout.start_turn(1)
    assert kinds(take(playout, 2)) == "--"
    playout.put(1, FRAME)
    assert kinds(take(playout, 3)) == "suu"
    playout.put(1, FRAME)
    playout.end_turn(1)
    assert kinds(take(playout, 3)) == "s--"
    assert playout.underruns == 2


def test_the_rest_of_a_finished_sentence_waits_for_no_other() -> None:
    playout = Playout()
    playout.start_turn(1)
    playout.begin_sentence(1, "We are open from nine to six.")
    playout.put(1, pcm_of(tone(400, 0.05)))
    playout.end_sentence(1)
    assert kinds(take(playout, 5)) == "sss--", "what the model has not written yet is no underrun"
    assert heard_text(playout.heard()) == ("We are open from nine to six.", True)
    playout.begin_sentence(1, "Come in.")
    assert kinds(take(playout, 2)) == "uu", "a sentence that has begun should have sound"
    playout.put(1, FRAME)
    playout.end_turn(1)
    assert kinds(take(playout, 2)) == "s-"
    assert heard_text(playout.heard()) == ("We are open from nine to six. Come in.", False)
    assert playout.underruns == 2


def test_a_part_of_a_frame_waits_for_the_rest() -> None:
    playout = speaking(0)
    playout.put(1, FRAME)
    playout.put(1, FRAME[:318])
    assert kinds(take(playout, 2)) == "su"
    playout.put(1, FRAME[318:])
    assert playout.take(0.0).pcm == FRAME


def test_sound_for_another_turn_is_refused() -> None:
    playout = speaking()
    assert not playout.put(2, FRAME)
    assert not playout.begin_sentence(2, "No.")
    assert not playout.end_turn(2)
    playout.flush()
    assert not playout.put(1, FRAME)
    assert kinds(take(playout, 2)) == "--"


def test_nothing_is_put_after_the_end_of_the_turn() -> None:
    playout = speaking(1)
    playout.end_turn(1)
    assert not playout.put(1, FRAME)
    assert not playout.is_open(1)


def test_a_turn_number_is_used_once_and_only_grows() -> None:
    playout = speaking()
    assert not playout.start_turn(1)
    assert playout.start_turn(3)
    assert not playout.start_turn(2)
    assert kinds(take(playout, 2)) == "--"
    assert playout.heard() == Heard(3, (), finished=False)


def test_room_shrinks_with_what_waits() -> None:
    playout = Playout(limit_ms=100)
    playout.start_turn(1)
    assert playout.room_ms() == 100
    playout.put(1, FRAME * 3)
    assert playout.room_ms() == 40
    playout.put(1, FRAME * 30)
    assert playout.room_ms() == 0
    take(playout, 31)
    assert playout.room_ms() == 60


def test_a_producer_that_ignores_the_room_is_stopped() -> None:
    playout = speaking(0)
    playout.put(1, FRAME * 6100)
    with pytest.raises(PlayoutOverflowError, match="room_ms"):
        playout.put(1, FRAME)


def test_a_pause_is_silent_at_once_but_for_a_fade() -> None:
    playout = speaking(10)
    take(playout, 3)
    playout.pause()
    fade, *silence = take(playout, 5)
    tail = sound_of(fade.pcm)
    assert tail[0] > 900
    assert not tail[40:].any()
    assert np.all(np.diff(tail) <= 0)
    assert all(frame.pcm == SILENCE for frame in silence)
    assert playout.heard().sentences[0].played_samples == 480


def test_after_a_pause_the_very_next_sample_follows() -> None:
    playout = Playout()
    playout.start_turn(1)
    ramp = np.arange(1600.0)
    playout.put(1, pcm_of(ramp))
    take(playout, 3)
    playout.pause()
    take(playout, 20)
    playout.resume()
    back = sound_of(playout.take(0.0).pcm)
    assert np.array_equal(back[40:], ramp[520:640])
    assert np.all(back[:40] <= ramp[480:520])
    assert np.array_equal(sound_of(playout.take(0.0).pcm), ramp[640:800])


def test_a_pause_taken_back_before_the_tick_is_not_heard() -> None:
    playout = speaking(3)
    take(playout, 1)
    playout.pause()
    playout.resume()
    assert playout.take(0.0).pcm == FRAME


def test_a_resume_taken_back_before_the_tick_is_not_heard() -> None:
    playout = speaking(3)
    take(playout, 1)
    playout.pause()
    take(playout, 1)
    playout.resume()
    playout.pause()
    assert kinds(take(playout, 3)) == "---"


def test_a_pause_before_the_first_sound_holds_it_back() -> None:
    playout = speaking(2)
    playout.pause()
    assert [frame.pcm for frame in take(playout, 3)] == [SILENCE] * 3
    playout.resume()
    assert [type(event) for event in playout.take(0.0).events] == [PlayoutStarted]


class TestHold:
    def test_it_is_silent_and_goes_on_at_the_sample(self) -> None:
        playout = Playout()
        playout.start_turn(1)
        playout.put(1, ramp := pcm_of(np.arange(1600.0) + 1000))
        before = take(playout, 3)
        playout.hold()
        assert kinds(take(playout, 501)) == "s" + "-" * 500
        assert playout.heard().sentences == ()
        playout.unhold()
        after = take(playout, 7)
        sound = sound_of(b"".join(frame.pcm for frame in before + after))
        faded = slice(480, 520)
        expected = sound_of(ramp).copy()
        assert (sound[faded] <= expected[faded]).all()
        sound[faded] = expected[faded]
        assert np.array_equal(sound, expected)

    def test_what_was_heard_is_what_went_out_before_it(self) -> None:
        playout = speaking(10)
        playout.end_turn(1)
        take(playout, 4)
        playout.hold()
        frames = take(playout, 500)
        assert not [event for frame in frames for event in frame.events]
        heard = playout.heard()
        assert heard.sentences[0].played_samples == 4 * 160
        assert heard_text(heard) == ("Good", True)

    @pytest.mark.parametrize("order", ["phrh", "hprh", "hpr", "hr", "prhpr"])
    def test_a_judge_that_resumes_does_not_end_it(self, order: str) -> None:
        """p and r: paused and resumed, because the caller spoke; h: held."""
        playout = speaking(10)
        take(playout, 2)
        for change in order:
            {"p": playout.pause, "r": playout.resume, "h": playout.hold}[change]()
        assert kinds(take(playout, 5)) == "s----", "a fade, and silence"
        playout.unhold()
        assert kinds(take(playout, 8)) == "s" * 8

    def test_a_pause_outlasts_it(self) -> None:
        playout = speaking(10)
        playout.hold()
        playout.pause()
        playout.unhold()
        assert kinds(take(playout, 5)) == "-----"
        playout.resume()
        assert kinds(take(playout, 5)) == "sssss"

    def test_a_turn_that_begins_meanwhile_waits_for_its_end(self) -> None:
        playout = speaking(10)
        take(playout, 2)
        playout.hold()
        assert playout.flush().sentences[0].played_samples == 320
        playout.resume()
        playout.start_turn(2)
        playout.put(2, FRAME * 3)
        playout.end_turn(2)
        frames = take(playout, 50)
        assert kinds(frames) == "-" * 50
        assert not [event for frame in frames for event in frame.events]
        playout.unhold()
        frames = take(playout, 4)
        assert kinds(frames) == "sss-"
        assert frames[0].events == (PlayoutStarted(2, 0.0),)

    def test_a_whole_answer_can_be_made_meanwhile(self) -> None:
        """Whoever makes it would time out, and a worker would be kept from others."""
        playout = speaking(0)
        playout.hold()
        playout.put(1, FRAME * 3000)
        assert playout.room_ms() == 60_000
        playout.unhold()
        assert playout.room_ms() == 0


def test_a_flush_is_silent_with_the_next_tick_and_finishes_nothing() -> None:
    playout = speaking(10)
    take(playout, 4)
    playout.pause()
    heard = playout.flush()
    assert heard == Heard(1, (HeardSentence("Good morning to you.", 640, None),), finished=False)
    assert [(frame.pcm, frame.events) for frame in take(playout, 3)] == [(SILENCE, ())] * 3
    assert playout.heard() == heard
    playout.start_turn(2)
    playout.put(2, FRAME)
    assert playout.take(0.0).pcm == FRAME


def test_marks_count_samples_of_each_sentence() -> None:
    playout = speaking(2, "One.")
    playout.begin_sentence(1, "Two.")
    playout.put(1, FRAME * 4)
    playout.end_sentence(1)
    playout.put(1, FRAME)
    playout.begin_sentence(1, "Three.")
    take(playout, 3)
    assert playout.heard().sentences == (
        HeardSentence("One.", 320, 320),
        HeardSentence("Two.", 160, 640),
        HeardSentence("Three.", 0, None),
    )


@pytest.mark.parametrize("piece", [320, 321, 1999])
def test_the_silence_that_ends_a_sentence_has_no_words_in_it(piece: int) -> None:
    text = "One two three four"
    # a second of sound, half of it one of silence, but for the voice's own noise
    noise = np.random.default_rng(1).integers(-60, 60, 4000).astype("<i2").tobytes()
    pcm = pcm_of(tone(400, 1.0)) + noise
    playout = Playout()
    playout.start_turn(1)
    playout.begin_sentence(1, text)
    for at in range(0, len(pcm), piece):
        playout.put(1, pcm[at : at + piece])
    playout.end_sentence(1)
    # what comes between two sentences is part of neither
    playout.put(1, FRAME * 5)
    sentence = playout.heard().sentences[0]
    assert sentence.total_samples == 12_000
    assert sentence.sounding_samples == pytest.approx(8000, abs=20)
    take(playout, 26)
    assert heard_text(playout.heard()) == ("One two", True)
    take(playout, 25)
    assert heard_text(playout.heard()) == (text, True)


def test_a_sentence_without_any_sound_is_measured_by_its_length() -> None:
    playout = Playout()
    playout.start_turn(1)
    playout.begin_sentence(1, "One two three four")
    playout.put(1, SILENCE * 50)
    playout.end_sentence(1)
    take(playout, 26)
    assert heard_text(playout.heard()) == ("One two", True)


def test_half_a_sample_does_not_spoil_the_next_sentence() -> None:
    playout = Playout()
    playout.start_turn(1)
    playout.begin_sentence(1, "One.")
    playout.put(1, FRAME[:101])
    playout.begin_sentence(1, "Two.")
    playout.put(1, FRAME[:220])
    assert playout.take(0.0).pcm == FRAME


def test_blocks_of_odd_bytes_are_joined() -> None:
    playout = speaking(0)
    playout.put(1, FRAME[:33])
    playout.put(1, FRAME[33:])
    assert playout.take(0.0).pcm == FRAME


# --- the text


def heard(*sentences: HeardSentence, finished: bool = False) -> tuple[str, bool]:
    return heard_text(Heard(1, sentences, finished))


def test_what_was_played_to_its_end_is_whole() -> None:
    whole = (HeardSentence("Yes.", 800, 800), HeardSentence(" We open at nine. ", 9000, 9000))
    assert heard(*whole, finished=True) == ("Yes. We open at nine.", False)


def test_a_cut_is_at_a_word_boundary_no_later_than_what_was_played() -> None:
    text = "We are open from nine to five on weekdays."
    # 1.5 of 6 seconds
    assert heard(HeardSentence(text, 12_000, 48_000)) == ("We are", True)


@pytest.mark.parametrize("played", range(0, 48_001, 500))
def test_a_cut_never_halves_a_word_or_takes_an_unplayed_one(played: int) -> None:
    text = "Your appointment is confirmed for Tuesday."
    words, _ = heard(HeardSentence(text, played, 48_000))
    assert text.startswith(words)
    assert len(words) * 48_000 <= played * len(text)
    assert words == "" or text[len(words) :][:1] in ("", " ")


def test_nothing_played_is_nothing_heard() -> None:
    assert heard(HeardSentence("Hello there.", 0, 4000)) == ("", True)
    assert heard(HeardSentence("Hello there.", 0, None)) == ("", True)
    assert heard() == ("", True)


def test_the_end_of_a_sentence_still_being_made_is_not_heard() -> None:
    words, cut = heard(HeardSentence("Please hold the line for a moment.", 16_000, None))
    assert cut
    assert "Please hold the line".startswith(words)
    assert words
    words, cut = heard(HeardSentence("Hold on.", 80_000, None))
    assert (words, cut) == ("Hold", True)


def test_a_sentence_that_could_not_be_made_is_neither_heard_nor_cut() -> None:
    sentences = (
        HeardSentence("One.", 800, 800),
        HeardSentence("Two.", 0, 0),
        HeardSentence("Three.", 800, 800),
    )
    assert heard(*sentences, finished=True) == ("One. Three.", False)


def test_a_turn_cut_between_two_sentences_is_cut() -> None:
    assert heard(HeardSentence("One.", 800, 800), finished=False) == ("One.", True)


def test_a_script_without_spaces_is_cut_between_characters() -> None:
    assert heard(HeardSentence("我们九点开门。", 4000, 7000)) == ("我们九点", True)


@pytest.mark.parametrize(
    ("text", "words"),
    [("안녕하세요 반갑습니다.", ""), ("여섯 시에 닫습니다.", "여섯"), ("ＨＥＬＬＯ ＡＬＬ", "")],
)
def test_scripts_with_spaces_are_cut_at_them(text: str, words: str) -> None:
    assert heard(HeardSentence(text, 3200, 8000)) == (words, True)


class TestWhatWasNotHeardAfterAll:
    """Frames that were sent ahead and thrown away before the caller heard them."""

    def test_it_comes_again_and_counts_as_unheard(self) -> None:
        playout = Playout()
        playout.start_turn(1)
        playout.begin_sentence(1, "One two three.")
        sound = bytes(range(256)) * 10
        playout.put(1, sound)
        playout.end_turn(1)
        taken = [playout.take(0.0) for _ in range(6)]
        assert playout.heard(unheard_samples=3 * 160).sentences[0].played_samples == 3 * 160
        playout.take_back(taken[3:])
        assert playout.heard().sentences[0].played_samples == 3 * 160
        rest = b"".join(playout.take(0.0).pcm for _ in range(5))
        assert rest == sound[3 * 320 :]
        assert playout.heard().sentences[0].whole

    def test_a_turn_that_was_finished_finishes_again(self) -> None:
        playout = Playout()
        playout.start_turn(1)
        playout.put(1, b"ab" * 100)
        playout.end_turn(1)
        frames = [playout.take(0.0) for _ in range(2)]
        assert [type(event) for frame in frames for event in frame.events] == [
            PlayoutStarted,
            PlayoutFinished,
        ]
        assert not playout.heard(unheard_samples=100).finished
        playout.take_back(frames)
        assert not playout.heard().finished
        again = [playout.take(1.0) for _ in range(2)]
        assert again == [
            replace(frame, events=tuple(replace(e, at=1.0) for e in frame.events)) for frame in frames
        ]
        assert playout.heard().finished

    def test_a_fade_is_not_part_of_what_comes_again(self) -> None:
        playout = Playout()
        playout.start_turn(1)
        sound = b"\x00\x10" * 160 * 5
        playout.put(1, sound)
        playout.take(0.0)
        playout.pause()
        faded = playout.take(0.0)
        playout.take_back([faded])
        playout.resume()
        resumed = playout.take(0.0)
        playout.take_back([resumed])
        assert playout.take(0.0).pcm == sound[:320]

    def test_nothing_of_a_flushed_turn_comes_again(self) -> None:
        playout = Playout()
        playout.start_turn(1)
        playout.put(1, b"ab" * 1000)
        taken = [playout.take(0.0) for _ in range(3)]
        assert playout.flush(unheard_samples=2 * 160) == playout.heard()
        playout.take_back(taken[1:])
        assert playout.take(0.0).kind == "silence"
        playout.start_turn(2)
        playout.take_back(taken[1:])
        assert playout.take(0.0).kind == "silence"
        assert playout.room_ms() == 2000

    def test_it_is_dry_only_in_the_middle_of_speech(self) -> None:
        playout = Playout()
        steps: list[Callable[[], object]] = [
            lambda: playout.start_turn(1),
            lambda: playout.put(1, bytes(330)),
            lambda: playout.take(0.0),
            playout.pause,
            playout.resume,
            lambda: playout.end_turn(1),
        ]
        dry = []
        for step in steps:
            step()
            dry.append(playout.is_dry)
        assert dry == [False, False, True, False, True, False]


def test_at_16_khz_everything_has_twice_the_samples() -> None:
    playout = Playout(limit_ms=100, rate=16_000)
    playout.start_turn(1)
    playout.begin_sentence(1, "One two.")
    playout.put(1, b"\x00\x10" * 1600)
    assert playout.room_ms() == 0
    frame = playout.take(0.0)
    assert len(frame.pcm) == 640
    playout.pause()
    faded = np.frombuffer(playout.take(0.0).pcm, "<i2")
    assert faded[0] > faded[40] > faded[78] > faded[79] == faded[80] == 0
    heard = playout.flush()
    assert (heard.sentences[0].played_samples, heard.rate) == (320, 16_000)


def test_words_of_an_unfinished_sentence_are_counted_by_time_at_any_rate() -> None:
    for rate in (8000, 16_000):
        heard = Heard(1, (HeardSentence("One two three four", rate, None),), finished=False, rate=rate)
        assert heard_text(heard) == ("One two", True)
