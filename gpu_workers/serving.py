"""The life of a model worker: it listens at once, loads its model meanwhile, serves, drains on SIGTERM.

What a worker brings is an `Engine`: an asynchronous context manager that has loaded the model when it is entered.
"""

import asyncio
import concurrent.futures
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from types import FrameType
from typing import Any, Final, TypeVar

import uvicorn
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, SecretStr
from starlette.exceptions import HTTPException

from gpu_workers.door import Door
from gpu_workers.errors import ErrorType, GpuWorkersError, ModelError, RequestError
from gpu_workers.guard import Guard
from gpu_workers.settings import WorkerSettings
from gpu_workers.signals import DRAIN_S, on_signal
from gpu_workers.status import Metrics, Phase, Status

log = logging.getLogger(__name__)

T = TypeVar("T")
Engine = Callable[[], AbstractAsyncContextManager[None]]

# longer than a caller thinks: the next turn finds its connection open
_KEEP_ALIVE_S: Final = 75
_CLIENT_CLOSED: Final = 499
# asyncio accepts up to this many before the first of them is met, and without descriptors writes as many tracebacks
_ACCEPTED_AT_ONCE: Final = 128


class _Fault(BaseModel):
    message: str
    type: ErrorType
    param: str | None
    code: str


class ErrorBody(BaseModel):
    """What every refused request gets, as the OpenAI API has it."""

    error: _Fault


_FAULTS: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {
        "model": ErrorBody,
        "description": "The request is at fault, or too many wait (429, with Retry-After)",
    },
    "5XX": {"model": ErrorBody, "description": "The model failed, or is loading or draining (503)"},
}


def create_app(
    status: Status,
    metrics: Metrics,
    router: APIRouter,
    engine: Engine,
    api_key: SecretStr | None,
    max_body: int,
) -> FastAPI:
    """The ASGI app of a worker. `max_body` is the most bytes one request may have."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        stop, loaded = asyncio.Event(), asyncio.Event()
        living = asyncio.create_task(_live(status, engine, loaded, stop))
        try:
            yield
        finally:
            stop.set()
            if not loaded.is_set():  # nobody waits for the rest of a model, or of its download
                living.cancel()
            await asyncio.wait({living})

    app = FastAPI(title=f"voicebot {status.kind} worker", lifespan=lifespan, redoc_url=None)
    app.include_router(router, responses=_FAULTS)
    app.add_api_route(
        "/health", _health_route(status), methods=["GET"], responses={503: {"description": "Not ready"}}
    )
    app.add_api_route(
        "/metrics",
        _metrics_route(metrics),
        methods=["GET"],
        response_class=PlainTextResponse,
    )
    app.add_exception_handler(RequestError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(
        Guard,
        refusal=status.refusal,
        api_key=api_key,
        max_body=max_body,
        answered=metrics.answered,
    )
    return app


async def _live(status: Status, engine: Engine, loaded: asyncio.Event, stop: asyncio.Event) -> None:
    """From loading to the end; a failure is kept in `status` and ends the process (see `_Server`)."""
    try:
        async with engine():
            loaded.set()
            status.enter(Phase.READY)
            if status.phase is Phase.READY:
                log.info("%s worker ready: %s on %s", status.kind, status.model, status.device)
            await stop.wait()
    except GpuWorkersError as error:
        status.enter(Phase.FAILED, str(error))
    # of the model's library, or a defect of ours: nobody else would ask this task how it ended
    except Exception as error:
        log.exception("the %s worker's engine failed", status.kind)
        status.enter(Phase.FAILED, f"the engine ended by itself with {type(error).__name__}, see the log")


def _health_route(status: Status) -> Callable[[], Coroutine[Any, Any, JSONResponse]]:
    async def health() -> JSONResponse:
        return JSONResponse(status.health(), 200 if status.phase is Phase.READY else 503)

    return health


def _metrics_route(metrics: Metrics) -> Callable[[], Coroutine[Any, Any, Response]]:
    async def prometheus() -> Response:
        return Response(await metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return prometheus


def refuse(error: RequestError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The OpenAI-shaped answer for `error`."""
    retry = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    return JSONResponse(error.body(), error.status, {**(headers or {}), **retry})


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, RequestError):
        raise error
    return refuse(error)


async def _invalid(_: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return refuse(RequestError(400, "the body is not JSON", code="invalid_json"))
    param = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return refuse(RequestError(400, f"{param}: {first['msg']}", code="invalid_value", param=param))


async def _http_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return refuse(RequestError(error.status_code, str(error.detail), code="http_error"), error.headers)


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled at once when the client goes away. The body must have been read."""
    doing = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_until_gone(request))
    try:
        await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise RequestError(_CLIENT_CLOSED, "the client closed the connection", code="client_closed")
        return doing.result()
    finally:
        doing.cancel()
        gone.cancel()
        await asyncio.wait({doing, gone})


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """The result of blocking `work`. Cancelling leaves the thread to itself; it does not hold up the process's end."""
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - not kept here: whoever waits gets it
            future.set_exception(error)

    threading.Thread(target=run, name="load", daemon=True).start()
    return await asyncio.wrap_future(future)


class _Server(uvicorn.Server):
    """Drains on a signal, returns instead of raising it again, and ends when the worker failed.

    A second signal cuts off the answers that the first one lets end.
    """

    def __init__(self, config: uvicorn.Config, status: Status) -> None:
        super().__init__(config)
        self._status = status

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with on_signal(self.handle_exit):
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._status.phase is Phase.DRAINING:
            # wakes the loop, which this handler has only interrupted
            asyncio.get_running_loop().call_soon_threadsafe(self._cut_off)
        self._status.enter(Phase.DRAINING)
        self.should_exit = True

    def _cut_off(self) -> None:
        """To the requests it is as if their clients had gone: they end as they do then."""
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._status.phase is Phase.FAILED


def config_of(app: FastAPI) -> uvicorn.Config:
    """How a worker is served."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        http=Door,
        backlog=_ACCEPTED_AT_ONCE,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=DRAIN_S,
    )


def run_app(app: FastAPI, settings: WorkerSettings, status: Status) -> None:
    """Serves until SIGTERM or Ctrl-C. Raises ModelError when the port is taken or the model cannot be loaded."""
    listening = _listen(settings.host, settings.port, status.kind)
    with listening:
        asyncio.run(_Server(config_of(app), status).serve(sockets=[listening]))
    if status.phase is Phase.FAILED:
        raise ModelError(status.detail)


def _listen(host: str, port: int, kind: str) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise ModelError(
            f"the {kind} worker cannot listen on {host}:{port}: {error.strerror or error}; "
            f"is another one running? workers.{kind}.port sets another port"
        ) from error


def device_index(device: str) -> int:
    """The CUDA index in this process. `cuda:1` is index 0 where CUDA_VISIBLE_DEVICES shows one card only."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and "," not in visible:
        return 0
    number = device.partition(":")[2]
    if number and not number.isdecimal():
        raise ModelError(f"device {device!r} must look like cpu, cuda or cuda:1")
    return int(number or 0)
