"""A caller's sound through voice detection and endpointing."""

from collections.abc import Sequence

from media_bridge.endpoint import Endpoint
from media_bridge.events import EndpointEvent
from media_bridge.level import SILENCE_DBFS, level_dbfs
from media_bridge.settings import EndpointSettings, VoiceSettings
from media_bridge.vad import SileroGate
from tests.support.speech import Sound, frames, pcm_of


def listen(
    gate: SileroGate,
    sound: Sound,
    bot: Sequence[float | None] | None = None,
    settings: EndpointSettings | None = None,
    voice: VoiceSettings | None = None,
) -> list[EndpointEvent]:
    """The events of a sound whose first sample is at 0 s; `bot` has the bot's level in each frame."""
    gate.reset()
    endpoint = Endpoint(settings or EndpointSettings(pause_ms=200), voice or VoiceSettings())
    events: list[EndpointEvent] = []
    for number, frame in enumerate(frames(pcm_of(sound))):
        level = bot[number] if bot else None
        events += endpoint.feed(frame, gate.feed(frame), (number + 1) * 0.02, level)
    return events


def levels(sound: Sound) -> list[float | None]:
    """What playout says about each frame of the bot's voice."""
    found = (level_dbfs(frame) for frame in frames(pcm_of(sound)))
    return [level if level > SILENCE_DBFS else None for level in found]
