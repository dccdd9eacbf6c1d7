"""One call's hearing: from 20 ms frames to what the caller does."""

from media_bridge.endpoint import RATE, Endpoint
from media_bridge.events import EndpointEvent, Utterance
from media_bridge.resample import Halver
from media_bridge.settings import MediaSettings
from media_bridge.vad import Vad


class Ear:
    """Listens at 8 kHz, whatever the `rate` of the frames: 8000 or 16000. Utterances keep that rate.

    `hear` and `decide` are apart so that the voice detector can answer all calls of a tick at once.
    """

    def __init__(self, settings: MediaSettings, vad: Vad, rate: int) -> None:
        self._vad = vad
        self._endpoint = Endpoint(settings.endpoint, settings.voice, rate)
        self._halver = None if rate == RATE else Halver()
        # heard and not decided: narrow and wide pcm, when, and the bot's level then
        self._heard: tuple[bytes, bytes, float, float | None] | None = None
        self._events: list[EndpointEvent] = []

    def hear(self, pcm: bytes, now: float, bot_level_dbfs: float | None) -> None:
        """Take the caller's next 20 ms."""
        self._decide_on_heard()
        if self._halver is None:
            narrow, wide = pcm, b""
        else:
            narrow, wide = self._halver.feed(pcm), pcm
        self._vad.put(narrow)
        self._heard = (narrow, wide, now, bot_level_dbfs)

    def decide(self) -> list[EndpointEvent]:
        """What the frames since the last time say about the caller's speech."""
        self._decide_on_heard()
        events, self._events = self._events, []
        return events

    def listen(self, pcm: bytes, now: float, bot_level_dbfs: float | None) -> list[EndpointEvent]:
        """Both at once, for one call alone."""
        self.hear(pcm, now, bot_level_dbfs)
        return self.decide()

    def stop(self) -> None:
        """Nothing is heard for a while: what is being said ends here; `decide` tells."""
        self._decide_on_heard()
        self._events += self._endpoint.stop()

    def so_far(self) -> Utterance | None:
        return self._endpoint.so_far()

    def set_end_wait(self, utterance: int, wait_ms: int) -> None:
        """See Endpoint.set_end_wait."""
        self._endpoint.set_end_wait(utterance, wait_ms)

    def _decide_on_heard(self) -> None:
        if self._heard is None:
            return
        (narrow, wide, now, level), self._heard = self._heard, None
        self._events += self._endpoint.feed(narrow, self._vad.take(), now, level, wide)
