"""Requests of the tools to the admin's servers. One session for all calls; cookies of one never reach another."""

import asyncio
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Final, Self

import aiohttp
from yarl import URL

from stasis_app.tools.arguments import Value
from stasis_app.tools.request import Answered, filled
from stasis_app.tools.settings import LONGEST_S, HttpRequest

_CONNECT_S: Final = 3.0
_HEADERS: Final = {"Accept": "application/json, text/plain, */*;q=0.5", "User-Agent": "voicebot"}


class ToolRequestError(Exception):
    """No answer could be had; says why, for the log. `late`: not in time."""

    def __init__(self, why: str, *, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


class HttpRequests:
    """What is begun here outlives the turn that began it, and its call too, but not the block.

    The block's end waits for it, since it may change something; where that is cancelled, it is cancelled too.
    """

    def __init__(self) -> None:
        self._begun: set[asyncio.Task[str]] = set()

    async def __aenter__(self) -> Self:
        limit = aiohttp.ClientTimeout(total=None, connect=_CONNECT_S)
        self._session = aiohttp.ClientSession(
            timeout=limit, headers=_HEADERS, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._begun and not (kind and issubclass(kind, asyncio.CancelledError)):
                await asyncio.wait(self._begun, timeout=LONGEST_S)
        finally:
            for task in self._begun:
                task.cancel()
            if self._begun:
                await asyncio.wait(self._begun)
            await self._session.close()

    def begin(self, work: Coroutine[None, None, str]) -> asyncio.Task[str]:
        """A task that no turn ends."""
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return task

    async def send(self, request: HttpRequest, arguments: Mapping[str, Value]) -> Answered:
        """Once, without following redirects: they would carry the headers elsewhere.

        Raises ToolRequestError, and NotOfferedError for a value that cannot be put into the address.
        """
        asked = filled(request, arguments)
        headers = {name: value.get_secret_value() for name, value in request.headers.items()}
        try:
            async with (
                asyncio.timeout(request.timeout_s),
                self._session.request(
                    asked.method,
                    URL(asked.url, encoded=True),
                    json=asked.body,
                    headers=headers,
                    allow_redirects=False,
                ) as answer,
            ):
                body, whole = await _read(answer.content, request.max_answer_bytes)
                return Answered(answer.status, body.decode("utf-8", "replace"), whole)
        except TimeoutError as error:
            raise ToolRequestError(f"no whole answer within {request.timeout_s:g} s", late=True) from error
        except aiohttp.ClientConnectorError as error:
            raise ToolRequestError(f"cannot connect: {error.strerror}") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # its words may hold the address, and that a secret
            raise ToolRequestError(type(error).__name__) from error


async def _read(content: aiohttp.StreamReader, most: int) -> tuple[bytes, bool]:
    body = bytearray()
    while chunk := await content.read(most + 1 - len(body)):
        body += chunk
        if len(body) > most:
            return bytes(body[:most]), False
    return bytes(body), True
