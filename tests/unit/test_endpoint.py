"""When the caller speaks, pauses, and has finished."""

from random import Random

import numpy as np
import pytest

from media_bridge.conceal import Concealer
from media_bridge.endpoint import Endpoint, EndpointState
from media_bridge.events import (
    EndpointEvent,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    Utterance,
)
from media_bridge.settings import EndpointSettings, VoiceSettings
from media_bridge.vad import SileroGate
from tests.support.listening import levels, listen
from tests.support.speech import Sound, Turn, clip, frames, line_noise, pcm_of, pink_noise, sound_of, turns

SPOKEN = ["finished01", "finished09", "unfinished13", "interrupt02"]
LOUD = np.full(160, 3000, "<i2").tobytes()
QUIET = bytes(320)


@pytest.fixture(scope="module")
def gate() -> SileroGate:
    return SileroGate(VoiceSettings())


def shape(events: list[EndpointEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def utterances(events: list[EndpointEvent]) -> list[Utterance]:
    return [event.utterance for event in events if isinstance(event, SpeechEnded)]


PROBABILITY = {"#": 0.9, "+": 0.4, ".": 0.05}


class Script:
    """Feeds frames whose probability is given, one character each: # speech, + faint speech, . silence."""

    def __init__(self, settings: EndpointSettings | None = None, voice: VoiceSettings | None = None) -> None:
        self.endpoint = Endpoint(settings or EndpointSettings(pause_ms=200), voice or VoiceSettings())
        self.frames = 0

    def play(self, script: str, bot: float | None = None, pcm: bytes | None = None) -> list[EndpointEvent]:
        events = []
        for mark in script:
            self.frames += 1
            sound = pcm or (QUIET if mark == "." else LOUD)
            events += self.endpoint.feed(sound, PROBABILITY[mark], self.frames * 0.02, bot)
        return events


# --- the states, on probabilities alone


def test_speech_starts_when_it_has_lasted() -> None:
    script = Script()
    assert script.play("." * 20 + "####") == []
    assert script.endpoint.state is EndpointState.STARTING
    (started,) = script.play("#")
    assert isinstance(started, SpeechStarted)
    assert started.at == pytest.approx(0.5)


def test_a_short_burst_is_nothing() -> None:
    script = Script()
    assert script.play("." * 20 + "####" + "." * 20) == []
    assert script.endpoint.state is EndpointState.QUIET


def test_speech_may_flicker_while_it_starts() -> None:
    assert shape(Script().play("." * 20 + "##...##...#")) == ["SpeechStarted"]
    assert shape(Script().play("." * 20 + "##....##....##....")) == []


def test_an_utterance_pauses_and_ends_after_its_waits() -> None:
    script = Script()
    events = script.play("." * 20 + "#" * 20 + "." * 60)
    assert shape(events) == ["SpeechStarted", "SpeechPaused", "SpeechEnded"]
    _, paused, ended = events
    # the last voiced sample is at 0.8 s
    assert paused.at == pytest.approx(1.0)
    assert ended.at == pytest.approx(1.5)
    assert isinstance(paused, SpeechPaused)
    assert isinstance(ended, SpeechEnded)
    assert paused.utterance is ended.utterance


def test_faint_speech_goes_on_but_does_not_start() -> None:
    assert Script().play("+" * 50) == []
    assert shape(Script().play("." * 20 + "#" * 10 + "+" * 50)) == ["SpeechStarted"]


def test_speech_in_the_pause_goes_on_with_the_same_utterance() -> None:
    script = Script()
    events = script.play("." * 20 + "#" * 10 + "." * 15 + "#" * 10 + "." * 40)
    assert shape(events) == ["SpeechStarted", "SpeechPaused", "SpeechResumed", "SpeechPaused", "SpeechEnded"]
    first, second = (event.utterance for event in events if isinstance(event, SpeechPaused))
    assert first.number == second.number == 1
    assert second.pcm.startswith(first.pcm[:-3200])
    assert len(second.pcm) > len(first.pcm)
    assert second.voiced_ms == first.voiced_ms + 200


def test_a_click_in_the_pause_resumes_nothing_and_holds_the_end_back_only_while_it_lasts() -> None:
    events = Script().play("." * 20 + "#" * 10 + "." * 20 + "##" + "." * 30)
    assert shape(events) == ["SpeechStarted", "SpeechPaused", "SpeechEnded"]
    assert events[-1].at == pytest.approx(0.6 + 0.7)


def test_the_next_utterance_has_the_next_number_and_none_of_the_last_ones_sound() -> None:
    events = Script().play("." * 20 + "#" * 10 + "." * 40 + "#" * 10 + "." * 40)
    one, two = utterances(events)
    assert (one.number, two.number) == (1, 2)
    # pre-roll, speech, tail: the second begins at the earliest where the first ended
    assert len(one.pcm) == (400 + 200 + 200) * 16
    assert len(two.pcm) == (400 + 200 + 200) * 16
    crowded = utterances(Script(EndpointSettings(end_ms=260)).play("." * 20 + ("#" * 10 + "." * 15) * 2))
    assert len(crowded[1].pcm) == (200 + 200 + 200) * 16


# --- the wait


@pytest.mark.parametrize(("wait_ms", "ended_at"), [(300, 1.1), (1500, 2.3)])
def test_the_wait_can_be_changed_in_the_pause(wait_ms: int, ended_at: float) -> None:
    script = Script()
    script.play("." * 20 + "#" * 20 + "." * 10)
    script.endpoint.set_end_wait(1, wait_ms)
    events = script.play("." * 100)
    assert shape(events) == ["SpeechEnded"]
    assert events[0].at == pytest.approx(ended_at)


def test_a_wait_that_is_over_already_ends_with_the_next_frame() -> None:
    script = Script()
    script.play("." * 20 + "#" * 20 + "." * 25)
    script.endpoint.set_end_wait(1, 100)
    assert shape(script.play(".")) == ["SpeechEnded"]


def test_a_sound_that_may_be_the_next_word_holds_the_end_back_for_a_moment() -> None:
    script = Script()
    script.play("." * 20 + "#" * 20 + "." * 34)
    assert script.play("." * 8, pcm=LOUD) == []
    assert shape(script.play("###")) == ["SpeechResumed"]
    script.play("." * 34)
    assert shape(script.play("." * 20, pcm=LOUD)) == ["SpeechEnded"]


def test_the_lines_own_noise_holds_nothing_back() -> None:
    noise = np.frombuffer(LOUD, "<i2") // 40
    faint = noise.astype("<i2").tobytes()
    script = Script()
    script.play("." * 20, pcm=faint)
    script.play("#" * 20)
    assert shape(script.play("." * 35, pcm=faint)) == ["SpeechPaused", "SpeechEnded"]


def test_the_wait_is_the_usual_one_after_speech_resumed() -> None:
    script = Script()
    script.play("." * 20 + "#" * 20 + "." * 10)
    script.endpoint.set_end_wait(1, 3000)
    assert shape(script.play("###" + "#" * 5)) == ["SpeechResumed"]
    assert shape(script.play("." * 35)) == ["SpeechPaused", "SpeechEnded"]


def test_a_wait_for_another_utterance_or_outside_a_pause_changes_nothing() -> None:
    script = Script()
    script.endpoint.set_end_wait(0, 100)
    script.play("." * 20 + "#" * 20)
    script.endpoint.set_end_wait(1, 3000)
    script.play("." * 10)
    script.endpoint.set_end_wait(2, 3000)
    assert shape(script.play("." * 25)) == ["SpeechEnded"]


# --- the length


def test_an_endless_utterance_is_cut_and_the_next_begins() -> None:
    script = Script(EndpointSettings(max_utterance_ms=2000))
    events = script.play("." * 20 + "#" * 250)
    assert shape(events)[:4] == ["SpeechStarted", "SpeechPaused", "SpeechEnded", "SpeechStarted"]
    cut = utterances(events)
    assert [utterance.number for utterance in cut] == [1, 2]
    assert all(len(utterance.pcm) <= (2000 + 400) * 16 for utterance in cut)
    # nothing is lost between the two
    assert cut[1].started - cut[0].ended <= 0.02


class TestStop:
    """The caller is put on hold, or puts us on hold."""

    @pytest.mark.parametrize(
        ("before", "ends"),
        [
            ("." * 20, []),
            ("." * 20 + "###", []),
            ("." * 20 + "#" * 30, ["SpeechPaused", "SpeechEnded"]),
            ("." * 20 + "#" * 30 + "." * 15, ["SpeechEnded"]),
        ],
        ids=["quiet", "about to speak", "speaking", "pausing"],
    )
    def test_what_is_being_said_ends_there(self, before: str, ends: list[str]) -> None:
        script = Script()
        script.play(before)
        assert shape(script.endpoint.stop()) == ends
        assert script.endpoint.state is EndpointState.QUIET
        assert script.endpoint.stop() == []

    def test_what_is_said_after_it_is_another_utterance_with_none_of_the_old_sound(self) -> None:
        script = Script()
        script.play("." * 20 + "#" * 30)
        (first,) = utterances(script.endpoint.stop())
        assert (first.number, round(first.ended, 2)) == (1, 1.0)
        script.frames += 6000  # two minutes
        (second,) = utterances(script.play("#" * 30 + "." * 50))
        assert (second.number, round(second.started, 2)) == (2, 121.0)
        assert len(second.pcm) == 2 * 8 * (600 + 200)

    def test_the_bot_that_spoke_before_it_has_no_echo_after_it(self) -> None:
        script = Script()
        script.play("." * 20, bot=-5.0)
        script.endpoint.stop()
        assert shape(script.play("#" * 5)) == ["SpeechStarted"]


def test_memory_is_bounded_in_silence_in_speech_and_in_flicker() -> None:
    script = Script(EndpointSettings(max_utterance_ms=2000))
    for marks in ("." * 2000, "#" * 2000, "#..." * 500):
        script.play(marks)
        assert len(script.endpoint._sound.cut(0, 10**9)) <= 16 * (2000 + 400 + 1500 + 20)


@pytest.mark.parametrize("size", [0, 318, 640])
def test_a_frame_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=str(size)):
        Endpoint(EndpointSettings(pause_ms=200), VoiceSettings()).feed(bytes(size), 0.0, 0.0)


# --- the edges, on speech


def spoken(turn: Turn, lead_s: float = 1.003) -> Sound:
    return np.concatenate([line_noise(lead_s), clip(turn.name), line_noise(2.5)])


@pytest.mark.parametrize("turn", turns(*SPOKEN), ids=SPOKEN)
@pytest.mark.parametrize("lead_s", [1.0, 1.003, 1.007, 1.011, 1.016])
def test_the_edges_are_those_of_the_sound(gate: SileroGate, turn: Turn, lead_s: float) -> None:
    events = listen(gate, spoken(turn, lead_s))
    found = utterances(events)
    assert found[0].started == pytest.approx(lead_s + turn.start, abs=0.03)
    assert found[-1].ended == pytest.approx(lead_s + turn.end, abs=0.05)
    paused = [event.at for event in events if isinstance(event, SpeechPaused)]
    ended = [event.at for event in events if isinstance(event, SpeechEnded)]
    assert 0.15 <= paused[-1] - (lead_s + turn.end) <= 0.26
    assert 0.65 <= ended[-1] - (lead_s + turn.end) <= 0.76


@pytest.mark.parametrize("turn", turns(*SPOKEN), ids=SPOKEN)
def test_the_edges_are_near_in_noise(gate: SileroGate, turn: Turn) -> None:
    sound = spoken(turn)
    found = utterances(listen(gate, sound + pink_noise(len(sound) / 8000, -42)))
    assert found[0].started == pytest.approx(1.003 + turn.start, abs=0.12)
    assert found[-1].ended == pytest.approx(1.003 + turn.end, abs=0.15)


@pytest.mark.parametrize("turn", turns(*SPOKEN), ids=SPOKEN)
def test_the_pcm_has_every_word_with_pre_roll_and_tail(gate: SileroGate, turn: Turn) -> None:
    sound = spoken(turn)
    found = utterances(listen(gate, sound, settings=EndpointSettings(pause_ms=200, end_ms=1500)))
    assert len(found) == 1
    first = round((found[0].started - 0.4) * 8000)
    pcm = sound_of(found[0].pcm)
    assert np.array_equal(pcm, np.rint(sound[first : first + len(pcm)]))
    assert first / 8000 <= 1.003 + turn.start - 0.3
    assert (first + len(pcm)) / 8000 >= 1.003 + turn.end + 0.15
    assert 0 < found[0].voiced_ms <= (turn.end - turn.start) * 1000 + 150


@pytest.mark.parametrize("name", ["finished01", "short01"])
@pytest.mark.parametrize("offset", range(0, 320, 40))
def test_a_short_answer_in_silence_is_found(gate: SileroGate, name: str, offset: int) -> None:
    sound = np.concatenate([line_noise(1)[offset:], clip(name), line_noise(1.5)])
    assert len(utterances(listen(gate, sound))) == 1


def test_220_ms_of_yes_are_enough(gate: SileroGate) -> None:
    yes = clip("finished01")
    start = round(0.2 * 8000)
    short = np.concatenate([line_noise(1), yes[start : start + 1760], line_noise(1.5)])
    assert len(utterances(listen(gate, short))) == 1


def test_pauses_inside_a_turn_are_resumed_from_when_the_wait_is_long(gate: SileroGate) -> None:
    (turn,) = turns("unfinished13")
    events = listen(gate, spoken(turn), settings=EndpointSettings(end_ms=1200))
    assert shape(events) == [
        "SpeechStarted",
        "SpeechPaused",
        "SpeechResumed",
        "SpeechPaused",
        "SpeechResumed",
        "SpeechPaused",
        "SpeechEnded",
    ]
    assert all(not isinstance(event, SpeechResumed) or event.at > 2 for event in events)


@pytest.mark.parametrize("turn", turns(*SPOKEN), ids=SPOKEN)
@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
def test_lost_packets_hardly_move_the_end(gate: SileroGate, turn: Turn, share: float) -> None:
    sound = spoken(turn)
    rng, concealer = Random(1), Concealer()
    lossy = b"".join(
        concealer.lost() if rng.random() < share else concealer.good(frame) for frame in frames(pcm_of(sound))
    )
    clean = utterances(listen(gate, sound))
    assert utterances(listen(gate, sound_of(lossy)))[-1].ended == pytest.approx(clean[-1].ended, abs=0.06)


@pytest.mark.parametrize("name", ["noise_cough2", "noise_door1", "noise_keyboard1"])
def test_noise_starts_nothing(gate: SileroGate, name: str) -> None:
    assert listen(gate, np.concatenate([line_noise(1), clip(name), line_noise(1)])) == []


# --- while the bot speaks

BOT = ["price01", "pay01", "no01", "weather01", "unfinished13"]


@pytest.mark.parametrize("name", BOT)
@pytest.mark.parametrize("late_ms", [50, 100, 150, 200, 340])
@pytest.mark.parametrize("gain_db", [-10, 0, 4])
def test_the_bots_own_echo_starts_nothing(gate: SileroGate, name: str, late_ms: int, gain_db: int) -> None:
    bot = np.concatenate([clip(name) * 10 ** (gain_db / 20), np.zeros(8000)])
    echo = np.concatenate([np.zeros(late_ms * 8), bot])[: len(bot)] * 0.1
    heard = echo + line_noise(len(bot) / 8000)[: len(bot)]
    assert listen(gate, heard, levels(bot)) == []


def test_that_echo_is_speech_where_the_bots_level_is_not_known(gate: SileroGate) -> None:
    echo = np.concatenate([clip("weather01"), np.zeros(8000)]) * 0.1
    assert shape(listen(gate, echo))[:1] == ["SpeechStarted"]


@pytest.mark.parametrize("gain_db", [-6, 0])
def test_a_caller_who_interrupts_is_heard_over_the_bot(gate: SileroGate, gain_db: int) -> None:
    (turn,) = turns("interrupt02")
    bot = np.concatenate([clip("weather01"), clip("price01")])
    heard = np.concatenate([np.zeros(800), bot])[: len(bot)] * 0.1
    caller = clip(turn.name) * 10 ** (gain_db / 20)
    heard[8000 : 8000 + len(caller)] += caller
    events = listen(gate, heard, levels(bot))
    assert shape(events)[:1] == ["SpeechStarted"]
    assert 0.06 <= events[0].at - (1 + turn.start) <= 0.26


def test_less_is_needed_while_the_bot_speaks() -> None:
    assert shape(Script().play("." * 20 + "+" * 2, bot=-20.0)) == []
    assert shape(Script().play("." * 20 + "+" * 3, bot=-20.0)) == ["SpeechStarted"]
    assert shape(Script().play("." * 20 + "+" * 20)) == []
    assert shape(Script().play("." * 20 + "#" * 4)) == []


def test_an_utterance_tells_the_longest_pause_in_it() -> None:
    spoken = utterances(
        Script().play("." * 20 + "#" * 10 + "." * 15 + "#" * 10 + "." * 25 + "#" * 10 + "." * 45)
    )
    assert [one.paused_ms for one in spoken] == [pytest.approx(500, abs=40)]
    script = Script()
    script.play("." * 20 + "#" * 10 + "." * 15 + "#" * 10 + "." * 45)
    assert utterances(script.play("#" * 10 + "." * 45))[0].paused_ms == 0.0


def test_a_pause_that_was_noticed_early_has_all_its_quiet() -> None:
    """The models judge an end by the quiet behind it; what is not there yet is made of what is."""
    quiet = np.random.default_rng(1).integers(-9, 9, 160).astype("<i2").tobytes()
    script = Script(EndpointSettings(pause_ms=100))
    script.play("." * 20 + "#" * 10)
    (paused,) = [event for event in script.play("." * 6, pcm=quiet) if isinstance(event, SpeechPaused)]
    tail = np.frombuffer(paused.utterance.pcm, "<i2")[-1600:]
    assert len(paused.utterance.pcm) == (400 + 200 + 200) * 16
    assert 1 < np.abs(tail).max() <= 9
    assert (tail[-800:] != 0).mean() > 0.5


def test_in_the_bots_pauses_speech_is_what_it_is_in_silence() -> None:
    script = Script()
    script.play("." * 20, bot=-20.0)
    assert shape(script.play("." * 25 + "+" * 20, bot=-66.0)) == []


def test_a_level_of_the_bot_counts_for_as_long_as_its_echo() -> None:
    faint = np.full(160, 100, "<i2").tobytes()
    script = Script()
    script.play("." * 20, bot=-10.0)
    assert script.play("#" * 14, pcm=faint) == []
    assert shape(script.play("#" * 20, pcm=faint)) == ["SpeechStarted"]
