"""Text to speech behind `POST /v1/audio/speech`. Stateless: a request holds all it needs."""

from pathlib import Path

from gpu_workers.settings import TtsSettings


def serve(settings: TtsSettings, cache_dir: Path) -> None:
    """Runs the worker until SIGTERM. Raises ModelError when its port is taken or its voice cannot be had."""
    from gpu_workers.tts.server import (
        run,  # the model's libraries read the environment when they are imported
    )

    run(settings, cache_dir)
