"""Flights read back: every event and every line of the ear, older versions, what is cut off, and what is no flight."""

import struct
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from media_bridge.events import Utterance
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
from tests.support.flights import CALL, text_of, wav_of
from voicebot.cli import main

HEAD = head_line(CALL, State(), 8000, MediaSettings())
OLD_HEAD = '{"flight": 1, "call": "x", "state": {"max_prompts": 2}}'
END = end_line(End(3.0, 24_000, True))


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
