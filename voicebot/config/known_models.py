"""Names of models that nobody knows, and keys that the language model's engine never reads, found before any starts."""

import re
from collections.abc import Iterator
from typing import Final

from gpu_workers.llm import engine_of
from gpu_workers.models import MODELS
from gpu_workers.settings import LlmSettings, SttSettings, TtsSettings, WorkerSettings
from gpu_workers.tts.voices import voice_name
from voicebot.config.checks import worker_parts
from voicebot.config.media_addresses import Finding, finding
from voicebot.config.model import Config
from voicebot.config.source import KeyPath, Problem

_FOR_VLLM: Final = (
    "quantization",
    "kv_cache_dtype",
    "prefix_caching",
    "chunked_prefill",
    "memory_share",
    "python",
    "extra_args",
)


def unknown_models(config: Config) -> Iterator[Finding]:
    """Each model that is neither known by name nor written like a file; vLLM knows hub names that we do not."""
    for name, worker in worker_parts(config).items():
        for key, kind, model in _wanted(worker) if worker.start else ():
            yield from _unknown(("workers", name, key), kind, model)
    for name, profile in config.profiles.items() if config.workers.tts.start else ():
        named = (*config.workers.tts.voices, config.workers.tts.voice, "default")
        if profile.voice and profile.voice not in map(voice_name, named):
            yield from _unknown(("profiles", name, "voice"), "piper", profile.voice)


def _unknown(path: KeyPath, kind: str, model: str) -> Iterator[Finding]:
    known = sorted(one.name for one in MODELS.values() if one.kind == kind)
    if model not in known and not re.search(r"[/\\.]", model):
        yield (
            Problem(path, f"is `{model}`, which is neither a file nor one of: {', '.join(known)}"),
            (path,),
        )


def for_the_other_engine(config: Config) -> Iterator[Finding]:
    """What only the other engine reads."""
    llm, here = config.workers.llm, ("workers", "llm")
    if not llm.start or engine_of(llm) == "vllm":
        return
    for key in _FOR_VLLM:
        if getattr(llm, key) != type(llm).model_fields[key].default:
            message = "is for vLLM, and this model runs on llama (workers.llm.engine, device): take it out"
            yield finding(message, (*here, key), (*here, "engine"), (*here, "device"))


def _wanted(worker: WorkerSettings) -> list[tuple[str, str, str]]:
    """The key, the kind of model and its name."""
    match worker:
        case SttSettings(model=model, turn_model=turn_model):
            return [
                ("model", "whisper", model),
                *([("turn_model", "turn", turn_model)] if turn_model else []),
            ]
        case LlmSettings(model=model) if engine_of(worker) == "llama":
            return [("model", "gguf", model)]
        case TtsSettings(voice=voice, voices=voices):
            return [("voice", "piper", voice), *(("voices", "piper", one) for one in voices)]
    return []
