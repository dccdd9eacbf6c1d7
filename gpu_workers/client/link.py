"""The way to the replicas of one worker: connections, limits, one retry, and errors that name whose fault it was."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from pydantic import SecretStr
from yarl import URL

from gpu_workers.client.answer import AnswerError, json_object
from gpu_workers.client.replicas import Replicas
from gpu_workers.errors import WorkerError

MAX_ANSWER_BYTES: Final = 1 << 20
_MAX_ERROR_BYTES: Final = 16 * 1024
_TRIES: Final = 2
_MEND: Final = {
    401: "set the worker's api_key",
    403: "set the worker's api_key",
    404: "check the worker's url and model",
    413: "send less in one request",
    429: "it is full: start more replicas or allow fewer calls",
    503: "it is loading or draining: try again shortly",
}


@dataclass(frozen=True)
class Limits:
    """Seconds a request may take: to connect, without a single byte, and in all."""

    connect_s: float = 1.0
    silence_s: float = 10.0
    total_s: float = 60.0


class WorkerLink:
    """`name` is what errors call the worker: "STT", "LLM", "TTS"."""

    def __init__(
        self,
        name: str,
        urls: str | Sequence[str],
        *,
        api_key: SecretStr | None = None,
        session: aiohttp.ClientSession | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._name = name
        listed = [urls] if isinstance(urls, str) else list(urls)
        self._replicas = Replicas([_checked(name, url) for url in listed])
        self._api_key = api_key
        self._session = session
        self._owned: aiohttp.ClientSession | None = None
        self._limits = limits or Limits()

    async def __aenter__(self) -> Self:
        if self._session is None:
            self._session = self._owned = worker_session()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owned:
            await self._owned.close()
            self._session = self._owned = None

    @asynccontextmanager
    async def exchange(
        self,
        path: str,
        *,
        body: Callable[[], Mapping[str, Any]],
        headers: Mapping[str, str],
        total_s: float | None = None,
    ) -> AsyncIterator["Exchange"]:
        """A request to the first replica that answers with 200. Leaving closes the connection unless all was read.

        `body` gives the arguments of `ClientSession.post` and is called once a try. Raises WorkerError.
        """
        clock = asyncio.get_running_loop().time
        ends = clock() + (total_s if total_s is not None else self._limits.total_s)
        order = self._replicas.order(clock())
        tries = (order * _TRIES)[:_TRIES]
        for number, base in enumerate(tries, 1):
            exchange = Exchange(self, base + path)
            try:
                await exchange.open(body(), headers, ends - clock())
            except WorkerError as error:
                exchange.close()
                self._replicas.failed(base, clock())
                if number == _TRIES or not self._may_try_again(
                    error, same=tries[number] == base, left=ends - clock()
                ):
                    raise
                continue
            self._replicas.answered(base)
            break
        try:
            yield exchange
        finally:
            exchange.close()

    def _may_try_again(self, error: WorkerError, *, same: bool, left: float) -> bool:
        # a worker that says it is full or loading is not asked twice at once
        return error.retryable and left > 0 and not (same and error.status in {429, 503})

    async def post(
        self, url: str, arguments: Mapping[str, Any], headers: Mapping[str, str], left: float
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError(f"the {self._name} client is used outside of its `async with`")
        key = {"Authorization": f"Bearer {self._api_key.get_secret_value()}"} if self._api_key else {}
        limits = self._limits
        timeout = aiohttp.ClientTimeout(
            total=max(left, 0.001), sock_connect=limits.connect_s, sock_read=limits.silence_s
        )
        return await self._session.post(
            url, headers={**headers, **key}, timeout=timeout, allow_redirects=False, **arguments
        )

    def error(self, url: str, what: str, retryable: bool, status: int | None = None) -> WorkerError:
        """Names the worker, its address and the mend; never the key."""
        mend = f" ({_MEND[status]})" if status in _MEND else ""
        text = f"{self._name} worker at {url}: {what}{mend}"
        if self._api_key:
            text = text.replace(self._api_key.get_secret_value(), "***")
        return WorkerError(text, retryable, status, self._name.lower())


class Exchange:
    """One request and its answer; every failure comes out as WorkerError."""

    def __init__(self, link: WorkerLink, url: str) -> None:
        self._link = link
        self._url = url
        self._response: aiohttp.ClientResponse | None = None
        self._pushed_back = b""

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    @property
    def _answer(self) -> aiohttp.ClientResponse:
        if self._response is None:
            raise RuntimeError("the exchange is not open")
        return self._response

    async def open(self, arguments: Mapping[str, Any], headers: Mapping[str, str], left: float) -> None:
        """Sends the request and waits for the first byte of a good answer."""
        with self._failures():
            self._response = await self._link.post(self._url, arguments, headers, left)
            if self._response.status != 200:
                raise await self._refused(self._response)
            self._pushed_back = await self._response.content.readany()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The answer's bytes as they come."""
        if self._pushed_back:
            yield self._pushed_back
        with self._failures():
            async for chunk in self._answer.content.iter_any():
                yield chunk

    async def whole(self) -> Mapping[str, Any]:
        """The answer as a JSON object."""
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise self.error(f"the answer is longer than {MAX_ANSWER_BYTES} bytes", retryable=False)
        try:
            return json_object(bytes(body))
        except AnswerError as error:
            raise self.error(f"the answer is {error}", retryable=True) from error

    def close(self) -> None:
        """Closes the connection where the answer was not read to its end: the worker sees it at once and stops."""
        if self._response is not None:
            self._response.close()

    def error(self, what: str, *, retryable: bool, status: int | None = None) -> WorkerError:
        return self._link.error(self._url, what, retryable, status)

    async def _refused(self, response: aiohttp.ClientResponse) -> WorkerError:
        status = response.status
        retryable = status in {408, 429} or status >= 500
        said = _message(await response.content.read(_MAX_ERROR_BYTES))
        return self.error(
            f"status {status}" + (f", {said}" if said else ""), retryable=retryable, status=status
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """aiohttp's errors come out as WorkerError; cancellation and our own errors pass."""
        try:
            yield
        except (aiohttp.ClientError, TimeoutError) as error:
            what, retryable = _what_failed(error)
            raise self.error(what, retryable=retryable) from error


def _what_failed(error: aiohttp.ClientError | TimeoutError) -> tuple[str, bool]:
    """In words, and whether it may be tried again."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return "no connection in time (is it running, is the url right?)", True
        case aiohttp.SocketTimeoutError():
            return "it fell silent", True
        case TimeoutError():
            return "no answer in time", True
        case aiohttp.ClientConnectorError():
            return (
                f"cannot connect: {error.os_error.strerror or 'refused'} (is it running, is the url right?)"
            ), True
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
            return "the connection broke", True
        case _:
            return f"the answer is no HTTP ({type(error).__name__}; is the url right?)", False


def _checked(name: str, url: str) -> str:
    try:
        parsed = URL(url)
    except ValueError as error:
        raise ValueError(f"the {name} worker's url is not a URL") from error
    if parsed.user or parsed.password:
        raise ValueError(f"the {name} worker's url holds a password; write it as api_key")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ValueError(f"the {name} worker's url {url!r} must look like http://10.0.0.5:8102")
    return url


def _message(body: bytes) -> str:
    """The message of an OpenAI error; nothing else of the body, which may repeat what was sent."""
    try:
        answer = json_object(body)
    except AnswerError:
        return ""
    error = answer.get("error", answer)
    message = error.get("message") if isinstance(error, Mapping) else error
    return message[:300] if isinstance(message, str) else ""


def worker_session() -> aiohttp.ClientSession:
    """One for all clients of a process: no limit of connections, no cookies."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar())
