"""`voicebot worker`: one model worker in this process."""

import os
from collections.abc import Mapping

from gpu_workers.settings import LlmSettings, TalkMessage, WorkerSettings
from stasis_app.history import History
from voicebot import logs
from voicebot.config import Config, cache_dir, worker_parts


def run_worker(kind: str, config: Config) -> int:
    """Serve until SIGTERM or Ctrl-C. Raises GpuWorkersError when the model cannot be had or the port is in use."""
    settings = worker_parts(config)[kind]
    # before the libraries are loaded: they read it once
    os.environ.update(environment(settings))
    logs.configure(config.log)
    match kind:
        case "stt":
            from gpu_workers.stt import serve as serve_stt

            serve_stt(config.workers.stt, cache_dir(config))
        case "llm":
            from gpu_workers.llm import serve as serve_llm

            serve_llm(warmed(config), cache_dir(config))
        case _:
            from gpu_workers.tts import serve as serve_tts

            serve_tts(config.workers.tts, cache_dir(config))
    return 0


def warmed(config: Config) -> LlmSettings:
    """The language model's settings, with what the talks of all profiles begin with if no beginning is given."""
    llm = config.workers.llm
    if llm.warm_talks:
        return llm
    talks = []
    for profile in config.profiles.values():
        history = History(profile.prompt, profile.examples)
        history.bot_said(profile.greeting, cut=False)
        messages = history.messages()
        talks.append(tuple(TalkMessage(role=message.role, content=message.text) for message in messages))
    return llm.model_copy(update={"warm_talks": tuple(talks)})


def environment(settings: WorkerSettings) -> Mapping[str, str]:
    """What pins a process to its device and its share of the cores.

    The process sees only its own card, so that no library puts its working memory on another worker's.
    """
    threads = str(settings.threads)
    card = settings.device.removeprefix("cuda:") if settings.device.startswith("cuda:") else ""
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # the numbers of nvidia-smi
        "CUDA_VISIBLE_DEVICES": "0" if settings.device == "cuda" else card,
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "false",
    }
