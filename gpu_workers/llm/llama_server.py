"""The process in which llama.cpp runs: `python -m gpu_workers.llm.llama_server`, started by `llama_engine`.

A process of its own: loading holds Python's lock for seconds, and a fault in native code ends the process it is in.
It reads one line of JSON that says what to serve, writes one that says where, or why not, and ends when its input does.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final, TextIO

try:
    import xllamacpp  # type: ignore[import-untyped]
except ImportError as failure:  # its wheel holds no OpenMP library, and a small Debian has none
    told = f"llama.cpp cannot be loaded: {failure}; on Debian or Ubuntu: apt install libgomp1"
    print(json.dumps({"error": told}), flush=True)
    sys.exit()

from gpu_workers.settings import LlmSettings

_ALL_LAYERS: Final = 999
# conversations that lost their slot to another call wait here, and not without bound
_HOST_CACHE_MIB: Final = 512
_WARNINGS: Final = 2
# tokens that must match for what followed them to be proposed, and how many are proposed
_PROPOSE_AFTER: Final = 3
_PROPOSED: Final = 6
# tokens of a prompt that a CPU reads in one step: whoever leaves is noticed, and who writes gets a token, between two;
# with 64 and 128 a model of two threads read half as fast beside other work
_CPU_BATCH: Final = 256


def serve(told: dict[str, Any], answer: TextIO) -> None:
    """Serves until standard input ends."""
    settings, model = LlmSettings(**told["settings"]), Path(told["model"])
    try:
        server = xllamacpp.Server(params_of(settings, model, Path(told["states"]), told["key"]))
    except RuntimeError as error:
        why = (
            f"llama.cpp cannot load {model} on {settings.device}: {error}; is it a GGUF model, and is there memory for "
            f"it and for {settings.parallel} (workers.llm.parallel) talks of {settings.context_tokens} tokens?"
        )
        print(json.dumps({"error": why}), file=answer, flush=True)
        return
    print(json.dumps({"url": server.listening_address}), file=answer, flush=True)
    sys.stdin.read()


def params_of(settings: LlmSettings, model: Path, states: Path, key: str) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {settings.model}
    params.api_keys = [key]
    params.n_parallel = settings.parallel
    params.n_ctx = settings.context_tokens * settings.parallel
    on_gpu = settings.device.startswith("cuda")
    params.n_gpu_layers = _ALL_LAYERS if on_gpu else 0
    if not on_gpu:
        params.n_batch = params.n_ubatch = _CPU_BATCH
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


def main() -> None:
    os.umask(0o077)  # the states it keeps hold the prompt
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # sent to the whole group: its parent drains first
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever native code prints is log
    serve(json.loads(sys.stdin.readline()), answer)
    os._exit(0)  # without waiting for answers that nobody reads any more


if __name__ == "__main__":
    main()
