"""Flights for tests: of a caller whose sound is given, and how any is read and replayed."""

import asyncio
import wave
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from unittest.mock import patch

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from media_bridge.ear import Ear
from media_bridge.events import SpeechPaused
from media_bridge.settings import MediaSettings
from media_bridge.vad import SileroGate
from stasis_app.conversation import State
from stasis_app.flight.compare import Heard, hear_again
from stasis_app.flight.lines import Flight, read
from stasis_app.flight.recorder import FlightRecorder
from stasis_app.flight.talk import Replayed, replay
from stasis_app.flight.wav import read_wav
from tests.support.virtual_time import run_virtual

CALL = "5f0c2a91"
FRAME_S = 0.02


def text_of(*lines: str) -> str:
    """A file of these lines."""
    return "".join(line + "\n" for line in lines)


def wav_of(frames: bytes, rate: int = 8000, channels: int = 2, width: int = 2) -> bytes:
    made = BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return made.getvalue()


@dataclass(frozen=True, slots=True)
class Again:
    """A flight replayed."""

    flight: Flight
    steps: tuple[Replayed, ...]
    heard: Heard


def replayed(file: Path) -> Again:
    """A flight with its sound."""
    flight = read(file.read_text())
    assert flight.ear_head is not None
    sound = read_wav(file.with_suffix(".wav").read_bytes())
    with threadpool_limits(1, "blas"):
        heard = hear_again(flight, flight.ear_head, sound, SileroGate(flight.ear_head.voice))
    return Again(flight, tuple(replay(flight)), heard)


def flown(
    folder: Path,
    caller: bytes,
    rate: int = 8000,
    *,
    settings: MediaSettings | None = None,
    lost_s: Collection[int] = (),
    end_wait_ms: int = 300,
) -> Path:
    """The flight of a call in which the caller sounded like this and the bot was silent.

    The disk was too slow for the seconds `lost_s`. Each pause was told to end after `end_wait_ms`.
    """
    run_virtual(_fly(folder, caller, rate, settings or MediaSettings(), lost_s, end_wait_ms))
    return folder / f"{CALL}.flight"


async def _fly(
    folder: Path,
    caller: bytes,
    rate: int,
    settings: MediaSettings,
    lost_s: Collection[int],
    end_wait_ms: int,
) -> None:
    ear = Ear(settings, SileroGate(settings.voice), rate)
    now = asyncio.get_running_loop().time
    size = 2 * rate // 50
    with FlightRecorder(folder) as recorder, recorder.flight(CALL) as flight:
        assert flight is not None
        flight.begin(State(), rate, settings)
        for tick, at in enumerate(range(0, len(caller) - size + 1, size), start=1):
            await asyncio.sleep(FRAME_S)
            frame = caller[at : at + size]
            keeps_up = tick % 50 or tick // 50 - 1 not in lost_s
            with patch("stasis_app.flight.recorder.MAX_WAITING", 256 if keeps_up else 0):
                flight.sound(now(), frame, bytes(size), heard=True)
            for event in ear.listen(frame, now(), None):
                flight.said(event)
                if isinstance(event, SpeechPaused):
                    flight.end_wait(event.utterance.number, end_wait_ms)
                    ear.set_end_wait(event.utterance.number, end_wait_ms)
