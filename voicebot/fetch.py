"""`voicebot fetch`: everything a configuration needs, downloaded side by side."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from gpu_workers.errors import GpuWorkersError
from voicebot.config import Config, cache_dir
from voicebot.errors import PartError, VoicebotError
from voicebot.programs import fetch_sipp, find_or_fetch
from voicebot.supervise import Say

TEST_MODELS = ("whisper-tiny.en", "qwen2.5-0.5b")


def fetch_everything(
    config: Config, say: Say, *, for_tests: bool = False, only_missing: bool = False
) -> None:
    """Raises PartError, naming each thing that could not be had and why.

    The threads are daemons: Ctrl-C ends the program at once, and what was half downloaded is not used.
    """
    ended: SimpleQueue[tuple[str, Exception | None]] = SimpleQueue()
    jobs = _jobs(config, say, for_tests)
    for name, job in jobs.items():
        threading.Thread(target=_run, args=(name, job, ended), name=f"fetch {name}", daemon=True).start()
    failures = []
    for _ in jobs:
        name, error = ended.get()
        if error is not None:
            failures.append(f"{name}: {error}")
    if failures:
        raise PartError("\n".join(failures))
    if not only_missing:
        say(f"All here, in {cache_dir(config)}: {', '.join(jobs)}.")


def _jobs(config: Config, say: Say, for_tests: bool) -> Mapping[str, Callable[[], object]]:
    cache, workers, asterisk = cache_dir(config), config.workers, config.asterisk
    models = [workers.stt.model] if workers.stt.start else []
    models += [workers.llm.model] if workers.llm.start else []
    models += [workers.tts.voice] if workers.tts.start else []
    jobs: dict[str, Callable[[], object]] = {}
    if asterisk.start or for_tests:
        jobs["Asterisk"] = lambda: find_or_fetch(cache, say, asterisk.binary)
    if for_tests:
        models += TEST_MODELS
        jobs["SIPp"] = lambda: fetch_sipp(cache, say)
    for model in dict.fromkeys(models):
        jobs[model] = partial(_fetch_model, model, cache, say)
    return jobs


def _fetch_model(name: str, cache: Path, say: Say) -> None:
    from gpu_workers.models import fetch  # not needed where no model runs

    fetch(name, cache, say)


def _run(name: str, job: Callable[[], object], ended: "SimpleQueue[tuple[str, Exception | None]]") -> None:
    outcome: Exception | None = PartError("failed by a defect of ours, see above")
    try:
        job()
        outcome = None
    except (VoicebotError, GpuWorkersError, OSError) as error:
        outcome = error
    finally:
        ended.put((name, outcome))
