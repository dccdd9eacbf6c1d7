"""What stands before every worker: its phase, the key, the size of a request, and counting."""

import asyncio
import hmac
import json
import time
from collections.abc import Callable
from typing import Final

from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_workers.errors import RequestError

PREFIX: Final = "/v1/"
_LINGER_S: Final = 1.0
_LINGER_BYTES: Final = 64 * 1024 * 1024


class Guard:
    """ASGI middleware for the paths below /v1/; `answered` is told the status and the seconds to the first byte."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        refusal: Callable[[], RequestError | None],
        api_key: SecretStr | None,
        max_body: int,
        answered: Callable[[int, float], None],
    ) -> None:
        self._app = app
        self._refusal = refusal
        self._expected = f"Bearer {api_key.get_secret_value()}".encode() if api_key else None
        self._max_body = max_body
        self._answered = answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not route_of(scope).startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        began = time.monotonic()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answered(message["status"], time.monotonic() - began)
            await send(message)

        headers = dict(scope["headers"])
        error = self._unauthorised(headers) or self._refusal() or self._too_large(headers)
        if error:
            await answer(error, receive, counted)
            return
        await self._limited(scope, receive, counted)

    def _unauthorised(self, headers: dict[bytes, bytes]) -> RequestError | None:
        if self._expected is None or hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
            return None
        return RequestError(
            401, "wrong or missing API key: send it as `Authorization: Bearer KEY`", code="invalid_api_key"
        )

    def _too_large(self, headers: dict[bytes, bytes]) -> RequestError | None:
        said = headers.get(b"content-length", b"")
        return self._too_large_error() if said.isdigit() and int(said) > self._max_body else None

    def _too_large_error(self) -> RequestError:
        return RequestError(
            413, f"the request is larger than {self._max_body} bytes", code="request_too_large"
        )

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A body without a stated length is counted while it comes."""
        size = 0

        async def count() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            # for the app the client is gone; its answer to that is not sent
            return {"type": "http.disconnect"} if size > self._max_body else message

        async def unless_too_large(message: Message) -> None:
            if size <= self._max_body:
                await send(message)

        await self._app(scope, count, unless_too_large)
        if size > self._max_body:
            await answer(self._too_large_error(), receive, send)


def route_of(scope: Scope) -> str:
    """The path below where the app is mounted: a proxy's prefix is no way around the key."""
    path, mounted_at = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    return path.removeprefix(mounted_at) if path.startswith(f"{mounted_at}/") else path


async def answer(error: RequestError, receive: Receive, send: Send) -> None:
    """Refuses the request as OpenAI's API does; the connection is closed behind it."""
    body = json.dumps(error.body()).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if error.retry_after_s is not None:
        headers.append((b"retry-after", str(error.retry_after_s).encode()))
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    await _linger(receive)
    await send({"type": "http.response.body", "body": b""})


async def _linger(receive: Receive) -> None:
    """Throws away what the client still sends, for a while: closing on it would reset the connection and take the
    answer with it before the client has read it (RFC 9112 section 9.6)."""
    left = _LINGER_BYTES
    try:
        async with asyncio.timeout(_LINGER_S):
            while left > 0:
                message = await receive()
                if not message.get("more_body"):
                    return
                left -= len(message["body"])
    except TimeoutError:
        return
