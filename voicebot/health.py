"""What the parts say about themselves over HTTP."""

import json
from dataclasses import dataclass

import aiohttp

_LIMIT = aiohttp.ClientTimeout(total=2.0)
_MAX_BYTES = 65_536


@dataclass(frozen=True)
class Health:
    """`why` is empty exactly when the part is ready. `about`: the model it runs, where it tells."""

    why: str
    device: str = "-"
    about: str = ""

    @property
    def ready(self) -> bool:
        return not self.why


def session() -> aiohttp.ClientSession:
    """For `worker_health` and `call_health`; proxies of the environment are not asked about our own machine."""
    return aiohttp.ClientSession(timeout=_LIMIT, connector=aiohttp.TCPConnector(force_close=True))


async def worker_health(http: aiohttp.ClientSession, base_url: str) -> Health:
    """GET /health of a model worker, ours or any other server. Never raises for what the far end does."""
    status, body = await _get(http, f"{base_url}/health")
    if status is None:
        return Health(str(body["error"]))
    ready = status == 200 and body.get("ready", True) is True
    why = "" if ready else str(body.get("detail") or f"answers HTTP {status}")
    return Health(why, str(body.get("device") or "-"), str(body.get("model") or ""))


async def call_health(http: aiohttp.ClientSession, base_url: str) -> Health:
    """GET /ready of the call process; `why` names each part that it waits for."""
    status, body = await _get(http, f"{base_url}/ready")
    if status is None:
        return Health(str(body["error"]))
    parts = body.get("parts")
    waits = parts if isinstance(parts, dict) else {}
    named = [f"{name}: {why}" for name, why in waits.items() if why != "ready"]
    return Health("" if status == 200 else "; ".join(named) or f"answers HTTP {status}")


def _json_object(raw: bytes) -> dict[str, object]:
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


async def _get(http: aiohttp.ClientSession, url: str) -> tuple[int | None, dict[str, object]]:
    """The status and the JSON object of the answer ({} for any other); or None and {"error": ...}."""
    try:
        async with http.get(url) as response:
            raw = await response.content.read(_MAX_BYTES)
            return response.status, _json_object(raw)
    except TimeoutError:
        return None, {"error": "does not answer"}
    except aiohttp.ClientConnectorError:
        return None, {"error": "does not listen yet"}
    except (aiohttp.ClientError, OSError) as error:
        return None, {"error": f"cannot be asked: {error or type(error).__name__}"}
