"""`voicebot fetch`: everything a configuration needs, downloaded side by side.

Each download is a process of its own: Ctrl-C reaches every one of them, and each takes its half-made files away.
"""

import multiprocessing
import sys
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from gpu_workers.errors import GpuWorkersError
from gpu_workers.llm import engine_of
from gpu_workers.settings import LlmSettings
from voicebot.config import Config, cache_dir
from voicebot.errors import PartError, VoicebotError
from voicebot.programs import fetch_sipp, find_or_fetch
from voicebot.supervise import Say
from voicebot.worker import voiced

TEST_MODELS = ("whisper-tiny.en", "smollm2-135m")

Job = Callable[[], object]


def fetch_everything(
    config: Config, say: Say, *, for_tests: bool = False, only_missing: bool = False
) -> None:
    """Raises PartError, naming each thing that could not be had and why."""
    jobs = _jobs(config, say, for_tests)
    # fork: a job starts at once, with what is loaded already, and this program has no threads
    context = multiprocessing.get_context("fork")
    running = []
    for name, job in jobs.items():
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(job, theirs), name=f"fetch {name}")
        process.start()
        theirs.close()
        running.append((name, process, ours))
    failures = []
    for name, process, ours in running:
        process.join()
        if process.exitcode != 0:
            failures.append(f"{name}: {_reason(ours, process.exitcode)}")
        ours.close()
    if failures:
        raise PartError("\n".join(failures))
    if not only_missing:
        say(f"All here, in {cache_dir(config)}: {', '.join(jobs)}.{_by_vllm_itself(config.workers.llm)}")


def _jobs(config: Config, say: Say, for_tests: bool) -> Mapping[str, Job]:
    cache, workers, asterisk = cache_dir(config), config.workers, config.asterisk
    models = [workers.stt.model] if workers.stt.start else []
    models += [workers.stt.turn_model] if workers.stt.start and workers.stt.turn_model else []
    # vLLM loads what it runs by itself
    models += [workers.llm.model] if workers.llm.start and engine_of(workers.llm) == "llama" else []
    models += [workers.tts.voice, *voiced(config).voices] if workers.tts.start else []
    jobs: dict[str, Job] = {}
    if asterisk.start or for_tests:
        jobs["Asterisk"] = partial(find_or_fetch, cache, say, asterisk.binary)
    if for_tests:
        models += TEST_MODELS
        jobs["SIPp"] = partial(fetch_sipp, cache, say)
    for model in dict.fromkeys(models):
        jobs[model] = partial(_fetch_model, model, cache, say)
    return jobs


def _by_vllm_itself(llm: LlmSettings) -> str:
    """What is not fetched here, and how to have it before the machine goes offline."""
    if not llm.start or engine_of(llm) != "vllm" or Path(llm.model).exists():
        return ""
    get = f"{llm.python or sys.executable} -c \"import huggingface_hub as h; h.snapshot_download('{llm.model}')\""
    return f"\nNot {llm.model}: vLLM fetches it from its hub when it starts. To have it before, run\n  {get}"


def _fetch_model(name: str, cache: Path, say: Say) -> None:
    from gpu_workers.models import fetch  # not needed where no model runs

    fetch(name, cache, say)


def _run(job: Job, result: Connection) -> None:
    """In the child: do it; what the user can mend goes back as text."""
    try:
        job()
    except (VoicebotError, GpuWorkersError, OSError) as error:
        result.send(str(error))
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _reason(result: Connection, exit_code: int | None) -> str:
    try:
        return str(result.recv())
    except EOFError:
        return f"ended with exit code {exit_code}"
