"""Builders that a Serve config file names in `import_path`: one application for each worker.

A replica is the worker's own ASGI app. Ray finds it, counts what waits, starts another and balances; which request
goes first inside a replica is the worker's business as on one machine.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI
from ray import serve

from gpu_workers.cluster.settings import Replicas, SttApplication, TtsApplication, gpus
from gpu_workers.settings import SttSettings, TtsSettings
from gpu_workers.status import Phase, Status

# a replica that goes away finishes what it has begun; a request lasts seconds
_LEAVE_S: Final = 20.0
_LOOK_S: Final = 0.1
_SURGE_PERCENT: Final = 50
_LOOKS: Final = 2
_THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Build = Callable[[], tuple[FastAPI, Status]]


class _Replica:
    """One replica. It counts as started when its model is loaded, so an update never replaces it by one that loads."""

    def __init__(self, build: Build) -> None:
        self._build = build

    def __serve_build_asgi_app__(self) -> FastAPI:
        app, self._status = self._build()
        return app

    async def check_health(self) -> None:
        """Ray replaces a replica that raises, and takes one for started that does not."""
        while self._status.phase is Phase.LOADING:  # noqa: ASYNC110 - it is loaded once
            await asyncio.sleep(_LOOK_S)
        if self._status.phase is Phase.FAILED:
            raise RuntimeError(self._status.detail)


_WORKER: Final[Any] = serve.deployment(serve.ingress()(_Replica))


def stt(args: SttApplication) -> serve.Application:
    """Speech to text."""

    def build() -> tuple[FastAPI, Status]:
        from gpu_workers.stt.server import app_of

        return app_of(args.worker.model_copy(update={"api_key": args.api_key()}), args.cache_dir)

    return _WORKER.options(**options("stt", args, args.worker, args.worker.copies)).bind(build)


def tts(args: TtsApplication) -> serve.Application:
    """Text to speech."""

    def build() -> tuple[FastAPI, Status]:
        from gpu_workers.tts.server import app_of

        return app_of(args.worker.model_copy(update={"api_key": args.api_key()}), args.cache_dir)

    return _WORKER.options(**options("tts", args, args.worker, args.worker.parallel)).bind(build)


def options(kind: str, replicas: Replicas, worker: SttSettings | TtsSettings, at_once: int) -> dict[str, Any]:
    """Of the deployment. All that a replica's own line has room for is let in: its line knows who may not wait."""
    room = worker.queue_limit + at_once
    threads = str(worker.threads)
    return {
        "name": kind,
        "ray_actor_options": {
            "num_cpus": replicas.cpus,
            "num_gpus": gpus(replicas, worker),
            "resources": replicas.needs,
            "runtime_env": {"env_vars": dict.fromkeys(_THREAD_VARIABLES, threads)},
        },
        "autoscaling_config": {
            "min_replicas": replicas.min_replicas,
            "max_replicas": replicas.max_replicas,
            "target_ongoing_requests": replicas.waiting_per_replica,
            "upscale_delay_s": replicas.upscale_delay_s,
            "downscale_delay_s": replicas.downscale_delay_s,
            # Ray's own 10 and 30 s would make a delay of 5 s one of half a minute
            "metrics_interval_s": replicas.upscale_delay_s / _LOOKS,
            "look_back_period_s": replicas.upscale_delay_s * _LOOKS,
        },
        "max_ongoing_requests": room,
        "max_queued_requests": room,
        # an update starts one that is new before one that is old leaves
        "max_surge_percent": _SURGE_PERCENT,
        "health_check_period_s": 2.0,
        "health_check_timeout_s": 5.0,
        "graceful_shutdown_timeout_s": _LEAVE_S,
        "graceful_shutdown_wait_loop_s": 0.5,
    }
