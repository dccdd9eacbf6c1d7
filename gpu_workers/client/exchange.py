"""One request to a worker and its answer, as bytes or as JSON."""

import asyncio
import errno
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from gpu_workers.client.answer import AnswerError, json_object
from gpu_workers.client.quoting import texts_of, without_quotes
from gpu_workers.client.retry_after import retry_after_s
from gpu_workers.errors import WorkerError

if TYPE_CHECKING:
    from gpu_workers.client.link import WorkerLink

MAX_ANSWER_BYTES: Final = 1 << 20
_MAX_ERROR_BYTES: Final = 16 * 1024
_BUSY: Final = frozenset({429, 503})
# what this process or this machine lacks says nothing of a worker
_OUR_OWN: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})


class Exchange:
    """One request and its answer; every failure comes out as WorkerError, and the link is told how it went."""

    def __init__(self, link: "WorkerLink", base: str, url: str, awaited: bool) -> None:
        self._link = link
        self._base = base
        self._url = url
        self._awaited = awaited
        self._response: aiohttp.ClientResponse | None = None
        self._pushed_back = b""
        self._judged = False
        self._begun: float | None = None
        self._sent: Mapping[str, Any] = {}

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    @property
    def _answer(self) -> aiohttp.ClientResponse:
        if self._response is None:
            raise RuntimeError("the exchange is not open")
        return self._response

    async def open(
        self,
        arguments: Mapping[str, Any],
        headers: Mapping[str, str],
        left: float,
        first_byte_s: float | None,
    ) -> None:
        """Sends the request and waits for the first byte of a good answer, `first_byte_s` at most."""
        clock = asyncio.get_running_loop().time
        asked = self._begun = clock()
        self._sent = arguments.get("json", {})
        try:
            async with asyncio.timeout(first_byte_s) as limit:
                with self._waiting(limit):
                    self._response = await self._link.post(self._url, arguments, headers, left)
                    if self._response.status != 200:
                        raise await self._refused(self._response)
                    self._pushed_back = await self._response.content.readany()
        except TimeoutError as error:
            if not limit.expired():
                raise
            self._judge(self._link.slow, self._base)
            raise self.error("it is slow and another one is asked", retryable=True) from error
        self._link.began(self._base, clock() - asked)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The answer's bytes as they come."""
        if self._pushed_back:
            yield self._pushed_back
        incoming = self._answer.content.iter_any()
        while True:
            with self._waiting():
                chunk = await anext(incoming, None)
            if chunk is None:
                return
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
        if self._response is None:
            self._judge(self._link.undecided, self._base)
        else:
            self._response.close()
            self._judge(self._link.answered, self._base)

    def error(
        self, what: str, *, retryable: bool, status: int | None = None, received: Iterable[str] = ()
    ) -> WorkerError:
        """One that may be tried again counts against this worker. What it quotes of the request, or of what was
        `received`, is left out.
        """
        if retryable:
            self._judge(self._link.failed, self._base, self._begun)
        said = without_quotes(what, chain(texts_of(self._sent), received))
        return self._link.error(self._url, said, retryable, status)

    async def _refused(self, response: aiohttp.ClientResponse) -> WorkerError:
        status = response.status
        retryable = status in {408, 429} or status >= 500
        said = _message(await response.content.read(_MAX_ERROR_BYTES))
        if status in _BUSY:
            self._judge(self._link.busy, self._base, retry_after_s(response.headers.get("Retry-After")))
        return self.error(
            f"status {status}" + (f", {said}" if said else ""), retryable=retryable, status=status
        )

    @contextmanager
    def _waiting(self, limit: asyncio.Timeout | None = None) -> Iterator[None]:
        """aiohttp's errors come out as WorkerError; cancellation and our own errors pass."""
        began = asyncio.get_running_loop().time()
        try:
            yield
        except asyncio.CancelledError:
            if not (limit and limit.expired()):
                waited_s = asyncio.get_running_loop().time() - began if self._awaited else 0.0
                self._judge(self._link.given_up, self._base, waited_s)
            raise
        except (aiohttp.ClientError, TimeoutError) as error:
            if not isinstance(error, aiohttp.ClientError):  # all its time is over, which may have been little
                self._judge(self._link.given_up, self._base, asyncio.get_running_loop().time() - began)
            if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno in _OUR_OWN:
                self._judge(self._link.undecided, self._base)
            what, retryable = _what_failed(error)
            raise self.error(what, retryable=retryable) from error

    def _judge(self, verdict: Callable[..., None], *told: object) -> None:
        """The first verdict holds."""
        if not self._judged:
            self._judged = True
            verdict(*told)


def _what_failed(error: aiohttp.ClientError | TimeoutError) -> tuple[str, bool]:
    """In words, and whether it may be tried again."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return "no connection in time (is it running, is the url right?)", True
        case aiohttp.SocketTimeoutError():
            return "it fell silent", True
        case TimeoutError():
            return "no answer in time", True
        case aiohttp.ClientConnectorError() if error.os_error.errno in _OUR_OWN:
            return f"cannot connect: {error.os_error.strerror} in this process", True
        case aiohttp.ClientConnectorError():
            return (
                f"cannot connect: {error.os_error.strerror or 'refused'} (is it running, is the url right?)"
            ), True
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
            return "the connection broke", True
        case _:
            return f"the answer is no HTTP ({type(error).__name__}; is the url right?)", False


def _message(body: bytes) -> str:
    """The message of an OpenAI error; nothing else of the body, which may repeat what was sent."""
    try:
        answer = json_object(body)
    except AnswerError:
        return ""
    error = answer.get("error", answer)
    message = error.get("message") if isinstance(error, Mapping) else error
    return message[:300] if isinstance(message, str) else ""
