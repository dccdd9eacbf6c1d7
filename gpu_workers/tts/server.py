"""The voice's process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from gpu_workers.errors import ModelError
from gpu_workers.models import fetch
from gpu_workers.serving import create_app, in_daemon_thread, run_app
from gpu_workers.settings import TtsSettings
from gpu_workers.status import Metrics, Status
from gpu_workers.tts.api import MAX_BODY, routes
from gpu_workers.tts.speaker import Speaker
from gpu_workers.tts.voices import Voice, Voices, named_settings

_WARM_UP = "Hello, one two three."


def run(settings: TtsSettings, cache_dir: Path) -> None:
    """Serves until SIGTERM. Raises ModelError."""
    app, status = app_of(settings, cache_dir)
    run_app(app, settings, status)


def app_of(settings: TtsSettings, cache_dir: Path) -> tuple[FastAPI, Status]:
    """The ASGI app, which loads its voices when it is started, and what it tells of itself."""
    speaker = Speaker(settings.queue_limit)
    status = Status("tts", settings.voice, settings.device, lambda: speaker.waiting, settings.max_calls)

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        voices = await in_daemon_thread(lambda: load(settings, cache_dir, status))
        async with speaker.running(voices, settings.parallel):
            yield

    return create_app(status, Metrics(status), routes(speaker), living, settings.api_key, MAX_BODY), status


def load(settings: TtsSettings, cache_dir: Path, status: Status) -> Voices:
    """The voices of `settings`, fetched if need be and warm. Blocks. Raises ModelError."""
    named = named_settings((settings.voice, *settings.voices))
    return Voices([_load_one(name, which, settings, cache_dir, status) for name, which in named.items()])


def _load_one(name: str, which: str, settings: TtsSettings, cache_dir: Path, status: Status) -> Voice:
    files = fetch(which, cache_dir, status.say)
    status.say(f"loading {which} on {settings.device}")
    try:
        from gpu_workers.tts.piper import PiperSpeech
    except ImportError as error:
        raise ModelError(f"{error.name} is not installed; run: pip install 'voicebot[tts-piper]'") from error
    voice = PiperSpeech(name, files.path, settings.device, settings.threads)
    for _ in voice.sentences(_WARM_UP, 1.0):
        pass
    return voice
