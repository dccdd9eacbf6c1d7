"""llama.cpp's own server as a child of this process: started, watched, asked and stopped."""

import asyncio
import json
import logging
import secrets
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import aiohttp
from pydantic import SecretStr

from gpu_workers.client.sse import SseError, SseParser
from gpu_workers.ended import how_it_ended
from gpu_workers.errors import ModelError, RequestError
from gpu_workers.llm.chat_answer import failure_of
from gpu_workers.settings import LlmSettings

log = logging.getLogger(__name__)

_CONNECT_S: Final = 5.0
# it writes after every piece of a prompt and every few tokens
_SILENCE_S: Final = 120.0
_METRICS_S: Final = 1.0
_END_S: Final = 5.0
_REASON_BYTES: Final = 16 * 1024
_GONE: Final = "llama.cpp is not running"


class LlamaEngine:
    """What runs between `started` and its end; `url` and `key` are those of the child's server, on the loopback."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        self._process: asyncio.subprocess.Process | None = None
        self.key = SecretStr(secrets.token_urlsafe(24))
        self.url = ""

    @asynccontextmanager
    async def started(self, model: Path, states: Path) -> AsyncIterator[None]:
        """Loads `model`. Raises ModelError when it cannot be loaded. At the end nothing of it is left."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_SILENCE_S)
        # llama.cpp promises keep-alive but closes after a streamed answer
        connector = aiohttp.TCPConnector(force_close=True, limit=0)
        headers = {"Authorization": f"Bearer {self.key.get_secret_value()}"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "gpu_workers.llm.llama_server",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._process = process
        try:
            self.url = await self._loaded(process, model, states)
            async with aiohttp.ClientSession(
                timeout=timeout, connector=connector, headers=headers
            ) as self._session:
                yield
        finally:
            self._session = None
            await _end(process)

    async def _loaded(self, process: asyncio.subprocess.Process, model: Path, states: Path) -> str:
        """Tells it what to serve; the address it says it serves it at."""
        told = {
            "settings": self._settings.model_dump(mode="json", exclude={"api_key", "warm_talks"}),
            "model": str(model),
            "states": str(states),
            "key": self.key.get_secret_value(),
        }
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the child has no pipes")
        process.stdin.write(json.dumps(told).encode() + b"\n")
        with suppress(ConnectionError):
            await process.stdin.drain()
        line = await process.stdout.readline()
        if not line:
            raise ModelError(f"llama.cpp {how_it_ended(await process.wait())} while loading {model}")
        said = json.loads(line)
        if "error" in said:
            raise ModelError(said["error"])
        return str(said["url"])

    async def failed(self) -> str:
        """Waits until it ends by itself; says how."""
        if self._process is None:
            raise RuntimeError(_GONE)
        how = how_it_ended(await self._process.wait())
        return f"llama.cpp {how} while serving {self._settings.model}"

    async def events(self, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        """The data of each event of the answer, as it comes. Closing this stops the model. Raises RequestError."""
        parser = SseParser()
        try:
            async with self._open.post(f"{self.url}/v1/chat/completions", json=asked) as answer:
                if answer.status != 200:
                    raise failure_of(answer.status, await answer.content.read(_REASON_BYTES))
                async for chunk in answer.content.iter_any():
                    for data in parser.feed(chunk):
                        yield data
        except (aiohttp.ClientError, TimeoutError, SseError) as error:
            what = str(error) or type(error).__name__
            raise RequestError(500, f"llama.cpp failed: {what}", code="engine_failed") from error

    async def metrics(self) -> str:
        """llama.cpp's own, in Prometheus' form; nothing when it is busy with one long step."""
        timeout = aiohttp.ClientTimeout(total=_METRICS_S)
        with suppress(aiohttp.ClientError, TimeoutError, RequestError):
            async with self._open.get(f"{self.url}/metrics", timeout=timeout) as answer:
                return await answer.text() if answer.status == 200 else ""
        return ""

    @property
    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RequestError(503, _GONE, code="loading", retry_after_s=5)
        return self._session


async def _end(process: asyncio.subprocess.Process) -> None:
    """It ends when its input does."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        log.warning("llama.cpp does not end by itself: it is killed")
        process.kill()
        await process.wait()
