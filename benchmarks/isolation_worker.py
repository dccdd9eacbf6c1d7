"""A worker of a voicebot.yaml that is held to some cores: `python -m benchmarks.isolation_worker CORES NAME FILE`.

CORES, such as 0,1, stand in for a device where there is no card.
"""

import os
import sys
from pathlib import Path

from voicebot.config import parse, read_text
from voicebot.worker import run_worker


def main() -> int:
    cores, name, file = sys.argv[1:]
    os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    return run_worker(name, parse(read_text(Path(file)), file, os.environ))


if __name__ == "__main__":
    raise SystemExit(main())
