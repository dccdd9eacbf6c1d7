"""`make test-vllm` needs vLLM for a CPU and Ray in an environment of their own, and the small model as safetensors.

python -m tests.vllm.prepare
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.environment import REQUIREMENTS, Packages, PeerMissingError, environment
from gpu_workers.errors import ModelError
from gpu_workers.models import fetch
from voicebot.cache import default_cache_dir

# vLLM and PyTorch are built for each Python; the hashes are those of 3.11 on x86-64
VLLM = Packages("vllm", "750 MB to download, 3.0 GB on disk", REQUIREMENTS)
PYTHONS = ((3, 11),)
MODEL = "smollm2-135m"
_CONVERT = Path(__file__).with_name("convert.py")


def python() -> Path:
    """The interpreter that has vLLM. Raises PeerMissingError."""
    return environment(VLLM, PYTHONS, print)


def model() -> Path:
    """The folder of the model. Raises ModelError, CalledProcessError."""
    folder = default_cache_dir() / "vllm" / MODEL
    if not (folder / "config.json").exists():
        gguf = fetch(MODEL, default_cache_dir(), print).path
        print(f"Making safetensors of {gguf.name} (270 MB) in {folder}, half a minute.", flush=True)
        part = folder.with_name(f"{MODEL}.{os.getpid()}.part")
        try:
            subprocess.run([str(python()), str(_CONVERT), str(gguf), str(part)], check=True)
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def main() -> int:
    try:
        print(f"vLLM: {python()}\nmodel: {model()}")
    except PeerMissingError as error:
        print(
            f"test-vllm: vLLM {error}. Where the package index has no torch ...+cpu, let PIP_EXTRA_INDEX_URL or "
            "PIP_FIND_LINKS name PyTorch's own CPU builds (pytorch.org, Get Started, CPU).",
            file=sys.stderr,
        )
        return 2
    except ModelError as error:
        print(f"test-vllm: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
