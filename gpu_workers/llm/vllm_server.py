"""vLLM's own OpenAI server as a child of this process: started, warmed up, watched and stopped."""

import importlib.util
import logging
import os
import secrets
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import gpu_workers
from gpu_workers.devices.plan import LlmPlacement
from gpu_workers.ended import how_it_ended
from gpu_workers.errors import ModelError
from gpu_workers.leash import leashed
from gpu_workers.llm.gate import WARMING, Terms, closing
from gpu_workers.llm.listening import check_port
from gpu_workers.llm.vllm import command, environment, unplanned
from gpu_workers.llm.warm import post
from gpu_workers.private_folder import private_folder
from gpu_workers.settings import LlmSettings, begun
from gpu_workers.signals import BEYOND_DRAIN_S, DRAIN_S, on_signal

log = logging.getLogger(__name__)

_LOOK_S: Final = 0.2
_READ_S: Final = 300.0
_FIND_VLLM_S: Final = 60.0


def run(settings: LlmSettings, placement: LlmPlacement | None = None) -> None:
    """Serves until SIGTERM or Ctrl-C; a second one does not wait for the answers that are being written.

    Raises ModelError when vLLM is not installed, its port is taken, or it ends by itself.
    """
    _find_vllm(settings)
    check_port(settings)
    placement = placement or unplanned(settings)
    server = _Server(settings, placement)
    prefix = f"voicebot-llm-{os.getuid()}-"
    with (
        on_signal(lambda *_: server.stop()),
        private_folder(Path(tempfile.gettempdir()), prefix) as folder,
    ):
        terms = Terms(
            open_file=str(folder / "open"),
            token=secrets.token_urlsafe(24),
            running=placement.max_num_seqs,
            waiting=settings.queue_limit,
            model=settings.model,
            device=placement.device,
            max_calls=settings.max_calls,
        )
        with server.running(terms, folder):
            if server.comes_up():
                _warm_up(settings, terms, server)
                server.open(Path(terms.open_file))
            server.wait()


class _Server:
    def __init__(self, settings: LlmSettings, placement: LlmPlacement) -> None:
        self._settings = settings
        self._placement = placement
        self._command = leashed(command(settings, placement))
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping_since: float | None = None
        self._open_file: Path | None = None
        self._ready = False

    @contextmanager
    def running(self, terms: Terms, folder: Path) -> Iterator[None]:
        """A process group of its own, of which nothing is left at the end of the block."""
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        given = {
            **os.environ,
            **environment(self._settings, self._placement, cores),
            **terms.to_environment(),
            # no module of the working folder; `-P` is unknown to a Python of 3.10, which may be the one of vLLM
            "PYTHONSAFEPATH": "1",
            "PYTHONPATH": _path_to_the_gate(folder),
        }
        self._process = process = subprocess.Popen(self._command, env=given, process_group=0)  # noqa: S603
        try:
            if self._stopping_since is not None:  # told before there was anything to stop
                process.terminate()
            yield
        finally:
            # the engine is a child of the server and outlives it when that is killed
            self._kill()
            process.wait()

    def open(self, file: Path) -> None:
        """It takes requests from now on, until it is told to stop."""
        self._open_file = file
        if self._stopping_since is None:
            file.touch()
            log.info("llm worker ready: %s on %s", self._settings.model, self._placement.device)

    def stop(self) -> None:
        """The first time it may finish its answers, the second time not."""
        if self._stopping_since is None:
            self._stopping_since = time.monotonic()
            if self._open_file is not None:
                with suppress(OSError):  # a folder that was tidied away: vLLM's own refusals have to do
                    closing(self._open_file).touch()
            if self._process is not None:
                self._process.terminate()
        else:
            self._kill()

    def comes_up(self) -> bool:
        """Waits until it answers; False when it is to stop. Raises ModelError when it ends."""
        while not self._ready:
            if not self.goes_on():
                return False
            self._ready = _answers(f"{self._settings.own_url}/v1/models")
            time.sleep(_LOOK_S)
        return True

    def wait(self) -> None:
        """Until it was told to stop and has ended. Raises ModelError when it ends by itself."""
        while self.goes_on() or self._status() is None:
            time.sleep(_LOOK_S)
            since = self._stopping_since
            if since is not None and time.monotonic() - since > DRAIN_S + BEYOND_DRAIN_S:
                log.warning("vLLM does not end by itself within %d s: it is killed", DRAIN_S + BEYOND_DRAIN_S)
                self._kill()

    def goes_on(self) -> bool:
        """True while it runs and is to run. Raises ModelError when it ended by itself."""
        if self._stopping_since is not None:
            return False
        status = self._status()
        if status is None:
            return True
        when = "while serving" if self._ready else "before it could serve"
        how = how_it_ended(status)
        raise ModelError(f"vLLM {how} {when} {self._settings.model}; its reason is in the log above")

    def _status(self) -> int | None:
        return self._process.poll() if self._process is not None else None

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _warm_up(settings: LlmSettings, terms: Terms, server: _Server) -> None:
    """Reads what every talk begins with: its state stays in the prefix cache, which all requests share."""
    for talk in dict.fromkeys(settings.warm_talks):
        if not server.goes_on():
            return
        # a model that was fetched from a hub is asked for by the name it is served under
        asked = {
            "model": settings.model,
            **begun(talk),
            "max_tokens": 1,
        }
        began = time.monotonic()
        url = f"{settings.own_url}/v1/chat/completions"
        if post(url, asked, _READ_S, settings.api_key, {WARMING: terms.token}):
            log.info("the beginning of a talk was read in %.1f s", time.monotonic() - began)


def _find_vllm(settings: LlmSettings) -> None:
    if settings.python is None:
        found = importlib.util.find_spec("vllm") is not None
        where = ""
    else:
        looks = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('vllm'))"
        try:
            asked = subprocess.run([str(settings.python), "-c", looks], check=False, timeout=_FIND_VLLM_S)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ModelError(f"workers.llm.python: {settings.python} does not run: {error}") from error
        found, where = asked.returncode == 0, f" for {settings.python} (workers.llm.python)"
    if not found:
        raise ModelError(
            f"vLLM is not installed{where}; run: pip install 'voicebot[llm-gpu]' (about 3 GB), or set "
            "workers.llm.engine to llama for a small model on the CPU"
        )


def _path_to_the_gate(folder: Path) -> str:
    """A folder with this package and no other, so that nothing of our environment gets into vLLM's."""
    (folder / "gpu_workers").symlink_to(Path(gpu_workers.__path__[0]).resolve(), target_is_directory=True)
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def _answers(url: str) -> bool:
    """Whether anybody does, whatever it says."""
    try:
        with urllib.request.urlopen(url, timeout=_LOOK_S):  # noqa: S310 - our own server
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
