"""The recogniser's process."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from prometheus_client import Histogram

from gpu_workers.errors import ModelError
from gpu_workers.models import MODELS, ModelFiles, fetch
from gpu_workers.serving import create_app, in_daemon_thread, run_app
from gpu_workers.settings import SttSettings
from gpu_workers.status import Metrics, Status
from gpu_workers.stt.api import MAX_BODY, routes
from gpu_workers.stt.line import Priority
from gpu_workers.stt.scheduler import Scheduler, Transcript, Utterance

if TYPE_CHECKING:
    from gpu_workers.stt.turn_end import TurnEndModel
    from gpu_workers.stt.whisper import WhisperRecogniser

log = logging.getLogger(__name__)


class _Service:
    """The line and the model behind it, which is there once `living` is entered."""

    def __init__(self, settings: SttSettings, cache_dir: Path) -> None:
        self._settings = settings
        self._cache_dir = cache_dir
        self.status = Status(
            "stt", settings.model, settings.device, lambda: self._scheduler.waiting, settings.max_calls
        )
        self.metrics = Metrics(self.status)
        batches = Histogram(
            "voicebot_stt_batch",
            "Utterances that were decoded at once.",
            registry=self.metrics.registry,
            buckets=(1, 2, 4, 8, 16, 32),
        )
        self._scheduler = Scheduler(settings.queue_limit, batches.observe)
        self._recogniser: WhisperRecogniser | None = None
        self._turn_end: TurnEndModel | None = None

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        recogniser, turn_end = await in_daemon_thread(self._load)
        self._recogniser, self._turn_end = recogniser, turn_end
        with ExitStack() as stack:
            if turn_end is not None:
                stack.enter_context(turn_end)
            async with self._scheduler.running(recogniser, self._settings.copies):
                yield

    async def submit(
        self, utterance: Utterance, priority: Priority, deadline_s: float | None, call_id: str | None
    ) -> Transcript:
        """The words, and unless they are a partial's, whether the turn sounds finished."""
        if self._turn_end is None or priority is Priority.PARTIAL:
            return await self._scheduler.submit(utterance, priority, deadline_s, call_id)
        from gpu_workers.stt.turn_end import in_time

        turn_end = self._turn_end
        votes: list[asyncio.Future[float]] = []
        try:
            transcript = await self._scheduler.submit(
                utterance,
                priority,
                deadline_s,
                call_id,
                lambda: votes.append(turn_end.start(utterance.samples)),
            )
            return replace(transcript, turn_end=await in_time(votes[0]))
        finally:
            for vote in votes:
                vote.cancel()

    def check_language(self, language: str | None) -> None:
        if self._recogniser:
            self._recogniser.check_language(language)

    def _turn_files(self) -> ModelFiles | None:
        """None where there is no network to fetch it from: a machine that worked before it was asked for works on."""
        name = self._settings.turn_model
        try:
            return fetch(name, self._cache_dir, self.status.say) if name else None
        except ModelError as error:
            if name not in MODELS:
                raise
            log.warning("words alone decide when a turn is over: %s", error)
            return None

    def _load(self) -> "tuple[WhisperRecogniser, TurnEndModel | None]":
        settings = self._settings
        files = fetch(settings.model, self._cache_dir, self.status.say)
        turn_files = self._turn_files()
        self.status.say(f"loading {settings.model} on {settings.device}")
        try:
            from gpu_workers.stt.turn_end import TurnEndModel
            from gpu_workers.stt.whisper import WhisperRecogniser
        except ImportError as error:
            raise ModelError(f"{error.name} is not installed; run: pip install 'voicebot[stt]'") from error
        recogniser = WhisperRecogniser(
            files.path,
            settings.device,
            settings.compute_type,
            settings.threads,
            settings.copies,
            settings.beam,
        )
        recogniser.warm_up()
        return recogniser, TurnEndModel(turn_files.path) if turn_files else None


def run(settings: SttSettings, cache_dir: Path) -> None:
    """Serves until SIGTERM. Raises ModelError."""
    app, status = app_of(settings, cache_dir)
    run_app(app, settings, status)


def app_of(settings: SttSettings, cache_dir: Path) -> tuple[FastAPI, Status]:
    """The ASGI app, which loads its model when it is started, and what it tells of itself."""
    service = _Service(settings, cache_dir)
    app = create_app(
        service.status,
        service.metrics,
        routes(service, settings.model, settings.language),
        service.living,
        settings.api_key,
        MAX_BODY,
    )
    return app, service.status
