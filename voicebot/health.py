"""How the parts are, told by themselves over HTTP."""

import json
from dataclasses import dataclass

import aiohttp

from gpu_workers.client import health
from gpu_workers.settings import WorkerSettings

_MAX_BYTES = 65_536
_LIMIT = aiohttp.ClientTimeout(total=2.0)


@dataclass(frozen=True)
class State:
    """Of one part. `why` is empty exactly when it is ready; `about` is the model it runs, where it tells."""

    why: str
    device: str = "-"
    about: str = ""

    @property
    def ready(self) -> bool:
        return not self.why


async def worker_state(http: aiohttp.ClientSession, worker: WorkerSettings) -> State:
    """GET /health of a model worker, ours or any other server. Never raises for what the far end does."""
    answer = await health(http, worker.base_url, api_key=worker.api_key)
    why = "" if answer.ready else answer.detail or "not ready"
    return State(why, answer.device or "-", answer.model or "")


async def call_state(http: aiohttp.ClientSession, base_url: str) -> State:
    """GET /ready of the call process; `why` names the parts that it waits for. Never raises for what it answers."""
    try:
        async with http.get(f"{base_url}/ready", timeout=_LIMIT) as response:
            status, raw = response.status, await response.content.read(_MAX_BYTES)
    except TimeoutError:
        return State("no answer in time")
    except aiohttp.ClientConnectorError as error:
        return State(f"cannot connect: {error.os_error.strerror or 'refused'}")
    except aiohttp.ClientError as error:
        return State(f"the connection broke ({type(error).__name__})")
    if status == 200:
        return State("")
    waits = ", ".join(name for name, why in _parts(raw).items() if why != "ready")
    return State(f"waits for {waits}" if waits else f"status {status}")


def _parts(raw: bytes) -> dict[str, object]:
    try:
        parts = json.loads(raw)["parts"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return {}
    return parts if isinstance(parts, dict) else {}
