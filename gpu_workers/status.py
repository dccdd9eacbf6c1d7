"""What a worker tells of itself: its phase at /health, its counters at /metrics."""

import logging
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gpu_workers.errors import RequestError

log = logging.getLogger(__name__)

_BUCKETS: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)


class Phase(StrEnum):
    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"


class Status:
    """What a worker tells of itself at /health."""

    def __init__(
        self, kind: str, model: str, device: str, waiting: Callable[[], int], max_calls: int | None = None
    ) -> None:
        """`max_calls`: how many calls at a time it has room for, as its admin says; None: that is not limited."""
        self.kind = kind
        self.max_calls = max_calls
        self.model = model
        self.device = device
        self.waiting = waiting
        self.phase = Phase.LOADING
        self.detail = ""

    def say(self, line: str) -> None:
        """Progress while loading; also logged."""
        self.detail = line
        log.info("%s", line)

    def enter(self, phase: Phase, detail: str = "") -> None:
        """No way leads back: what has failed stays so, and what drains is not ready again when its model is there."""
        drains_on = self.phase is Phase.DRAINING and phase is not Phase.FAILED
        if self.phase is not Phase.FAILED and not drains_on:
            self.phase, self.detail = phase, detail

    def refusal(self) -> RequestError | None:
        """What a request gets in this phase; None: it is served."""
        if self.phase is Phase.READY:
            return None
        wait = {Phase.LOADING: 5, Phase.DRAINING: 1}.get(self.phase)
        message = f"the {self.kind} worker is {self.phase}: {self.detail}".rstrip(": ")
        return RequestError(503, message, code=str(self.phase), retry_after_s=wait)

    def health(self) -> dict[str, object]:
        return {
            "live": self.phase is not Phase.FAILED,
            "ready": self.phase is Phase.READY,
            "status": str(self.phase),
            "model": self.model,
            "device": self.device,
            "queue": self.waiting(),
            "max_calls": self.max_calls,
            "detail": self.detail,
        }


class Metrics:
    """What every worker counts; a worker adds its own to `registry`.

    `engine`: what the engine behind it tells, in the same text form.
    """

    def __init__(self, status: Status, engine: Callable[[], Awaitable[str]] | None = None) -> None:
        self.registry = CollectorRegistry()
        name = f"voicebot_{status.kind}"
        self.requests = Counter(
            f"{name}_requests", "Requests by HTTP status.", ["status"], registry=self.registry
        )
        self.seconds = Histogram(
            f"{name}_seconds",
            "Request to the first byte of the answer.",
            registry=self.registry,
            buckets=_BUCKETS,
        )
        queue = Gauge(f"{name}_queue", "Requests that wait for the model.", registry=self.registry)
        queue.set_function(status.waiting)
        ready = Gauge(f"{name}_ready", "1 while requests are served.", registry=self.registry)
        ready.set_function(lambda: status.phase is Phase.READY)

        self._engine = engine

    async def text(self) -> bytes:
        """For Prometheus."""
        own = generate_latest(self.registry)
        return own + (await self._engine()).encode() if self._engine else own

    def answered(self, status: int, seconds: float) -> None:
        self.requests.labels(status).inc()
        self.seconds.observe(seconds)
