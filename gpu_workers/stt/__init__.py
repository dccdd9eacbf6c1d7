"""Speech to text: Whisper behind `POST /v1/audio/transcriptions`. Stateless: a request holds all it needs."""

from pathlib import Path

from gpu_workers.settings import SttSettings


def serve(settings: SttSettings, cache_dir: Path) -> None:
    """Runs the worker until SIGTERM. Raises ModelError when its port is taken or its model cannot be had."""
    from gpu_workers.stt.server import (
        run,
    )  # the model's libraries read the environment when they are imported

    run(settings, cache_dir)
