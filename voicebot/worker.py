"""`voicebot worker`: one model worker in this process."""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from gpu_workers.leash import raise_open_files
from gpu_workers.settings import LlmSettings, TalkMessage, TtsSettings, WorkerSettings
from gpu_workers.tts.voices import voice_name
from stasis_app.history import History
from stasis_app.tools.offered import offered
from voicebot import logs
from voicebot.config import Config, cache_dir, worker_parts
from voicebot.planning import card_environment, plan_of_one, planned, read_plan

log = logging.getLogger(__name__)

_TOOL_PARSER = "hermes"  # that of Qwen2.5, which the examples and docs/gpus.md name


def run_worker(kind: str, config: Config, plan_file: Path | None = None) -> int:
    """Serve until SIGTERM or Ctrl-C.

    `plan_file`: the plan to obey; without one, one is made for this worker alone. Raises PlanError when it is refused,
    GpuWorkersError when the model cannot be had or the port is in use.
    """
    plan = read_plan(plan_file) if plan_file else plan_of_one(config, kind)
    config = planned(config, plan, kind)
    settings = worker_parts(config)[kind]
    # before the libraries are loaded: they read it once
    os.environ.update({**environment(settings), **card_environment(plan, kind)})
    logs.configure(config.log)
    raise_open_files()  # a connection for each request that waits
    for warning in () if plan_file else plan.warnings:  # who made the plan has told them
        log.warning("%s", warning)
    match kind:
        case "stt":
            from gpu_workers.stt import serve as serve_stt

            serve_stt(config.workers.stt, cache_dir(config))
        case "llm":
            from gpu_workers.llm import serve as serve_llm

            serve_llm(warmed(config), cache_dir(config), plan.llm)
        case _:
            from gpu_workers.tts import serve as serve_tts

            serve_tts(voiced(config), cache_dir(config))
    return 0


def voiced(config: Config) -> TtsSettings:
    """The voice worker's settings, with the voices that the profiles ask for."""
    tts = config.workers.tts
    wanted = (profile.voice for profile in config.profiles.values() if profile.voice)
    named = {voice_name(voice) for voice in (tts.voice, *tts.voices)}
    added = [voice for voice in dict.fromkeys(wanted) if voice_name(voice) not in named | {"default"}]
    return tts.model_copy(update={"voices": (*tts.voices, *added)})


def warmed(config: Config) -> LlmSettings:
    """The language model's settings: what the talks of all profiles begin with if no beginning is given, and tools."""
    llm = config.workers.llm
    if llm.tool_parser is None and any(offered(profile.tools) for profile in config.profiles.values()):
        llm = llm.model_copy(update={"tool_parser": _TOOL_PARSER})
    if llm.warm_talks:
        return llm
    talks = []
    for profile in config.profiles.values():
        history = History(profile.instructions, profile.examples)
        history.bot_said(profile.greeting, cut=False)
        messages = history.messages()
        first, *rest = (
            TalkMessage(role=message.role, content=message.text)
            for message in messages
            if message.role != "tool"
        )
        if tools := offered(profile.tools):
            first = first.model_copy(update={"tools": json.dumps(tools)})
        talks.append((first, *rest))
    return llm.model_copy(update={"warm_talks": tuple(talks)})


def environment(settings: WorkerSettings) -> Mapping[str, str]:
    """What keeps a process to its share of the cores."""
    threads = str(settings.threads)
    return {
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "false",
    }
