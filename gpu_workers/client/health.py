"""Whether a worker is ready: ours, vLLM's bare status, or llama.cpp's small JSON."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import aiohttp
from pydantic import SecretStr

from gpu_workers.client.answer import AnswerError, json_object

_MAX_BYTES: Final = 16 * 1024
_NO_SUCH_PAGE: Final = 404
_NO_HEALTH: Final = frozenset({401, 403, 404, 405})


@dataclass(frozen=True)
class Health:
    """`detail` says in words why it is not ready, or what it said; `status` is that of its answer, if there was one.

    `max_calls`: how many calls at a time it says it has room for.
    """

    ready: bool
    model: str | None = None
    device: str | None = None
    detail: str = ""
    max_calls: int | None = None
    status: int | None = field(default=None, compare=False)


async def health(
    session: aiohttp.ClientSession, base_url: str, *, api_key: SecretStr | None = None, timeout_s: float = 1.0
) -> Health:
    """Asks `GET /health`, or `/v1/models` of a server that has no such page, as Ray Serve's of vLLM and OpenAI's own.

    Never raises for a worker that is down: that is an answer too.
    """
    base = base_url.rstrip("/").removesuffix("/v1")
    headers = {"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {}
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    try:
        for url in (f"{base}/health", f"{base}/v1/models"):
            async with session.get(url, headers=headers, timeout=timeout, allow_redirects=False) as answer:
                found = health_of(answer.status, await answer.content.read(_MAX_BYTES))
                if answer.status != _NO_SUCH_PAGE:
                    break
        return found
    except TimeoutError:
        return Health(False, detail="no answer in time")
    except aiohttp.ClientConnectorError as error:
        return Health(False, detail=f"cannot connect: {error.os_error.strerror or 'refused'}")
    except aiohttp.ClientError as error:
        return Health(False, detail=f"the connection broke ({type(error).__name__})")


async def any_health(
    session: aiohttp.ClientSession, base_urls: Sequence[str], *, api_key: SecretStr | None = None
) -> Health:
    """Of equal workers: that of the first one that is ready, else that of the first.

    `max_calls` is what all that are ready have room for together; None when one of them names no limit.
    """
    found = await asyncio.gather(*(health(session, url, api_key=api_key) for url in base_urls))
    ready = [one for one in found if one.ready]
    if not ready:
        return found[0]
    rooms = [one.max_calls for one in ready if one.max_calls is not None]
    return replace(ready[0], max_calls=sum(rooms) if len(rooms) == len(ready) else None)


async def takes_requests(
    session: aiohttp.ClientSession, base_url: str, *, api_key: SecretStr | None, timeout_s: float
) -> bool:
    """Whether a request is worth a try: it says it is ready, or answers and has no /health to say so."""
    found = await health(session, base_url, api_key=api_key, timeout_s=timeout_s)
    return found.ready or found.status in _NO_HEALTH


def health_of(status: int, body: bytes) -> Health:
    said = _json_object(body)
    ready = said.get("ready")
    error = said.get("error")
    message = error.get("message") if isinstance(error, Mapping) else said.get("status") or said.get("detail")
    return Health(
        ready=status == 200 and (ready if isinstance(ready, bool) else True),
        model=_text(said.get("model")),
        device=_text(said.get("device")),
        detail=_text(message) or ("" if status == 200 else f"status {status}"),
        max_calls=_count(said.get("max_calls")),
        status=status,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _text(value: object) -> str | None:
    return value[:200] if isinstance(value, str) else None


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        return json_object(body)
    except AnswerError:
        return {}
