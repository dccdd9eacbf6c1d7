"""Where each model runs and with what: the answer of the planner. Pure data, also as JSON."""

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import TypeAdapter

from gpu_workers.devices.sums import Sum

CPU = "cpu"

KvCacheDtype = Literal["auto", "fp8"]
Dtype = Literal["auto", "float16", "bfloat16", "float32"]


@dataclass(frozen=True)
class LlmPlacement:
    """The language model on one device, in vLLM's own terms.

    `device` is a card's UUID ("GPU-...", "MIG-...") for CUDA_VISIBLE_DEVICES, or "cpu". `memory_share` is the part of
    the card's whole memory the engine may take for weights, KV cache and working memory together, in (0, 1]
    (--gpu-memory-utilization); 0 on a CPU. `max_model_len` in tokens. `quantization` None: what the model's own
    configuration says. `kv_cache_dtype` and `dtype` "auto": the model's own.
    """

    device: str
    memory_share: float
    max_model_len: int
    max_num_seqs: int
    kv_cache_dtype: KvCacheDtype = "auto"
    quantization: str | None = None
    dtype: Dtype = "auto"
    enable_prefix_caching: bool = True
    chunked_prefill: bool = True


@dataclass(frozen=True)
class Placed:
    """One worker on one device. `device` is a card's UUID or "cpu", `label` the same for people (cuda:1, cuda:0/2).

    `need` None: not counted. `room`: bytes that the device had for it. `most_calls`: so many calls its memory would
    carry there, None where memory is not what limits them. `compute_type`: Whisper's, else "".
    """

    worker: Literal["stt", "llm", "tts"]
    model: str
    device: str
    label: str
    need: Sum | None
    why: str
    room: int = 0
    most_calls: int | None = None
    compute_type: str = ""


@dataclass(frozen=True)
class Warned:
    """Something that works and costs: `cost` says what."""

    about: str
    what: str
    cost: str

    def __str__(self) -> str:
        return f"{self.about}: {self.what}. {self.cost}"


@dataclass(frozen=True)
class Refused:
    """A worker that cannot run as asked. `what` has the sum; each of `mends` is enough by itself."""

    worker: Literal["stt", "llm", "tts"]
    what: str
    mends: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.worker}: {self.what}" + "".join(f"\n    mend: {mend}" for mend in self.mends)


@dataclass(frozen=True)
class Plan:
    """`llm` None: no language model runs here, or it is llama.cpp, which takes no such settings."""

    placed: tuple[Placed, ...] = ()
    llm: LlmPlacement | None = None
    warnings: tuple[Warned, ...] = ()
    refusals: tuple[Refused, ...] = ()

    def of(self, worker: str) -> Placed | None:
        return next((one for one in self.placed if one.worker == worker), None)


AS_JSON: Final = TypeAdapter(Plan)
