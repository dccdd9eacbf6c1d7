"""One hunt: the fuzzer on one target for so many seconds, in a process of its own, and what it found."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.target import ROOT, TIMEOUT_S, Target

# importing and instrumenting on a slow machine, and the end of the last input
_AROUND_S = 120
_FAILURES = ("crash", "timeout", "oom")
_EXECUTED = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
_COVERED = re.compile(r"\bcov: (\d+)")


@dataclass(frozen=True)
class Limits:
    """How long a hunt takes, and what one input may take. `seed`: nearly the same inputs each time; None: others."""

    seconds: int
    seed: int | None = None
    timeout_s: int = TIMEOUT_S
    memory_mib: int = 1024


@dataclass(frozen=True)
class Hunt:
    """What a hunt came to. `found` are the inputs that failed; `log` is all that the fuzzer wrote."""

    executed: int
    covered: int
    found: tuple[Path, ...]
    log: Path
    trouble: str | None = None
    """Why the fuzzer ended early although no input is at fault."""


def hunt(module: str, target: Target, seeds: Path, out: Path, limits: Limits) -> Hunt:
    """`seeds` is the corpus, `out` a folder for what is found; inputs that only reach new code stay in `out/new`."""
    for kind in (*_FAILURES, "slow-unit"):
        for old in out.glob(f"{kind}-*"):
            old.unlink()
    if limits.seed is not None:
        # nearly the same inputs in the same order, as long as the code is the same
        shutil.rmtree(out / "new", ignore_errors=True)
    (out / "new").mkdir(parents=True, exist_ok=True)
    tokens = out / "tokens"
    tokens.write_text("".join(map(_quoted, target.tokens)))
    arguments = [
        f"-max_total_time={limits.seconds}",
        f"-max_len={target.max_len}",
        f"-timeout={limits.timeout_s}",
        f"-rss_limit_mb={limits.memory_mib}",
        f"-dict={tokens}",
        f"-artifact_prefix={out}/",
        *([f"-seed={limits.seed}"] if limits.seed is not None else []),
        # looks at the folder again each second, which no two runs do at the same input
        "-reload=0",
        "-detect_leaks=0",
        "-print_final_stats=1",
        str(out / "new"),
        str(seeds),
    ]
    log = out / "log"
    status = _run([sys.executable, "-m", "tests.fuzz.engine", module, *arguments], log, limits.seconds)
    said = log.read_text(errors="replace")
    found = tuple(sorted(path for kind in _FAILURES for path in out.glob(f"{kind}-*")))
    executed, covered = _number(_EXECUTED, said), _number(_COVERED, said)
    trouble = None
    if not found and status != 0:
        trouble = f"the fuzzer ended with status {status}"
    elif not found and not (executed and covered):
        trouble = "the fuzzer saw no code run: nothing guides it"
    return Hunt(executed, covered, found, log, trouble)


def _run(command: Sequence[str], log: Path, seconds: int) -> int | str:
    # sets and dictionaries in the same order each time
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    with log.open("wb") as written:
        try:
            return subprocess.run(
                command, cwd=ROOT, env=environ, stdout=written, stderr=written, stdin=subprocess.DEVNULL,
                check=False, timeout=seconds + _AROUND_S,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"none: it did not end {_AROUND_S} s after its time"


def _quoted(token: bytes) -> str:
    """A line of libFuzzer's dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n'


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.findall(text)
    return int(found[-1]) if found else 0
