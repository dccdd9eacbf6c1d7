"""Flights replayed: how far each goes, and what is shown when the ear of today is another one."""

import json
from pathlib import Path

import pytest

from media_bridge.resample import Resampler
from media_bridge.settings import MediaSettings
from stasis_app.flight.ear_lines import Started
from stasis_app.flight.lines import ear_line
from stasis_app.flight.wav import read_wav
from tests.support.flights import CALL, flown, replayed, text_of, wav_of
from tests.support.media_call import silence, speech
from tests.support.renew_flight import renewed
from voicebot.replay import replay_file

QUESTION = silence(1.0) + speech("price01.wav") + silence(1.5)
OLD_HEAD = '{"flight": 1, "call": "x", "state": {"max_prompts": 2}}'


def shown(file: Path) -> tuple[int, list[str]]:
    said: list[str] = []
    return replay_file(file, said.append), said


class TestHowFarItGoes:
    def test_without_its_wav_the_conversation_alone_is_replayed(self, tmp_path: Path) -> None:
        file = flown(tmp_path, QUESTION)
        file.with_suffix(".wav").unlink()
        status, said = shown(file)
        assert status == 0
        assert said == [
            f"There is no {tmp_path}/{CALL}.wav beside it: only the conversation is replayed, not the sound.",
            "The conversation is as it was.",
        ]

    def test_one_of_version_1_has_a_conversation_alone(self, tmp_path: Path) -> None:
        file = flown(tmp_path, QUESTION)
        file.write_text(OLD_HEAD + "\n")
        status, said = shown(file)
        assert status == 0
        assert "of version 1" in said[0]
        assert said[-1] == "The conversation is as it was."

    def test_a_wav_that_was_cut_is_compared_as_far_as_it_goes(self, tmp_path: Path) -> None:
        file = flown(tmp_path, QUESTION + QUESTION)
        wav = file.with_suffix(".wav")
        wav.write_bytes(wav.read_bytes()[: 44 + 4 * 8000 * 3])
        status, said = shown(file)
        assert status == 0
        assert said[-2].startswith(f"{CALL}.wav ends at 3.000 s, the sound of its flight at ")
        assert len(replayed(file).heard.pairs) == 1, "it was not heard to its end"

    def test_a_wav_that_is_longer_is_compared_as_far_as_the_flight_goes(self, tmp_path: Path) -> None:
        file = flown(tmp_path, QUESTION)
        wav = file.with_suffix(".wav")
        sound = read_wav(wav.read_bytes())
        wav.write_bytes(wav_of(sound.both.tobytes() * 2))
        status, said = shown(file)
        assert status == 0
        assert said[-2].startswith(f"{CALL}.wav goes on to ")
        assert len(replayed(file).heard.pairs) == 3

    def test_a_call_that_was_longer_than_its_sound_is_compared_as_far_as_that_goes(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("stasis_app.flight.recorder.MAX_SOUND_S", 3)
        file = flown(tmp_path, QUESTION + QUESTION)
        assert file.with_suffix(".wav").stat().st_size == 44 + 4 * 8000 * 3
        status, said = shown(file)
        assert status == 0
        assert said[-2] == "Sound was kept up to 3.000 s: what is behind that is not compared."
        assert "Ended" in file.read_text()

    def test_lines_that_are_missing_at_the_end_are_told(self, tmp_path: Path) -> None:
        file = flown(tmp_path, QUESTION + QUESTION)
        lines = file.read_text().splitlines()
        ended = next(at for at, line in enumerate(lines) if "Ended" in line)
        end = lines[-1].replace('"whole": true', '"whole": false')
        file.write_text(text_of(*lines[: ended + 1], end))
        status, said = shown(file)
        assert status == 0
        assert said[0].startswith("Lines are missing at its end")
        assert len(replayed(file).heard.pairs) == 3

    def test_sound_that_was_lost_is_not_compared_until_the_next_quiet(self, tmp_path: Path) -> None:
        """The second question's middle: of it the ear hears otherwise now, and of the others as it did."""
        sound = QUESTION * 3
        second = (len(QUESTION) // 2 + 8000) / 8000  # where its voice begins
        file = flown(tmp_path, sound, lost_s=[int(second) + 1])
        again = replayed(file)
        unknown = [pair for pair in again.heard.pairs if not pair.known]
        assert unknown
        assert all(second < pair.sample / 8000 < 2 * len(QUESTION) / 16_000 for pair in unknown)
        assert any(pair.then != pair.now for pair in unknown)
        known = [pair for pair in again.heard.pairs if pair.known]
        assert len(known) >= 6
        assert not any(pair.differs for pair in known)
        status, said = shown(file)
        assert status == 0
        assert sum("the recorder lost the sound up to" in line for line in said) == 1
        assert sum("(not known)" in line for line in said) == len(unknown)


class TestAnotherEar:
    """The ear of today is made another one by what the flight says of it: the code is the same."""

    @pytest.mark.parametrize("rate", [8000, 16_000])
    def test_nothing_has_changed(self, tmp_path: Path, rate: int) -> None:
        again = replayed(flown(tmp_path, Resampler(8000, rate).feed(QUESTION, last=True), rate))
        assert [type(pair.then).__name__ for pair in again.heard.pairs] == ["Started", "Paused", "Ended"]
        assert all(pair.then == pair.now for pair in again.heard.pairs)

    def test_a_longer_wait_ends_later(self, tmp_path: Path) -> None:
        file = flown(tmp_path, QUESTION, end_wait_ms=300)
        file.write_text(file.read_text().replace('"wait_ms": 300', '"wait_ms": 800'))
        (*others, ended) = replayed(file).heard.pairs
        assert not any(pair.differs for pair in others)
        assert ended.then is not None
        assert ended.now is not None
        assert ended.now.sample - ended.then.sample == 8 * 500
        status, said = shown(file)
        assert status == 1
        assert said[-1] == "Heard otherwise now: 1 of 3 moments of the caller's speech."
        assert [line for line in said if "<- differs" in line] == [said[-2]]

    def test_it_cut_me_off(self, tmp_path: Path) -> None:
        """A pause within a question that ended it then, and does not now: the question is one, not two."""
        clip_in_parts = silence(1.0) + speech("unfinished13.wav") + silence(1.5)
        file = flown(tmp_path, clip_in_parts, end_wait_ms=300)
        file.write_text(file.read_text().replace('"wait_ms": 300', '"wait_ms": 1200'))
        pairs = replayed(file).heard.pairs
        alone = [(type(pair.then).__name__, type(pair.now).__name__) for pair in pairs if pair.differs]
        assert ("Ended", "NoneType") in alone
        assert ("NoneType", "Resumed") in alone
        assert ("Started", "NoneType") in alone
        status, said = shown(file)
        assert status == 1
        assert any(line.split()[1:3] == ["-", "ended:"] for line in said)
        file.write_text(renewed(file))
        again = replayed(file)
        assert [type(pair.then).__name__ for pair in again.heard.pairs][-1] == "Ended"
        assert all(pair.then == pair.now for pair in again.heard.pairs)
        assert shown(file)[0] == 0

    def test_it_did_not_hear_me(self, tmp_path: Path) -> None:
        """A word too short for the ear of then: it was not heard, and now it is."""
        deaf = MediaSettings.model_validate({"voice": {"start_ms": 500, "start_probability": 0.99}})
        file = flown(tmp_path, silence(1.0) + speech("finished01.wav") + silence(1.5), settings=deaf)
        assert not any("Started" in line for line in file.read_text().splitlines())
        text = file.read_text().replace('"start_ms": 500', '"start_ms": 96')
        file.write_text(text.replace('"start_probability": 0.99', '"start_probability": 0.5'))
        pairs = replayed(file).heard.pairs
        assert [type(pair.now).__name__ for pair in pairs] == ["Started", "Paused", "Ended"]
        assert all(pair.then is None and pair.differs for pair in pairs)
        assert shown(file)[0] == 1

    def test_a_frame_is_no_difference_and_two_are(self, tmp_path: Path) -> None:
        file = flown(tmp_path, QUESTION)
        lines = file.read_text().splitlines()
        at = next(place for place, line in enumerate(lines) if "Started" in line)
        started = json.loads(lines[at])["ear"]["Started"]["sample"]
        for frames, status in ((-2, 1), (-1, 0), (0, 0), (1, 0), (2, 1)):
            lines[at] = ear_line(Started(started + 160 * frames))
            file.write_text(text_of(*lines))
            assert shown(file)[0] == status, frames
