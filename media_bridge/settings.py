"""What can be set about sound: one frozen model, handed in by whoever starts the call process."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

TransportName = Literal["rtp", "websocket", "audiosocket"]
Codec = Literal["ulaw", "alaw", "slin", "g722", "slin16"]

CODECS_OF: Mapping[TransportName, tuple[Codec, ...]] = MappingProxyType(
    {
        "rtp": ("ulaw", "alaw", "slin", "g722"),
        "websocket": ("slin16", "ulaw"),
        "audiosocket": ("slin16", "slin"),
    }
)
"""What each transport carries both ways; the first is what it carries unless told otherwise."""

Port = Annotated[int, Field(ge=1, le=65535)]


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class JitterSettings(Settings):
    """How long a packet may wait for the ones before it."""

    min_ms: int = Field(40, ge=20, le=200, description="The delay on a calm network.")
    max_ms: int = Field(120, ge=40, le=500, description="The delay never grows beyond this.")


class VoiceSettings(Settings):
    """Which sound counts as speech."""

    gate_mode: int = Field(2, ge=0, le=3, description="webrtcvad aggressiveness of the cheap first gate.")
    start_probability: float = Field(0.5, gt=0, lt=1, description="Silero probability that opens speech.")
    stop_probability: float = Field(
        0.35, gt=0, lt=1, description="Silero probability below which speech fades."
    )
    start_ms: int = Field(96, ge=32, le=500, description="Speech this long opens an utterance.")
    start_speaking_probability: float = Field(
        0.2, gt=0, lt=1, description="The probability that opens speech while the bot is speaking."
    )
    start_speaking_ms: int = Field(
        60, ge=32, le=800, description="Speech this long, while the bot is speaking."
    )
    pre_roll_ms: int = Field(400, ge=0, le=2000, description="Sound kept from before speech was certain.")


class EndpointSettings(Settings):
    """When the caller has finished."""

    pause_ms: int = Field(100, ge=60, le=1000, description="Silence after which work on the answer begins.")
    end_ms: int = Field(700, ge=100, le=5000, description="Silence that ends a turn of unknown words.")
    max_utterance_ms: int = Field(30_000, ge=1000, le=120_000, description="A longer utterance is cut here.")


class MediaOverride(Settings):
    """The `media:` part of a profile."""

    transport: TransportName | None = Field(None, description="Another than media.transport.")
    codec: Codec | None = Field(None, description="Another than media.codec.")


class MediaSettings(Settings):
    """The `media:` part of voicebot.yaml."""

    transport: TransportName = Field("rtp", description="How sound goes between Asterisk and the bot.")
    codec: Codec | None = Field(
        None, description="What they send each other; ulaw over rtp and slin16 otherwise if not given."
    )
    bind_host: str = Field("127.0.0.1", description="The address our sockets for sound are opened on.")
    advertise_host: str | None = Field(
        None, description="The address Asterisk sends to; bind_host if not given."
    )
    port_start: Port = Field(20000, description="First UDP port for RTP (even ports are used).")
    port_end: Port = Field(20998, description="Last UDP port for RTP.")
    port_quarantine_s: float = Field(10.0, ge=0, description="A used port rests this long (late packets).")
    audiosocket_port: Port = Field(9092, description="TCP port for Asterisk's AudioSocket connections.")
    first_packet_s: float = Field(
        10.0,
        gt=0,
        description="A call without any sound from Asterisk ends after this, while the bot is silent.",
    )
    media_timeout_s: float = Field(
        15.0, gt=0, description="A call whose sound stopped ends after this, while the bot is silent."
    )
    jitter: JitterSettings = JitterSettings()
    voice: VoiceSettings = VoiceSettings()
    endpoint: EndpointSettings = EndpointSettings()


class Medium(NamedTuple):
    """How the sound of a call goes between Asterisk and the bot."""

    transport: TransportName
    codec: Codec

    @property
    def fits(self) -> bool:
        """The transport carries the codec."""
        return self.codec in CODECS_OF[self.transport]


def medium_of(settings: MediaSettings, override: MediaOverride | None = None) -> Medium:
    """What these settings mean for a call. A codec counts for the transport it was written beside."""
    override = override or MediaOverride()
    transport = override.transport or settings.transport
    shared = settings.codec if transport == settings.transport else None
    return Medium(transport, override.codec or shared or CODECS_OF[transport][0])
