"""The process that one fuzzer runs in: `python -m tests.fuzz.engine MODULE ARGUMENT...`, libFuzzer's arguments.

Only here is the fuzzer imported: its hooks stay in this process.
"""

import sys
import warnings

import atheris  # type: ignore[import-untyped,unused-ignore]

from tests.fuzz.target import INSTRUMENTED, load


def main(module: str, arguments: list[str]) -> None:
    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        target = load(module)
    # what a test run would fail for is a finding
    warnings.simplefilter("error")
    atheris.Setup([module, *arguments], target.one_input, internal_libfuzzer=True)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
