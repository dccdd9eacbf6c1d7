"""Whether a worker is ready: ours, vLLM's bare status, or llama.cpp's small JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from pydantic import SecretStr

from gpu_workers.client.answer import AnswerError, json_object

_MAX_BYTES: Final = 16 * 1024


@dataclass(frozen=True)
class Health:
    """`detail` says in words why it is not ready, or what it said. `max_calls`: how many calls at a time it says it
    has room for.
    """

    ready: bool
    model: str | None = None
    device: str | None = None
    detail: str = ""
    max_calls: int | None = None


async def health(
    session: aiohttp.ClientSession, base_url: str, *, api_key: SecretStr | None = None, timeout_s: float = 1.0
) -> Health:
    """Asks `GET /health`. Never raises for a worker that is down: that is an answer too."""
    url = base_url.rstrip("/").removesuffix("/v1") + "/health"
    headers = {"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {}
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    try:
        async with session.get(url, headers=headers, timeout=timeout, allow_redirects=False) as answer:
            return health_of(answer.status, await answer.content.read(_MAX_BYTES))
    except TimeoutError:
        return Health(False, detail="no answer in time")
    except aiohttp.ClientConnectorError as error:
        return Health(False, detail=f"cannot connect: {error.os_error.strerror or 'refused'}")
    except aiohttp.ClientError as error:
        return Health(False, detail=f"the connection broke ({type(error).__name__})")


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
