"""What all calls of the process share, and the way back into the dialplan."""

import logging
from dataclasses import dataclass

from gpu_workers.client import SttClient
from media_bridge.turn_end_waits import EndWaits
from stasis_app.ari.errors import AriError, AriRefused
from stasis_app.ari.events import Channel
from stasis_app.flight.recorder import FlightRecorder
from stasis_app.metrics import Metrics
from stasis_app.phrases import PhraseBook
from stasis_app.seams import CallLink, CallMedia, Speaker, Writer
from stasis_app.to_its_end import to_its_end
from stasis_app.tools.hourly import Hourly
from stasis_app.tools.http import HttpRequests
from stasis_app.transcript import Transcript

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Switchboard:
    link: CallLink
    plane: CallMedia
    stt: SttClient
    llm: Writer
    tts: Speaker
    phrases: PhraseBook
    metrics: Metrics
    transcript: Transcript
    end_waits: EndWaits
    flights: FlightRecorder
    requests: HttpRequests
    transfers: Hourly
    context_tokens: int | None = None
    """The language model's window, where it is known."""

    async def hand_back(self, visit: Channel, reason: str) -> None:
        """Give a call back to the dialplan, with VOICEBOT_REASON for the admin to route on.

        Once begun it is done, also when the process is told to end meanwhile: the caller stays on no dead line.
        """
        self.metrics.calls_refused.labels(reason).inc()
        await to_its_end(self._hand_back(visit, reason))

    async def _hand_back(self, visit: Channel, reason: str) -> None:
        try:
            await self.link.exits.set_variable(visit.id, "VOICEBOT_REASON", reason)
            await self.link.exits.continue_in_dialplan(visit.id)
            self.link.hub.left(visit)
        except AriRefused:
            pass  # the link has been told, and ends with it
        except AriError as error:
            if not error.gone:
                log.warning("a call could not be handed back to the dialplan, trying again: %s", error)
                self.link.hub.abandon(visit)
