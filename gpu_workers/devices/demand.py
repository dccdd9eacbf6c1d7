"""What is asked of the planner: which workers run here, with which models, for how many calls. Pure data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from gpu_workers.devices.language import Quantization, Serving, Shape, llama_need, vllm_need
from gpu_workers.devices.plan import KvCacheDtype
from gpu_workers.devices.speech import WhisperShape, piper_need, whisper_need
from gpu_workers.devices.sums import Sum

AUTO = "auto"
GPU_BATCH = 8  # utterances that the STT worker decodes at a time on a card (gpu_workers/stt/whisper.py)

Worker = Literal["stt", "llm", "tts"]
WORKERS: Final[tuple[Worker, ...]] = ("stt", "llm", "tts")


@dataclass(frozen=True)
class LlmDemand:
    """`shape` None: not known, for the reason `unknown`. `parallel` None: as many answers at a time as calls.

    `memory_share` None: the plan chooses. `quantization` None: the model's own.
    """

    device: str
    model: str
    shape: Shape | None
    engine: Literal["vllm", "llama"]
    calls: int
    context_tokens: int = 4096
    parallel: int | None = None
    quantization: Quantization | None = None
    kv_cache_dtype: KvCacheDtype = "auto"
    prefix_caching: bool = True
    chunked_prefill: bool = True
    memory_share: float | None = None
    threads: int = 2
    unknown: str = ""

    @property
    def sequences(self) -> int:
        return self.parallel or self.calls

    def need(self, batched_tokens: int) -> Sum | None:
        if self.shape is None:
            return None
        if self.engine == "llama":
            return llama_need(self.shape, self.context_tokens, self.parallel or 1)
        serving = Serving(
            calls=self.calls,
            context_tokens=self.context_tokens,
            sequences=self.sequences,
            batched_tokens=batched_tokens,
            kv_bytes=1 if self.kv_cache_dtype == "fp8" else 2,
        )
        return vllm_need(self.shape, serving)


@dataclass(frozen=True)
class SttDemand:
    """`compute_type` None: what suits the device."""

    device: str
    model: str
    shape: WhisperShape | None
    compute_type: str | None = None
    copies: int = 1
    threads: int = 1
    beam: int = 5

    def need(self, compute_type: str, *, on_gpu: bool) -> Sum | None:
        if self.shape is None:
            return None
        batch = GPU_BATCH if on_gpu else 1
        return whisper_need(
            self.shape, compute_type, batch=batch, copies=self.copies, on_gpu=on_gpu, beam=self.beam
        )


@dataclass(frozen=True)
class TtsDemand:
    device: str
    voice: str
    voice_size: int
    parallel: int = 2
    threads: int = 1

    def need(self, *, on_gpu: bool) -> Sum:
        return piper_need(self.voice_size, parallel=self.parallel, on_gpu=on_gpu)


@dataclass(frozen=True)
class Demand:
    """None for a worker that does not run here.

    `take_all`: the language model gets all that is left on its card, for more talks kept in its KV cache; without it
    what it needs, because others will come.
    """

    llm: LlmDemand | None = None
    stt: SttDemand | None = None
    tts: TtsDemand | None = None
    take_all: bool = True

    def threads(self, worker: Worker) -> int:
        """CPU threads of its models, all copies together."""
        if worker == "stt" and self.stt:
            return self.stt.threads * self.stt.copies
        if worker == "tts" and self.tts:
            return self.tts.threads * self.tts.parallel
        return self.llm.threads if worker == "llm" and self.llm else 0

    def devices(self) -> Iterator[tuple[Worker, str]]:
        if self.stt:
            yield "stt", self.stt.device
        if self.llm:
            yield "llm", self.llm.device
        if self.tts:
            yield "tts", self.tts.device
