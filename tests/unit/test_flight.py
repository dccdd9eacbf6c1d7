"""Flights read back: every event and every line of the ear, older versions, what is cut off, and what is no flight."""

import json
import struct
import wave
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import get_args

import pytest

from media_bridge.events import Utterance
from media_bridge.resample import Resampler
from media_bridge.settings import MediaSettings
from stasis_app.conversation import Event, State, step
from stasis_app.flight.ear_lines import EarLine, Started, from_plain, plain
from stasis_app.flight.lines import (
    End,
    FlightError,
    ear_line,
    end_line,
    head_line,
    read,
    step_line,
)
from stasis_app.flight.talk import replay
from stasis_app.flight.wav import read_wav
from tests.support.flights import CALL, flown, replayed
from tests.support.media_call import silence, speech
from tests.support.renew_flight import renewed
from voicebot.cli import main
from voicebot.replay import replay_file

HEAD = head_line(CALL, State(), 8000, MediaSettings())
OLD_HEAD = '{"flight": 1, "call": "x", "state": {"max_prompts": 2}}'
END = end_line(End(3.0, 24_000, True))
QUESTION = silence(1.0) + speech("price01.wav") + silence(1.5)


def text_of(*lines: str) -> str:
    return "".join(line + "\n" for line in lines)


def wav_of(frames: bytes, rate: int = 8000, channels: int = 2, width: int = 2) -> bytes:
    made = BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return made.getvalue()


def shown(file: Path) -> tuple[int, list[str]]:
    said: list[str] = []
    return replay_file(file, said.append), said


class TestLines:
    @pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
    def test_every_event_comes_back_as_it_was(self, kind: type) -> None:
        said = Utterance(3, b"", 1.5, 2.25, 600, 16_000)
        values = {"turn": 4, "utterance": said, "meant": True, "digits": "12", "cause": "normal"}
        values["target"] = "front_desk"
        event = kind(**{field.name: values[field.name] for field in fields(kind)})
        state, commands = step(State(), event)
        flight = read(text_of(HEAD, step_line(1.25, event, state, commands), END))
        assert [one.event for one in flight.steps] == [event]
        (done,) = replay(flight)
        assert done.same
        assert (done.t, done.event) == (1.25, kind.__name__)

    @pytest.mark.parametrize("kind", get_args(EarLine), ids=lambda kind: kind.__name__)
    def test_every_line_of_the_ear_comes_back_as_it_was(self, kind: type[EarLine]) -> None:
        line = kind(**{field.name: 1000 + at for at, field in enumerate(fields(kind))})
        assert from_plain(plain(line)) == line
        flight = read(text_of(HEAD, ear_line(line), END))
        assert flight.ear == (line,)
        assert flight.end == End(3.0, 24_000, True)

    def test_the_head_holds_how_the_ear_was_made(self) -> None:
        settings = MediaSettings.model_validate(
            {"endpoint": {"end_ms": 900}, "voice": {"start_probability": 0.7}}
        )
        head = read(text_of(head_line(CALL, State(), 16_000, settings))).ear_head
        assert head is not None
        assert (head.rate, head.endpoint, head.voice) == (16_000, settings.endpoint, settings.voice)

    def test_settings_that_are_none_any_more_are_told(self) -> None:
        old = HEAD.replace('"end_ms": 700', '"end_ms": 700, "hangover_ms": 5')
        flight = read(text_of(old, END))
        assert flight.ear_head is not None
        assert flight.ear_head.forgotten == ("media.endpoint.hangover_ms",)

    def test_a_last_line_that_was_not_written_to_its_end_is_left_out(self) -> None:
        flight = read(text_of(HEAD, ear_line(Started(160))) + '{"ear": {"Pau')
        assert flight.ear == (Started(160),)
        assert flight.end is None

    def test_one_of_a_version_to_come_says_what_can_be_done(self) -> None:
        with pytest.raises(FlightError, match=r"version 3, and this voicebot knows 1 and 2: .* a newer one"):
            read('{"flight": 3}\n')

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "\n",
            "{}\n",
            "[]\n",
            "RIFF\x00\x00WAVE\n",
            '{"flight": true}\n',
            '{"flight": 1, "state": {"max_prompts": "2"}}\n',
            '{"flight": 2, "state": {"max_prompts": 2}}\n',
            text_of(HEAD.replace('"rate": 8000', '"rate": 44100')),
            text_of(HEAD.replace('"end_ms": 700', '"end_ms": -1')),
            text_of(HEAD.replace('"end_ms": 700', '"end_ms": [7]')),
            text_of(OLD_HEAD, "nonsense"),
            text_of(OLD_HEAD, "[" * 100_000),
            text_of(OLD_HEAD, '{"t": 1, "event": {"Nobody": {}}, "phase": "X", "commands": []}'),
            text_of(OLD_HEAD, '{"t": 1, "event": {}, "phase": "X", "commands": []}'),
            text_of(OLD_HEAD, '{"t": NaN, "event": {"MediaReady": {}}, "phase": "X", "commands": []}'),
            text_of(
                OLD_HEAD, '{"t": 1, "event": {"PlayoutStarted": {"turn": []}}, "phase": "X", "commands": []}'
            ),
            text_of(
                OLD_HEAD, '{"t": 1, "event": {"SpeechEnded": {"utterance": 5}}, "phase": "X", "commands": []}'
            ),
            text_of(HEAD, '{"ear": {"Started": {"sample": -1}}}'),
            text_of(HEAD, '{"ear": {"Started": {"sample": 1.5}}}'),
            text_of(HEAD, '{"ear": {"Started": {"sample": true}}}'),
            text_of(HEAD, '{"ear": {"Started": {"sample": 1' + "0" * 30 + "}}}"),
            text_of(HEAD, '{"ear": {"Started": {}}}'),
            text_of(HEAD, '{"ear": {"Nobody": {"sample": 1}}}'),
            text_of(HEAD, '{"ear": 5}'),
            text_of(HEAD, '{"t": 3.0, "end": {"samples": -4, "whole": true}}'),
            text_of(HEAD, END, ear_line(Started(160))),
            text_of(HEAD, END) + "more",
        ],
    )
    def test_what_is_no_flight_is_told(
        self, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(FlightError):
            read(text)
        file = tmp_path / "x.flight"
        file.write_text(text)
        assert main(["replay", str(file)]) == 2
        assert f"{file}: " in capsys.readouterr().err

    def test_a_file_that_cannot_be_read_is_told(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["replay", str(tmp_path / "nobody")]) == 2
        assert main(["replay", str(tmp_path)]) == 2
        assert capsys.readouterr().err.count("cannot be read") == 2


class TestSound:
    @pytest.mark.parametrize("rate", [8000, 16_000])
    def test_the_caller_is_left_and_the_bot_right(self, rate: int) -> None:
        sound = read_wav(wav_of(struct.pack("<6h", 1, -1, 2, -2, 3, -3), rate))
        assert (sound.rate, len(sound)) == (rate, 3)
        assert sound.cut(1, 3) == (struct.pack("<2h", 2, 3), struct.pack("<2h", -2, -3))

    def test_what_comes_before_and_behind_the_sound_is_left_out(self) -> None:
        """As an editor of sound writes it: with its own head, and with notes."""
        made = wav_of(bytes(4000))
        form = struct.pack("<HHIIHHHHI", 0xFFFE, 2, 8000, 32_000, 4, 16, 22, 16, 3) + b"\x01\x00" + bytes(14)
        body = b"LIST" + struct.pack("<I", 5) + b"notes\0" + b"fmt " + struct.pack("<I", len(form)) + form
        body += made[36:] + b"LIST" + struct.pack("<I", 4) + b"more"
        sound = read_wav(b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body)
        assert len(sound) == 1000

    @pytest.mark.parametrize("left", [1, 3, 1600])
    def test_a_head_that_was_not_finished_is_not_believed(self, left: int) -> None:
        whole = wav_of(bytes(4 * 2000))
        assert len(read_wav(whole[:-left])) == 2000 - (left + 3) // 4
        unfinished = whole[:40] + struct.pack("<I", 160) + whole[44:] + bytes(4 * 500)
        assert len(read_wav(unfinished)) == 2500

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            (b"", "is empty"),
            (b"no sound", "is no wav"),
            (wav_of(b"")[:20], "is a wav whose head is broken"),
            (wav_of(b"")[:36], "is a wav that ends before its sound begins"),
            (wav_of(bytes(100), channels=1), "has 1 channels of 16 bits"),
            (wav_of(bytes(100), width=1), "has 2 channels of 8 bits"),
            (wav_of(bytes(400), rate=44_100), "has 44100 Hz and its flight 8000"),
            (wav_of(bytes(400), rate=16_000), "has 16000 Hz and its flight 8000"),
        ],
        ids=["empty", "text", "cut", "headless", "mono", "8 bits", "44.1 kHz", "16 kHz"],
    )
    def test_what_is_no_sound_of_a_flight_is_told(
        self, data: bytes, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "x.flight").write_text(text_of(HEAD, END))
        (tmp_path / "x.wav").write_bytes(data)
        assert main(["replay", str(tmp_path / "x.flight")]) == 2
        assert f"{tmp_path}/x.wav {why}" in capsys.readouterr().err


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
