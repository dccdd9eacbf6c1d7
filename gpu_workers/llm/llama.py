"""llama.cpp's OpenAI server inside this process.

It opens its port itself once the weights are found and answers /health with 503 until they are loaded.
"""

import logging
import os
import signal
import threading
from pathlib import Path
from typing import Final

import xllamacpp  # type: ignore[import-untyped]

from gpu_workers.errors import ModelError
from gpu_workers.llm.listening import check_port
from gpu_workers.llm.warm import SlotStates
from gpu_workers.models import fetch
from gpu_workers.settings import LlmSettings

log = logging.getLogger(__name__)

_DRAIN_S: Final = 15.0
_LOOK_S: Final = 0.1
_ALL_LAYERS: Final = 999
# conversations that lost their slot to another call wait here, and not without bound
_HOST_CACHE_MIB: Final = 512
_WARNINGS: Final = 2
# tokens that must match for what followed them to be proposed, and how many are proposed
_PROPOSE_AFTER: Final = 3
_PROPOSED: Final = 6


def run(settings: LlmSettings, cache_dir: Path) -> None:
    """Serves until SIGTERM or Ctrl-C. Raises ModelError."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        files = fetch(settings.model, cache_dir, lambda line: log.info("%s", line))
        if files.path.is_dir():
            raise ModelError(f"workers.llm.model is a folder ({files.path}); llama.cpp wants a .gguf file")
        check_port(settings)
        layout = f"{xllamacpp.__version__} {settings.context_tokens} {settings.parallel} {settings.device}"
        states = SlotStates(cache_dir / "llm-prompts", files.path, layout)
        states.prepare(
            settings.warm_talks, lambda: _server(settings, files.path, states.folder, public=False)
        )
        server = _server(settings, files.path, states.folder, public=True)
        states.restore(server.listening_address, settings.warm_talks, settings.parallel, settings.api_key)
        log.info("llm worker ready: %s on %s", settings.model, settings.device)
        stop.wait()
        _drain(server)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _server(settings: LlmSettings, model: Path, states: Path, *, public: bool) -> xllamacpp.Server:
    """A running server; one that is not public has a port of its own on the loopback."""
    params = _params(settings, model, states)
    if public:
        params.hostnames = [settings.host]
        params.port = settings.port
        params.api_keys = [settings.api_key.get_secret_value()] if settings.api_key else []
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ModelError(
            f"llama.cpp cannot load {model} on {settings.device}: {error}; is it a GGUF model?"
        ) from error


def _params(settings: LlmSettings, model: Path, states: Path) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {settings.model}
    params.n_parallel = settings.parallel
    params.n_ctx = settings.context_tokens * settings.parallel
    params.n_gpu_layers = _ALL_LAYERS if settings.device.startswith("cuda") else 0
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = settings.threads
        # threads that spin for each other halve the speed, or worse, as soon as another process wants a core
        cpu.poll = 0
    _repeat_what_was_said(params)
    params.cache_ram_mib = _HOST_CACHE_MIB
    params.slot_save_path = f"{states}{os.sep}"
    params.endpoint_metrics = True
    params.ui = False
    params.verbosity = _WARNINGS
    return params


def _repeat_what_was_said(params: xllamacpp.CommonParams) -> None:
    """Let words that stand in the prompt or were said before be proposed, and checked several at a time.

    A telephone answer mostly repeats facts of its prompt: half of the proposals hold. What is written stays the same.
    """
    params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MAP_K4V]
    params.speculative.ngram_map_k4v.size_n = _PROPOSE_AFTER
    params.speculative.ngram_map_k4v.size_m = _PROPOSED


def _drain(server: xllamacpp.Server) -> None:
    """Lets running answers end, for a while."""
    waited = 0.0
    while waited < _DRAIN_S and _processing(server) > 0:
        threading.Event().wait(_LOOK_S)
        waited += _LOOK_S


def _processing(server: xllamacpp.Server) -> int:
    for line in str(server.handle_metrics()).splitlines():
        if line.startswith("llamacpp:requests_processing "):
            return int(float(line.split()[1]))
    return 0
