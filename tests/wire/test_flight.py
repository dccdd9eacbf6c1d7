"""The flight recorder: a whole talk in virtual time, its files, and the same talk replayed."""

import asyncio
import json
import os
import shutil
import threading
import time
import wave
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from media_bridge.settings import MediaSettings
from stasis_app.conversation import State
from stasis_app.flight.files import FlightFiles
from stasis_app.flight.recorder import LOOK_S, MAX_WAITING, FlightRecorder
from stasis_app.retention import Retention
from stasis_app.settings import CallSettings, Profile
from tests.support.flights import replayed
from tests.support.talk import talk
from voicebot.replay import replay_file

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
PROFILE = Profile(prompt="You are a test.", greeting="Hello.", language="en", no_input_s=60.0)


async def a_talk(folder: Path) -> None:
    async with talk(PROFILE, calls=CallSettings(drain_s=0, flight_recorder=folder)) as scene:
        await scene.ask("How much is it?", "This is a long answer about very many bikes. " * 2)
        await scene.until_heard("This is a long answer about very many bikes.", for_s=0.5)
        await scene.say("no01.wav", "No, stop that.")
        await scene.press("12#")
        await scene.quiet(for_s=2)


def test_a_talk_is_decided_again_as_it_was(virtual_time: RunVirtual, tmp_path: Path) -> None:
    folder = tmp_path / "flights"
    virtual_time(a_talk(folder))
    (lines,) = folder.glob("*.flight")
    sound = lines.with_suffix(".wav")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (lines, sound)} == {0o600}
    said: list[str] = []
    assert replay_file(lines, said.append) == 0
    events = [step.event for step in replayed(lines).steps]
    assert set(events) >= {
        *("MediaReady", "PlayoutStarted", "SpeechStarted", "SpeechPaused", "SpeechEnded"),
        *("InterruptionLasts", "DigitPressed", "DigitsEntered", "CallerGone"),
    }
    assert said[-1] == "All as it was."
    assert [line.split()[1] for line in said[: len(events)]] == events

    with wave.open(str(sound)) as file:
        assert (file.getnchannels(), file.getframerate()) == (2, 8000)
        stereo = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
    end = json.loads(lines.read_text().splitlines()[-1])
    assert end["end"] == {"samples": len(stereo), "whole": True}
    assert len(stereo) / 8000 == pytest.approx(end["t"], abs=0.5)
    assert abs(stereo).max(axis=0).min() > 1000, "both sides are heard"


def test_another_decision_is_shown(virtual_time: RunVirtual, tmp_path: Path) -> None:
    virtual_time(a_talk(tmp_path))
    (lines,) = tmp_path.glob("*.flight")
    text = lines.read_text()
    lines.write_text(text.replace('"phase": "SPEAKING"', '"phase": "HEARING"', 1))
    said: list[str] = []
    assert replay_file(lines, said.append) == 1
    assert said[-1] == f"Decided otherwise now: 1 of {len(replayed(lines).steps)} steps."
    assert sum("\n     then  PlayoutStarted -> HEARING" in line for line in said) == 1


def test_a_folder_that_cannot_be_had_costs_the_flight_only(
    virtual_time: RunVirtual, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "full").touch()
    virtual_time(a_talk(tmp_path / "full" / "flights"))
    told = [
        record.getMessage() for record in caplog.records if "flights cannot be written" in record.getMessage()
    ]
    assert len(told) == 1


async def _written(flights: FlightRecorder) -> None:
    while flights._waiting:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


def test_a_flight_that_could_not_be_begun_is_counted_and_told_again_after_it_could(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost: list[int] = []
    folder = tmp_path / "flights"

    async def main() -> None:
        with FlightRecorder(folder, on_lost=lambda: lost.append(1)) as flights:
            for call, there in enumerate((False, False, True, False)):
                shutil.rmtree(folder, ignore_errors=True)
                folder.unlink(missing_ok=True)
                if not there:
                    folder.touch()
                with flights.flight(f"{call:08x}") as flight:
                    assert flight
                    flight.begin(State(), 8000, MediaSettings())
                await _written(flights)

    asyncio.run(main())
    assert len(lost) >= 3
    assert [message.startswith("flights cannot be written") for message in caplog.messages] == [True, True]


def test_a_folder_that_no_file_can_be_made_in_is_told_before_the_first_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()

    async def main() -> None:
        with FlightRecorder(tmp_path / "file" / "flights") as flights:
            watch = asyncio.ensure_future(flights.forget_old())
            await asyncio.sleep(0.1)
            watch.cancel()
            await asyncio.wait((watch,))

    asyncio.run(main())
    assert [message.startswith("flights cannot be written") for message in caplog.messages] == [True]


def test_more_calls_at_a_time_than_are_kept_are_not_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost: list[int] = []
    two = Retention(max_calls=2, max_age_s=float("inf"), max_bytes=10**9)

    async def main() -> None:
        with FlightRecorder(tmp_path, two, lambda: lost.append(1)) as flights, ExitStack() as calls:
            for number in range(4):
                flight = calls.enter_context(flights.flight(f"{number:08x}"))
                assert flight
                flight.begin(State(), 8000, MediaSettings())
                await _written(flights)

    asyncio.run(main())
    assert {path.stem for path in tmp_path.iterdir()} == {"00000000", "00000001"}
    assert len(lost) == 2
    assert [message.startswith("no more calls are recorded") for message in caplog.messages] == [True]


def test_the_sound_of_a_process_that_was_killed_has_its_length(tmp_path: Path) -> None:
    files = FlightFiles(tmp_path, "00000001")
    files.begin("{}", 8000)
    for second in range(3):
        files.sound(8000 * second, bytes(16_000), bytes(16_000))
    with wave.open(str(tmp_path / "00000001.wav")) as file:  # nothing was closed
        assert file.getnframes() == 3 * 8000
    files.end()


def test_what_was_kept_long_enough_goes_and_foreign_files_stay(
    virtual_time: RunVirtual, tmp_path: Path
) -> None:
    """S4: by age, at the start of the process already; only what we have named ourselves."""
    month_ago = time.time() - 31 * 86_400
    for name in ("00000001.flight", "00000001.wav", "00000002.wav", "keep-this.flight", "notes.txt"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (month_ago, month_ago))
    (tmp_path / "00000003.flight").touch()
    virtual_time(a_talk(tmp_path))
    left = {path.name for path in tmp_path.iterdir()}
    assert {"keep-this.flight", "notes.txt", "00000003.flight"} <= left
    assert not {"00000001.flight", "00000001.wav", "00000002.wav"} & left
    assert len(left) == 5, "and the two files of this call"


def test_old_flights_go_without_a_call_too(virtual_time: RunVirtual, tmp_path: Path) -> None:
    async def main() -> None:
        flights = FlightRecorder(tmp_path, Retention(max_calls=1, max_age_s=float("inf"), max_bytes=10**9))
        with flights:
            watch = asyncio.ensure_future(flights.forget_old())
            await asyncio.sleep(1)
            for number in range(3):
                (tmp_path / f"0000000{number}.flight").touch()
                os.utime(tmp_path / f"0000000{number}.flight", (number, number))
            await asyncio.sleep(LOOK_S)
            watch.cancel()
            await asyncio.wait((watch,))

    virtual_time(main())
    assert [path.name for path in tmp_path.iterdir()] == ["00000002.flight"]


def test_fifty_calls_that_begin_at_once_have_their_flights(tmp_path: Path) -> None:
    lost: list[int] = []

    async def main() -> None:
        with FlightRecorder(tmp_path, on_lost=lambda: lost.append(1)) as flights, ExitStack() as calls:
            for number in range(50):
                flight = calls.enter_context(flights.flight(f"{number:08x}"))
                assert flight
                flight.begin(State(), 8000, MediaSettings())

    asyncio.run(main())
    assert len(list(tmp_path.glob("*.flight"))) == len(list(tmp_path.glob("*.wav"))) == 50
    assert all(path.read_text().startswith('{"flight"') for path in tmp_path.glob("*.flight"))
    assert not lost


async def test_a_disk_that_does_not_keep_up_is_told_once_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost: list[int] = []
    works = threading.Event()

    def hang() -> None:
        works.wait(20)

    with FlightRecorder(tmp_path, on_lost=lambda: lost.append(1)) as flights:
        flights.do(hang)
        with flights.flight("00000001") as flight:
            assert flight
            flight.begin(State(), 8000, MediaSettings())
            for second in range(1, MAX_WAITING + 8):
                flight.sound(flight._began + second, bytes(16_000), bytes(16_000), heard=True)
            # the disk's work, the beginning, the look for old flights and one line wait, too
            assert len(lost) == 11
            works.set()
    assert caplog.messages == [f"flights in {tmp_path} have holes: the disk does not keep up"]
    with wave.open(str(tmp_path / "00000001.wav")) as file:
        assert file.getnframes() == 8000 * (MAX_WAITING - 4)
    lines = [json.loads(line) for line in (tmp_path / "00000001.flight").read_text().splitlines()]
    lost_samples = {"sample": 8000 * (MAX_WAITING - 4), "until": 8000 * (MAX_WAITING + 7)}
    assert [line["ear"] for line in lines[2:-1]] == [{"Lost": lost_samples}]
    assert lines[-1]["end"] == {"samples": 8000 * (MAX_WAITING + 7), "whole": True}
