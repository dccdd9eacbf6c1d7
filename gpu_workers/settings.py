"""What can be set about the models: where each runs and where its weights come from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from gpu_workers.addresses import reachable


def _at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError(f"begins with {path.parts[0]}, and this machine has no such user") from error


def _model_at_home(name: str) -> str:
    return str(_at_home(Path(name))) if name.startswith("~") else name


Port = Annotated[int, Field(ge=1, le=65535)]
HomePath = Annotated[Path, AfterValidator(_at_home)]  # ~ is the home folder, as in a shell
ModelName = Annotated[str, AfterValidator(_model_at_home)]  # a known name, a path, or one of a hub


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


class WorkerSettings(Settings):
    """What all three workers share."""

    start: bool = Field(True, description="Start it with `voicebot up`; false: it runs elsewhere, at `url`.")
    url: str | None = Field(
        None, description="Address of a worker that runs elsewhere, e.g. http://10.0.0.5:8103."
    )
    more_urls: tuple[str, ...] = Field(
        (),
        description="More workers of the same kind: requests take turns, and one that fails is passed over.",
    )
    host: str = Field("127.0.0.1", description="Address the worker listens on.")
    port: Port
    device: str = Field("cpu", description="cpu, auto, cuda:0, cuda:1, ... or a card's UUID.")
    threads: int = Field(1, ge=1, le=256, description="CPU threads of this worker's model.")
    api_key: SecretStr | None = Field(
        None, description="Asked of clients; ${NAME} takes it from the environment."
    )
    max_calls: int | None = Field(
        None, ge=1, description="Calls it has room for at a time; null: it limits no calls."
    )

    @property
    def base_url(self) -> str:
        """Where clients find it, without a trailing slash and without /v1."""
        return (self.url or self.own_url).rstrip("/")

    @property
    def elsewhere(self) -> bool:
        """Whether its requests go to a server that is not started from this configuration."""
        return not self.start or self.url is not None

    @property
    def own_url(self) -> str:
        """Where this machine reaches the one that runs here."""
        return f"http://{reachable(self.host)}:{self.port}"

    @property
    def base_urls(self) -> Sequence[str]:
        """All of them, that one first."""
        return (self.base_url, *(url.rstrip("/") for url in self.more_urls))


class SttSettings(WorkerSettings):
    port: Port = 8101
    model: ModelName = Field(
        "whisper-base", description="A known name, or a folder with a CTranslate2 Whisper."
    )
    turn_model: ModelName | None = Field(
        "smart-turn-v3.2",
        description="Hears whether a turn sounds finished: a known name or an .onnx file; null: words alone decide.",
    )
    compute_type: str = Field("int8", description="int8 on a CPU, float16 or int8_float16 on a GPU.")
    copies: int = Field(1, ge=1, le=16, description="Copies of the model that decode side by side.")
    beam: int = Field(
        5,
        ge=1,
        le=10,
        description="Wordings followed at a time: more hear better in noise, 1 is the fastest.",
    )
    language: str | None = Field("en", description="Spoken language; null: recognised by the model.")
    queue_limit: int = Field(64, ge=1, description="More waiting requests than this are refused with 429.")

    @property
    def asked_model(self) -> str | None:
        """The model that requests name: where it runs elsewhere, the one that is written. None: they name none."""
        return self.model if self.elsewhere and "model" in self.model_fields_set else None


class TalkMessage(Settings):
    """One message of a talk that is read ahead. The first one may hold the tools that are offered with it, as JSON."""

    role: Literal["system", "user", "assistant"]
    content: str
    tools: str | None = None


def begun(talk: Sequence[TalkMessage]) -> dict[str, Any]:
    """The beginning of a talk as it is asked for; `tools` only where there are any."""
    asked: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in talk]
    }
    for message in talk:
        if message.tools:
            asked["tools"] = json.loads(message.tools)
    return asked


class LlmSettings(WorkerSettings):
    port: Port = 8102
    engine: Literal["auto", "vllm", "llama"] = Field(
        "auto",
        description="auto: vllm on cuda, llama on the CPU and, where the device is auto too, for GGUF models.",
    )
    model: ModelName = Field(
        "qwen2.5-1.5b", description="A known name, a GGUF file (llama), or a folder or hub name (vllm)."
    )
    quantization: Literal["awq", "gptq", "fp8"] | None = Field(
        None, description="vLLM: how the weights are stored; null: as the model's own config.json says."
    )
    kv_cache_dtype: Literal["auto", "fp8"] = Field(
        "auto", description="vLLM: fp8 halves the memory of a talk, on cards that have it."
    )
    prefix_caching: bool = Field(True, description="vLLM: what was read once is not read again.")
    chunked_prefill: bool = Field(True, description="vLLM: long prompts are read in steps between answers.")
    memory_share: float | None = Field(
        None, gt=0, le=1, description="vLLM: part of the card's memory; null: what the plan finds."
    )
    threads: int = Field(2, ge=1, le=256)
    context_tokens: int = Field(4096, ge=512, description="Longest conversation, prompt and answer together.")
    parallel: int = Field(
        4,
        ge=1,
        le=256,
        description="Answers written side by side; vLLM, if this is not set: one for each call.",
    )
    queue_limit: int = Field(64, ge=1, description="More waiting requests than this are refused with 429.")
    python: HomePath | None = Field(
        None, description="vLLM: the Python it is installed for, where that is another one than ours."
    )
    extra_args: tuple[str, ...] = Field((), description="More arguments for the vLLM server, as they are.")
    tool_parser: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="vLLM: how the model writes calls of tools; null: hermes where a profile has tools.",
    )
    warm_talks: tuple[tuple[TalkMessage, ...], ...] = Field(
        (),
        description="Beginnings of talks that the model reads before it is ready, so that no call waits for that.",
    )

    @property
    def asked_model(self) -> str | None:
        """The model that requests name. None: they name none, for of a server elsewhere it is not written."""
        return None if self.elsewhere and "model" not in self.model_fields_set else self.model

    @property
    def known_context_tokens(self) -> int | None:
        """None for a server that runs elsewhere and of whose window nothing is written."""
        return self.context_tokens if self.start or "context_tokens" in self.model_fields_set else None


class TtsSettings(WorkerSettings):
    port: Port = 8103
    voice: ModelName = Field(
        "joe", description="A known name, or a Piper .onnx file with its .onnx.json beside it."
    )
    model: str | None = Field(
        None, min_length=1, description="Of a server elsewhere that wants one named, like tts-1 of OpenAI's."
    )
    voices: tuple[ModelName, ...] = Field(
        (), description="More voices, written the same way; those of the profiles are added."
    )
    queue_limit: int = Field(64, ge=1, description="More waiting requests than this are refused with 429.")
    parallel: int = Field(
        2, ge=1, le=64, description="Sentences made side by side, each with `threads` threads."
    )

    @property
    def asked_model(self) -> str | None:
        """The model that requests name. None: they name none, as our own workers need none."""
        return self.model

    @property
    def asked_voice(self) -> str | None:
        """The voice of whoever names none: where it runs elsewhere, the one that is written."""
        return self.voice if self.elsewhere and "voice" in self.model_fields_set else None


class WorkersSettings(Settings):
    """The `workers:` part of voicebot.yaml."""

    stt: SttSettings = SttSettings()
    llm: LlmSettings = LlmSettings()
    tts: TtsSettings = TtsSettings()
    cache_dir: HomePath | None = Field(
        None, description="Where models are kept; ~/.cache/voicebot if not given."
    )
