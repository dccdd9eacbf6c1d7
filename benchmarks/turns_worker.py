"""The STT worker of a voicebot.yaml on another port: `python -m benchmarks.turns_worker FILE PORT`."""

import os
import sys
from pathlib import Path

from voicebot.config import parse, read_text
from voicebot.worker import run_worker


def main() -> int:
    file, port = Path(sys.argv[1]), int(sys.argv[2])
    config = parse(read_text(file), str(file), os.environ)
    stt = config.workers.stt.model_copy(update={"port": port, "host": "127.0.0.1", "api_key": None})
    workers = config.workers.model_copy(update={"stt": stt})
    return run_worker("stt", config.model_copy(update={"workers": workers}))


if __name__ == "__main__":
    raise SystemExit(main())
