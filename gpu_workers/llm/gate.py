"""What stands before vLLM's own server, inside its process: it is ready once it is warm and until it drains, and its
line has an end.

vLLM takes it as `--middleware gpu_workers.llm.gate.Gate`; `Terms` come by the environment. It imports nothing that is
not in vLLM's own environment.
"""

import hmac
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_workers.errors import RequestError
from gpu_workers.guard import PREFIX, Guard, answer, route_of
from gpu_workers.llm.line import MAX_BODY, queue_full

VARIABLE: Final = "VOICEBOT_GATE"
WARMING: Final = "x-voicebot-warming"
_WARM_UP_S: Final = 5
_HEALTH: Final = "/health"
# what our other workers answer without a key. vLLM has more, and asks for its key below a few prefixes only:
# POST /invocations is a chat like any other, /scale_elastic_ep and the like rule the server
_WITHOUT_KEY: Final = frozenset({_HEALTH, "/metrics", "/metrics/", "/docs", "/openapi.json"})


@dataclass(frozen=True)
class Terms:
    """`open_file` exists once the server is warm, and `closing` beside it once it is to end. `token` lets the warm-up
    itself in before.

    `running` answers are written side by side, `waiting` more may wait; beyond that it is full.
    """

    open_file: str
    token: str
    running: int
    waiting: int
    model: str
    device: str
    max_calls: int | None = None

    def to_environment(self) -> dict[str, str]:
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls) -> "Terms":
        return cls(**json.loads(os.environ[VARIABLE]))


def closing(open_file: Path) -> Path:
    """The file that tells the gate to take nothing more."""
    return open_file.with_name("closing")


class Gate:
    """ASGI middleware: what is below /v1/, behind 503 until warm, 429 when full, 413 for a body beyond 4 MiB; /health
    as of our other workers; 404 for all else that vLLM has."""

    def __init__(self, app: ASGIApp) -> None:
        self._terms = Terms.from_environment()
        self._app = app
        # the key is vLLM's own to check
        self._guarded = Guard(
            app, refusal=self._refusal, api_key=None, max_body=MAX_BODY, answered=lambda *_: None
        )
        self._was_open = False
        self._busy = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close"})  # before it is accepted: 403
        elif not _is_open_to_anybody(scope) and not route_of(scope).startswith(PREFIX):
            what = f"there is no {scope['method']} {route_of(scope)[:100]} here: requests go below {PREFIX}"
            await answer(RequestError(404, what, code="not_found"), receive, send)
        elif route_of(scope) == _HEALTH:
            await self._health(scope, receive, send)
        elif scope["method"] != "POST" or self._is_warm_up(scope):
            await self._app(scope, receive, send)
        else:
            self._busy += 1
            try:
                await self._guarded(scope, receive, send)
            finally:
                self._busy -= 1

    def _is_warm_up(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(WARMING.encode(), b"")
        return hmac.compare_digest(given, self._terms.token.encode())

    def _phase(self) -> str:
        file = Path(self._terms.open_file)
        if closing(file).exists():
            return "draining"
        # once is enough: who tidies /tmp must not close it
        self._was_open = self._was_open or file.exists()
        return "ready" if self._was_open else "loading"

    def _refusal(self) -> RequestError | None:
        match self._phase():
            case "loading":
                what = "the llm worker is loading: it warms up"
                return RequestError(503, what, code="loading", retry_after_s=_WARM_UP_S)
            case "draining":
                # vLLM listens while its engine drains, and answers each new request with nothing
                return RequestError(503, "the llm worker is draining", code="draining", retry_after_s=1)
        if self._busy > self._terms.running + self._terms.waiting:
            return queue_full(self._terms.waiting)
        return None

    async def _health(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 500

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]

        await self._app(scope, receive, note)
        live = status == 200
        phase = self._phase() if live else "failed"
        ready = phase == "ready"
        said: dict[str, Any] = {
            "live": live,
            "ready": ready,
            "status": phase,
            "model": self._terms.model,
            "device": self._terms.device,
            "queue": max(0, self._busy - self._terms.running),
            "max_calls": self._terms.max_calls,
            "detail": {"loading": "it warms up", "failed": "the engine is dead"}.get(phase, ""),
        }
        await JSONResponse(said, 200 if ready else 503)(scope, receive, send)


def _is_open_to_anybody(scope: Scope) -> bool:
    return scope["method"] in {"GET", "HEAD"} and route_of(scope) in _WITHOUT_KEY
