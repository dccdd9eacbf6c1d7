"""Whether a worker is ready: ours, vLLM's bare status, or llama.cpp's small JSON; and whether it serves the model
that requests name.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import aiohttp
from pydantic import SecretStr

from gpu_workers.client.answer import AnswerError, json_object
from gpu_workers.model_name import HOSTED, is_own

_MAX_BYTES: Final = 16 * 1024
_MAX_CHARS: Final = 200
_NO_SUCH_PAGE: Final = 404
_NO_HEALTH: Final = frozenset({401, 403, 404, 405})
_MOST_NAMED: Final = 5


@dataclass(frozen=True)
class Health:
    """`detail` says in words why it is not ready, or what it said; `status` is that of its answer, if there was one.

    `max_calls`: how many calls at a time it says it has room for. `unserved`: in words, that it does not serve the
    model it is asked for.
    """

    ready: bool
    model: str | None = None
    device: str | None = None
    detail: str = ""
    max_calls: int | None = None
    status: int | None = field(default=None, compare=False)
    unserved: str = ""


@dataclass(frozen=True)
class Asked:
    """What requests name: the model, and the setting it stands in. `kind`: stt, llm or tts."""

    kind: str
    model: str
    setting: str


async def health(
    session: aiohttp.ClientSession,
    base_url: str,
    *,
    api_key: SecretStr | None = None,
    timeout_s: float = 1.0,
    asked: Asked | None = None,
) -> Health:
    """Asks `GET /health`, or `/v1/models` of a server that has no such page, as Ray Serve's of vLLM and OpenAI's own.

    With `asked` the latter also of one whose /health names no model. One that is sure to refuse that name is not ready.
    Never raises for a worker that is down: that is an answer too.
    """
    base = base_url.rstrip("/").removesuffix("/v1")
    key = api_key.get_secret_value() if api_key else ""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = aiohttp.ClientTimeout(total=timeout_s)

    async def get(page: str) -> tuple[int, bytes]:
        body = bytearray()
        async with session.get(
            base + page, headers=headers, timeout=timeout, allow_redirects=False
        ) as answer:
            while len(body) < _MAX_BYTES and (piece := await answer.content.read(_MAX_BYTES - len(body))):
                body += piece
        # what it says goes to terminals and web pages
        return answer.status, bytes(body).replace(key.encode(), b"***") if key else bytes(body)

    try:
        status, body = await get("/health")
        listing = b""
        if status == _NO_SUCH_PAGE:
            status, body = await get("/v1/models")
            listing = body
        found = health_of(status, body)
        if asked is None or not found.ready:
            return found
        if not found.model and not listing:
            _, listing = await get("/v1/models")
        return judged(found, asked, base, listing)
    except TimeoutError:
        return Health(False, detail="no answer in time")
    except aiohttp.ClientConnectorError as error:
        return Health(False, detail=f"cannot connect: {error.os_error.strerror or 'refused'}")
    except aiohttp.ClientError as error:
        return Health(False, detail=f"the connection broke ({type(error).__name__})")


async def each_health(
    session: aiohttp.ClientSession,
    base_urls: Sequence[str],
    *,
    api_key: SecretStr | None = None,
    asked: Asked | None = None,
) -> Sequence[Health]:
    """Of equal workers, in their order."""
    return await asyncio.gather(*(health(session, url, api_key=api_key, asked=asked) for url in base_urls))


def together(found: Sequence[Health]) -> Health:
    """Of equal workers: that of the first one that is ready, else that of the first.

    `max_calls` is what all that are ready have room for together; None when one of them names no limit.
    """
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


def judged(found: Health, asked: Asked, base_url: str, listing: bytes) -> Health:
    """`found` with what is known of the model `asked` for; `listing` is what /v1/models answered, if it was asked.

    Our own workers and vLLM refuse every name that they do not list. Others may know more than they list, or take any:
    those stay ready.
    """
    if not found.ready:
        return found
    if found.model:
        served, sure = [found.model], True
        known = is_own(asked.model, found.model) or asked.model in HOSTED[asked.kind]
    else:
        served, sure = _listed(listing)
        known = not served or asked.model in served
    if known:
        return found
    names = ", ".join(served[:_MOST_NAMED]) + (", ..." if len(served) > _MOST_NAMED else "")
    what = (
        f"{base_url} serves {names} and is asked for {asked.model}: write what it serves as {asked.setting}"
    )
    return replace(found, ready=not sure, detail=what if sure else found.detail, unserved=what)


def _listed(body: bytes) -> tuple[list[str], bool]:
    """The names of /v1/models, and whether vLLM wrote them."""
    entries = _json_object(body).get("data")
    models = [one for one in entries if isinstance(one, Mapping)] if isinstance(entries, list) else []
    names = [name for one in models if (name := _text(one.get("id")))]
    return names, bool(names) and all(one.get("owned_by") == "vllm" for one in models)


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return "".join(char if char.isprintable() else " " for char in value)[:_MAX_CHARS]


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        return json_object(body)
    except AnswerError:
        return {}
