"""Whole talks in virtual time, recorded: replayed by the build that recorded them, nothing is otherwise."""

import asyncio
import shutil
import wave
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from media_bridge.settings import TransportName
from stasis_app.flight.ear_lines import DeafFrom, Ended, EndWait, HearsFrom, Paused, Resumed, Started, Stopped
from stasis_app.settings import CallSettings, Profile
from tests.support import talk as talks
from tests.support.flights import Again, replayed
from tests.support.talk import CALLER, Scene, talk
from tests.support.virtual_time import VirtualTimeLoop
from voicebot.replay import replay_file

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]
PROFILE = Profile(prompt="You are a test.", greeting="Hello.", language="en", no_input_s=60.0)
LONG = "This is a rather long sentence about very many bikes and all that can be done with them."
WORDS, COUGH, IN_PARTS = "no01.wav", "noise_cough2.wav", "unfinished13.wav"
TRANSPORTS = ("rtp", "websocket", "audiosocket")


def recorded(run: RunVirtual, folder: Path, script: Callable[[Scene], Coroutine[Any, Any, None]]) -> Path:
    async def main() -> None:
        calls = CallSettings(drain_s=0, flight_recorder=folder)
        async with talk(PROFILE, calls=calls) as scene:
            await script(scene)

    run(main())
    (file,) = folder.glob("*.flight")
    return file


def unchanged(file: Path) -> Again:
    """To the sample, in all that is told of it."""
    again = replayed(file)
    assert [pair for pair in again.heard.pairs if pair.then != pair.now] == []
    assert [step for step in again.steps if not step.same] == []
    assert again.flight.end is not None
    assert again.flight.end.whole
    assert again.heard.until == again.flight.end.samples
    said: list[str] = []
    assert replay_file(file, said.append) == 0
    assert said[-1] == "All as it was."
    return again


async def everything(scene: Scene) -> None:
    """A question with pauses inside, a cough and a hold over the answer, an interruption, keys, half a sentence."""
    await scene.quiet()
    scene.workers.llm.replies = [LONG]
    await scene.say(IN_PARTS, "Please put me down for Thursday at eleven.")
    await scene.until_heard(LONG, for_s=0.6)
    await scene.say(COUGH, "")
    await scene.until_heard(LONG, for_s=2.0)
    for kind in ("ChannelHold", "ChannelUnhold"):
        scene.ari.send(kind, channel={"id": CALLER})
        await asyncio.sleep(5.0)
    await scene.ask("How much is it?", LONG)
    await scene.until_heard(LONG, for_s=1.0)
    await scene.say(WORDS, "No, stop that.")
    await asyncio.sleep(1.0)
    await scene.press("12#")
    await asyncio.sleep(1.0)
    speaking = asyncio.create_task(scene.say("price01.wav", "How much"))
    await asyncio.sleep(1.2)
    scene.hang_up()
    await speaking


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_talk_is_heard_again_as_it_was(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transport: TransportName
) -> None:
    monkeypatch.setattr(talks, "TRANSPORT", transport)
    again = unchanged(recorded(virtual_time, tmp_path, everything))
    assert again.flight.ear_head is not None
    assert again.flight.ear_head.rate == (8000 if transport == "rtp" else 16_000)
    told = {type(line) for line in again.flight.ear}
    assert told == {HearsFrom, DeafFrom, Stopped, EndWait, Started, Paused, Resumed, Ended}
    events = {step.event for step in again.steps}
    assert events >= {"InterruptionJudged", "DigitsEntered", "SpeechResumed", "CallerGone"}
    assert any("Cancel" in command for step in again.steps for command in step.now[1])
    assert len(again.heard.pairs) >= 14


def test_ticks_that_were_left_out_are_not_heard_either(virtual_time: RunVirtual, tmp_path: Path) -> None:
    """Of a short stall all is heard later, of a long one the end, and of one after the other nothing."""

    async def stalls(scene: Scene) -> None:
        await scene.quiet()
        loop = cast("VirtualTimeLoop", asyncio.get_running_loop())
        for seconds in (0.05, 0.3, 1.5, 0.4):
            speaking = asyncio.create_task(scene.say("price01.wav", "How much is it?"))
            await asyncio.sleep(0.9)
            loop.freeze(seconds)
            await speaking
            await asyncio.sleep(1.5)

    again = unchanged(recorded(virtual_time, tmp_path, stalls))
    assert sum(isinstance(line, DeafFrom) for line in again.flight.ear) >= 1
    assert not any(isinstance(line, Stopped) for line in again.flight.ear)
    assert sum(isinstance(line, Ended) for line in again.flight.ear) >= 4


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_time_of_the_sound_is_that_of_the_lines(
    virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transport: TransportName
) -> None:
    """However long it takes until sound can be sent, and whatever is left out of it."""
    monkeypatch.setattr(talks, "TRANSPORT", transport)

    async def script(scene: Scene) -> None:
        await scene.quiet(3.0)
        cast("VirtualTimeLoop", asyncio.get_running_loop()).freeze(2.0)
        await asyncio.sleep(1.0)
        await scene.ask("How much is it?", "Nineteen dollars.")
        await scene.until_said("Nineteen dollars.")

    again = unchanged(recorded(virtual_time, tmp_path, script))
    (wav,) = tmp_path.glob("*.wav")
    with wave.open(str(wav)) as file:
        rate = file.getframerate()
        bot = np.frombuffer(file.readframes(file.getnframes()), "<i2")[1::2]
    loud = np.flatnonzero(bot) / rate
    begins = [step.t for step in again.steps if step.event == "PlayoutStarted"]
    ends = [step.t for step in again.steps if step.event == "PlayoutFinished"]
    # it is told when the packet goes out, and the ear hears it half a tick later
    assert [loud[loud > at - 0.03][0] for at in begins] == pytest.approx(begins, abs=0.031)
    assert [loud[loud < at + 0.03][-1] for at in ends] == pytest.approx(ends, abs=0.05)
    for line in again.flight.ear:
        if isinstance(line, Started | Ended):
            assert min(abs(line.sample / rate - step.t) for step in again.flight.steps) < 0.001


def test_of_a_process_that_was_killed_there_is_what_there_is(
    virtual_time: RunVirtual, tmp_path: Path
) -> None:
    """No end, a last line that is half written, a wav whose head knows of nothing (as older versions left it)."""
    killed = tmp_path / "killed"
    killed.mkdir()

    async def script(scene: Scene) -> None:
        await scene.ask("How much is it?", LONG)
        await scene.until_heard(LONG, for_s=1.5)
        for path in (tmp_path / "flights").iterdir():
            shutil.copy(path, killed)

    recorded(virtual_time, tmp_path / "flights", script)
    (file,) = killed.glob("*.flight")
    with file.open("a") as lines:
        lines.write('{"t": 5.1, "event"')
    with file.with_suffix(".wav").open("r+b") as wav:
        for at in (4, 40):
            wav.seek(at)
            wav.write(bytes(4))
    again = replayed(file)
    assert again.flight.end is None
    assert {type(pair.now) for pair in again.heard.pairs} == {Started, Paused, Ended}
    assert all(pair.then == pair.now for pair in again.heard.pairs)
    said: list[str] = []
    assert replay_file(file, said.append) == 0
    assert said[0].startswith("The flight has no end")
