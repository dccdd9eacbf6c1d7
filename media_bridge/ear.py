"""One call's hearing: from 20 ms frames to what the caller does."""

from media_bridge.endpoint import RATE, Endpoint
from media_bridge.events import EndpointEvent, Utterance
from media_bridge.resample import Halver
from media_bridge.settings import MediaSettings
from media_bridge.vad import Vad


class Ear:
    """Listens at 8 kHz, whatever the `rate` of the frames: 8000 or 16000. Utterances keep that rate."""

    def __init__(self, settings: MediaSettings, vad: Vad, rate: int) -> None:
        self._vad = vad
        self._endpoint = Endpoint(settings.endpoint, settings.voice, rate)
        self._halver = None if rate == RATE else Halver()

    def listen(self, pcm: bytes, now: float, bot_level_dbfs: float | None) -> list[EndpointEvent]:
        """What this frame says about the caller's speech."""
        if self._halver is None:
            return self._endpoint.feed(pcm, self._vad.feed(pcm), now, bot_level_dbfs)
        narrow = self._halver.feed(pcm)
        return self._endpoint.feed(narrow, self._vad.feed(narrow), now, bot_level_dbfs, wide=pcm)

    def so_far(self) -> Utterance | None:
        return self._endpoint.so_far()

    def set_end_wait(self, utterance: int, wait_ms: int) -> None:
        """See Endpoint.set_end_wait."""
        self._endpoint.set_end_wait(utterance, wait_ms)
