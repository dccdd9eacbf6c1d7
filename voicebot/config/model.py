"""The whole of voicebot.yaml as one frozen model, composed of each package's own settings."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpu_workers.settings import HomePath, WorkersSettings
from media_bridge.settings import MediaSettings, Port, Settings
from stasis_app.settings import AriSettings, CallSettings, Profile, WebSettings
from voicebot.config.lakeside import LAKESIDE_BIKES

ProfileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]


class AsteriskSettings(Settings):
    """The `asterisk:` part of voicebot.yaml: the Asterisk that `voicebot up` brings."""

    start: bool = Field(
        True, description="Bring an Asterisk with `voicebot up`; false: use the one at `ari.url`."
    )
    binary: HomePath | None = Field(
        None, description="Its program; null: the installed one if new enough, else one is downloaded."
    )
    sip_host: str = Field(
        "127.0.0.1", min_length=1, description="Address phones reach it on; 0.0.0.0: every address."
    )
    sip_port: Port = Field(5060, description="UDP port for SIP.")
    http_port: Port = Field(8088, description="TCP port of its HTTP server (ARI), on 127.0.0.1.")
    rtp_start: Port = Field(10000, description="First UDP port for sound from and to phones.")
    rtp_end: Port = Field(19998, description="Last UDP port for sound from and to phones.")


class LogSettings(Settings):
    """The `log:` part of voicebot.yaml."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="debug also logs what was said."
    )
    format: Literal["text", "json"] = Field("text", description="text for people, json for a log collector.")
    directory: HomePath = Field(
        Path("var/log"), description="Where `voicebot up` keeps one log file for each part."
    )


class Config(Settings):
    """All that can be set."""

    asterisk: AsteriskSettings = AsteriskSettings()
    ari: AriSettings = AriSettings()
    media: MediaSettings = MediaSettings()
    workers: WorkersSettings = WorkersSettings()
    calls: CallSettings = CallSettings()
    web: WebSettings = WebSettings()
    log: LogSettings = LogSettings()
    profiles: dict[ProfileName, Profile] = Field(
        {"default": LAKESIDE_BIKES},
        min_length=1,
        description="Who the bot is; the dialplan chooses with Stasis(voicebot,profile=NAME).",
    )
