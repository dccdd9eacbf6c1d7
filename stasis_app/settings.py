"""What can be set about calls: how Asterisk is reached, how many calls are taken, and what the bot is."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from gpu_workers.settings import HomePath
from media_bridge.settings import MediaOverride
from media_bridge.turn_end_expected import Expected
from stasis_app.ari.names import MOST_INSTANCE_CHARS
from stasis_app.pronunciations import MOST_ENTRIES, Pronunciations, problem, pronunciations_of
from stasis_app.retention import Retention
from stasis_app.tools.settings import Tools

Port = Annotated[int, Field(ge=1, le=65535)]
_MOST_TOLD: Final = 5


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AriSettings(Settings):
    """The `ari:` part of voicebot.yaml."""

    url: str = Field(
        "http://127.0.0.1:8088",
        pattern=r"^https?://[^/]+(/.*)?$",
        description="Asterisk's HTTP server, with http.conf's prefix where it has one.",
    )
    username: str = Field("voicebot", min_length=1, pattern=r"^[^:\s]+$", description="A user of ari.conf.")
    password: SecretStr | None = Field(
        None, description="Its password; ${NAME} takes it from the environment."
    )
    app: str = Field(
        "voicebot",
        max_length=MOST_INSTANCE_CHARS,
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="The name in the dialplan's Stasis().",
    )
    request_timeout_s: float = Field(2.0, gt=0, description="No answer to a request within this: it failed.")
    heartbeat_s: float = Field(
        5.0, gt=0, description="How often the event socket is asked for a sign of life."
    )

    @field_validator("url")
    @classmethod
    def _is_the_servers(cls, url: str) -> str:
        """Where everything below /ari is, which Asterisk's own pages show as part of the address."""
        trimmed = url.rstrip("/")
        return trimmed if trimmed.endswith("//ari") else trimmed.removesuffix("/ari")


class CallSettings(Settings):
    """The `calls:` part of voicebot.yaml."""

    processes: int = Field(1, ge=1, le=64, description="Call processes side by side.")
    max_calls: int = Field(
        20, ge=1, description="More calls of one process than this go back to the dialplan."
    )
    max_call_s: float = Field(1800, gt=0, description="A call longer than this is ended with a goodbye.")
    drain_s: float = Field(60, ge=0, description="On shutdown, running calls may go on this long.")
    flight_recorder: HomePath | None = Field(
        None, description="Folder for what each call heard, said and decided; null: nothing is kept."
    )
    flight_keep_calls: int = Field(100, ge=1, description="More calls than this: the oldest are removed.")
    flight_keep_days: float = Field(30, gt=0, description="Older ones are removed.")
    flight_keep_mb: int = Field(1000, ge=10, description="More megabytes than this: the oldest are removed.")

    @property
    def flight_retention(self) -> Retention:
        return Retention(self.flight_keep_calls, self.flight_keep_days * 86_400, self.flight_keep_mb * 10**6)


class WebSettings(Settings):
    """The `web:` part of voicebot.yaml: /ready, /live and /metrics."""

    host: str = "127.0.0.1"
    port: Port = 8080
    token: SecretStr | None = Field(
        None, description="Asked of whoever reads /metrics; ${NAME} takes it from the environment."
    )


class Phrases(Settings):
    """What the bot says without asking the language model."""

    apology: str = "Sorry, I could not answer that. Please say it again."
    goodbye: str = Field("Thank you for calling. Goodbye.", description="empty: hung up without it.")
    trouble: str = "I am sorry, something is not working here. Please call again later. Goodbye."
    not_heard: str = "I cannot hear you. Please check your microphone and call again. Goodbye."
    still_there: str = "Are you still there?"
    filler: str = Field("One moment, please.", description="empty: silence.")
    not_told: str = Field(
        "I cannot tell you that. What else can I help you with?",
        min_length=1,
        description="in the place of an answer that reads out the profile's instructions.",
    )


class Example(Settings):
    """A question and its right answer. A small model follows examples better than rules."""

    caller: str = Field(min_length=1)
    bot: str = Field(min_length=1)


class Profile(Settings):
    """One entry of `profiles:`: who the bot is for the calls the dialplan sends with profile=NAME."""

    prompt: str = Field(min_length=1, description="The system prompt: who the bot is and what it knows.")
    private: str = Field(
        "",
        description="The end of the system prompt: what the model obeys and the caller never hears read out.",
    )
    examples: tuple[Example, ...] = Field(
        (), description="Earlier talk that the model is shown: how it should answer."
    )
    greeting: str = Field("", description="Said first; empty: the bot waits for the caller.")
    disclosure: str = Field(
        "", description="Said before the greeting, and always heard to its end; empty: nothing."
    )
    must_play: tuple[str, ...] = Field(
        (), description="Passages of answers that are heard to their end once they have begun."
    )
    expect: str | None = Field(
        None,
        description="The answer the greeting asks for: open, yes_no, digits, digits:N, spelling, email or date.",
    )
    language: str | None = Field(
        None, description="Spoken language, like en, en-GB or de; the STT worker's own if not given."
    )
    voice: str | None = Field(None, description="A voice of the TTS worker; its own if not given.")
    pronunciations: dict[str, str] = Field(
        {}, max_length=MOST_ENTRIES, description="Words that the voice gets wrong -> how they are said."
    )
    media: MediaOverride = MediaOverride()
    tools: Tools = Tools()
    phrases: Phrases = Phrases()
    no_input_s: float = Field(8.0, gt=0, description="Silence after which the bot asks, then says goodbye.")
    no_input_prompts: int = Field(2, ge=0, le=5, description="How often it asks before it says goodbye.")
    filler_s: float = Field(
        2.5, gt=0, description="An answer later than this is bridged by the filler phrase."
    )
    answer_timeout_s: float = Field(8.0, gt=0, description="An answer later than this becomes the apology.")
    max_answer_chars: int = Field(600, ge=40, description="A longer answer is cut at a sentence.")
    max_answer_sentences: int = Field(12, ge=1, description="The same, in sentences.")
    max_answer_s: float = Field(60.0, gt=0, description="The same, in seconds of speech.")
    digits_pause_s: float = Field(
        3.0, gt=0, description="No more keys of the phone within this: the digits are complete."
    )
    temperature: float = Field(0.2, ge=0, le=2)
    max_tokens: int = Field(160, ge=8, le=4096, description="Most tokens of one answer.")

    @field_validator("pronunciations")
    @classmethod
    def _can_be_said(cls, entries: dict[str, str]) -> dict[str, str]:
        wrong = [f"`{word}` {what}" for word, spoken in entries.items() if (what := problem(word, spoken))]
        if wrong:
            raise ValueError("; ".join(wrong[:_MOST_TOLD]))
        return entries

    @property
    def instructions(self) -> str:
        """The whole system prompt."""
        return f"{self.prompt.rstrip()}\n{self.private.strip()}\n" if self.private.strip() else self.prompt

    @property
    def pronounced(self) -> Pronunciations:
        return pronunciations_of(tuple(self.pronunciations.items()))

    @field_validator("expect")
    @classmethod
    def _is_an_expected_answer(cls, text: str | None) -> str | None:
        if text is not None:
            Expected.parse(text)
        return text
