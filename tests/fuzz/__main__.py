"""`python -m tests.fuzz [NAME...] [--seconds 20]`: hunts for inputs that no parser may fail on. `make fuzz` calls it.

`--input HEX` or `--file FILE` tries one input, as a finding's report says.
"""

import argparse
import faulthandler
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.hunt import Hunt, Limits, hunt
from tests.fuzz.target import (
    CORPUS,
    FOUND,
    NAMES,
    ROOT,
    TIMEOUT_S,
    has_fuzzer_wheel,
    inputs,
    load,
    module_of,
    try_one,
)

_STDERR = 2
_REPLAY_S = 3 * TIMEOUT_S


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if options.input is not None:
        return _replay(options.names[0], options.input)
    if importlib.util.find_spec("atheris") is not None:
        return _hunt_all(options.names, Limits(options.seconds, options.seed), options.jobs)
    if has_fuzzer_wheel():
        print("fuzz: the fuzzer (atheris) is not installed: run scripts/setup.sh dev", file=sys.stderr)
        return 2
    print("fuzz: the fuzzer (atheris) has no package for this machine: only the corpus is replayed")
    return max((_replay(name, path.read_bytes()) for name, path in inputs(options.names)), default=0)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all if none is given"
    )
    parser.add_argument("--seconds", type=int, default=20, help="for each target (20)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="targets at once (2)")
    parser.add_argument(
        "--seed",
        type=int,
        help="nearly the same inputs at each run of the same code; not given: others each time",
    )
    parser.add_argument("--input", metavar="HEX", type=bytes.fromhex, help="try only this input")
    parser.add_argument("--file", dest="input", type=_contents, help="try only this file")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no target {unknown[0]!r}: there are {', '.join(NAMES)}")
    if options.input is not None and len(options.names) != 1:
        parser.error("--input and --file need the NAME of one target")
    options.names = options.names or list(NAMES)
    return options


def _contents(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from error


def _replay(name: str, data: bytes) -> int:
    # a loop without end ends the process, and its stack is shown
    faulthandler.dump_traceback_later(TIMEOUT_S, exit=True, file=_STDERR)
    try:
        failure = try_one(load(module_of(name)).one_input, data)
    finally:
        faulthandler.cancel_dump_traceback_later()
    if failure is None:
        return 0
    print(f"fuzz {name}: an input of {len(data)} bytes fails\n{failure}", file=sys.stderr)
    return 1


def _hunt_all(names: Sequence[str], limits: Limits, jobs: int) -> int:
    # before any thread: dataclasses looks into modules that another thread may be halfway through importing
    targets = {name: load(module_of(name)) for name in names}

    def one(name: str) -> Hunt:
        began = time.monotonic()
        result = hunt(module_of(name), targets[name], CORPUS / name, FOUND / name, limits)
        state = "FOUND" if result.found else "FAILED" if result.trouble else "ok"
        print(
            f"fuzz {name}: {state}, {result.executed} inputs in {time.monotonic() - began:.0f} s,"
            f" {result.covered} branches",
            flush=True,
        )
        return result

    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(one, names))
    for name, result in zip(names, results, strict=True):
        for path in result.found:
            _report(name, path)
        if result.trouble:
            tail = "\n".join(result.log.read_text(errors="replace").splitlines()[-30:])
            print(
                f"\nfuzz {name}: {result.trouble}. The end of {_shown(result.log)}:\n{tail}", file=sys.stderr
            )
    return int(any(result.found or result.trouble for result in results))


def _report(name: str, path: Path) -> None:
    data = path.read_bytes()
    print(
        f"\nfuzz {name}: an input of {len(data)} bytes fails ({path.name.partition('-')[0]}).",
        file=sys.stderr,
    )
    print(f"  replay: .venv/bin/python -m tests.fuzz {name} --input {data.hex()}", file=sys.stderr)
    print(f"  keep it, once mended: cp {_shown(path)} tests/fuzz/corpus/{name}/found-WHAT", file=sys.stderr)
    print(_without_fuzzer(name, path), file=sys.stderr)


def _without_fuzzer(name: str, path: Path) -> str:
    """What the input does in a plain process: the traceback is not full of the fuzzer's own frames."""
    command = [sys.executable, "-m", "tests.fuzz", name, "--file", str(path)]
    try:
        plain = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_REPLAY_S
        )
    except subprocess.TimeoutExpired:
        return f"  it runs on for more than {_REPLAY_S} s"
    if plain.returncode == 0:
        return f"  alone, without the fuzzer, it does not fail: see {_shown(FOUND / name / 'log')}"
    return plain.stderr


def _shown(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


if __name__ == "__main__":
    sys.exit(main())
