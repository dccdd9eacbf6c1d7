"""The same clips decided by the default turn detection of `pipecat-ai`, in an environment of its own.

Its words come after the time that our recogniser takes, from its own end of speech on; any turn that it starts stops
its bot with the next packet.
"""

import asyncio
import json
import tempfile
import wave
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.peers.catalogue import PIPECAT, PIPECAT_TURNS_PYTHONS, pipecat_turns
from benchmarks.peers.environment import PeerMissingError, environment
from benchmarks.turns_corpus import Clip
from benchmarks.turns_score import Decided, Interrupted

_TAIL_MS: Final = 4000
_RATE: Final = 8000
_BUFFER_MS: Final = 1000

Events = Mapping[str, Sequence[Mapping[str, object]]]


async def decide(clips: Sequence[Clip], words_ms: float, say: Callable[[str], None]) -> Events | None:
    """Its decisions by clip, in ms of the clip; None, with a word why, where it cannot run."""
    try:
        python = await asyncio.to_thread(environment, PIPECAT, PIPECAT_TURNS_PYTHONS, say)
    except PeerMissingError as error:
        say(f"pipecat-ai is not measured: {error}")
        return None
    with tempfile.TemporaryDirectory(prefix="voicebot-bench-") as folder:
        asked = [_as_file(Path(folder) / f"{number}.wav", clip) for number, clip in enumerate(clips)]
        process = await asyncio.create_subprocess_exec(
            *pipecat_turns(python), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            answer, complaints = await process.communicate(
                json.dumps({"clips": asked, "tail_ms": _TAIL_MS, "transcript_ms": words_ms}).encode()
            )
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if process.returncode:
        say(f"pipecat-ai is not measured: {complaints.decode(errors='replace').strip()[-500:]}")
        return None
    events: Events = json.loads(answer)["clips"]
    return events


def decided(clip: Clip, events: Events) -> Decided:
    return Decided(clip, tuple(_instants(events[clip.name], "stopped")))


def interrupted(clip: Clip, events: Events) -> Interrupted:
    stops = [at for at in _instants(events[clip.name], "started") if at >= clip.start_ms]
    return Interrupted(clip, bool(stops), bool(stops), stops[0] if stops else None)


def turns(clip: Clip, events: Events) -> list[bytes]:
    """The sound of each turn that it finished, 8 kHz: its recogniser is given one second before it knew of speech."""
    sounds: list[bytes] = []
    begun_ms: float | None = None
    over_ms = 0.0
    for event in events[clip.name]:
        at_ms = float(str(event["ms"]))
        if event["what"] == "started":
            begun_ms = max(at_ms - _BUFFER_MS, over_ms) if begun_ms is None else begun_ms
        elif begun_ms is not None:
            first, last = (max(0, round(ms * _RATE / 1000)) for ms in (begun_ms, at_ms))
            sounds.append(clip.samples[first:last].astype("<i2").tobytes())
            begun_ms, over_ms = None, at_ms
    return sounds


def _instants(events: Sequence[Mapping[str, object]], what: str) -> list[float]:
    return [float(str(event["ms"])) for event in events if event["what"] == what]


def _as_file(path: Path, clip: Clip) -> dict[str, object]:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes(clip.samples.astype("<i2").tobytes())
    return {"name": clip.name, "wav": str(path), "words": clip.kind != "noise"}
