"""The way to the replicas of one worker: connections, limits, one retry, and errors that name whose fault it was."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from pydantic import SecretStr
from yarl import URL

from gpu_workers.client.exchange import Exchange
from gpu_workers.client.health import takes_requests
from gpu_workers.client.replicas import FAILURES, Replicas
from gpu_workers.errors import WorkerError

log = logging.getLogger(__name__)

_TRIES: Final = 2
_MOMENT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 1.0  # for a worker that is full: a caller bears no more before an apology
_REST_S: Final = 1.0  # one that is full and does not say for how long
_OPEN_S: Final = 2.0  # from an opening of the breaker to the first health probe
_PROBE_S: Final = 1.0
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
    """Seconds a request may take: to connect, without a single byte, and in all.

    Where another replica is well it is asked after `other_s` without a byte. A request that its caller gives up after
    `late_s` of waiting was let down by the worker.
    """

    connect_s: float = 1.0
    silence_s: float = 10.0
    total_s: float = 60.0
    other_s: float = 1.5
    late_s: float = 3.0


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
        self._given_session = session
        self._session: aiohttp.ClientSession | None = None
        self._probes: dict[str, asyncio.Task[None]] = {}
        self.limits = limits or Limits()

    async def __aenter__(self) -> Self:
        self._session = self._given_session or worker_session()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        for probe in self._probes.values():
            probe.cancel()
        if self._probes:
            await asyncio.wait(self._probes.values())
        if session and not self._given_session:
            await session.close()

    @asynccontextmanager
    async def exchange(
        self,
        path: str,
        *,
        body: Callable[[], Mapping[str, Any]],
        headers: Mapping[str, str],
        total_s: float | None = None,
        awaited: bool = True,
    ) -> AsyncIterator[Exchange]:
        """A request to the first replica that answers with 200. Leaving closes the connection unless all was read.

        `body` gives the arguments of `ClientSession.post` and is called once a try. `awaited`: whether somebody waits
        for it; that one which nobody waits for is cancelled says nothing of the worker. Raises WorkerError.
        """
        ends = _now() + (total_s if total_s is not None else self.limits.total_s)
        exchange = await self._first_to_answer(path, body, headers, ends, awaited)
        try:
            yield exchange
        finally:
            exchange.close()

    async def _first_to_answer(
        self,
        path: str,
        body: Callable[[], Mapping[str, Any]],
        headers: Mapping[str, str],
        ends: float,
        awaited: bool,
    ) -> Exchange:
        """Asks one replica and, if that fails within the time there is, once more: another, or the only one."""
        failure: WorkerError | None = None
        failed: str | None = None
        for _ in range(_TRIES):
            base = await self._next(path, failed, failure, ends)
            exchange = Exchange(self, base, base + path, awaited)
            # the second one gets all the time that is left
            patient = failure is not None or not self._replicas.has_another(base, _now())
            try:
                await exchange.open(body(), headers, ends - _now(), None if patient else self.limits.other_s)
            except WorkerError as error:
                exchange.close()
                failure, failed = error, base
                if not error.retryable or ends <= _now():
                    raise
            except BaseException:
                exchange.close()
                raise
            else:
                return exchange
        raise failure or RuntimeError("no replica was asked")

    async def _next(self, path: str, failed: str | None, failure: WorkerError | None, ends: float) -> str:
        """The replica to ask, after the wait that it or common sense wants. Raises WorkerError if that is too long."""
        choice = self._replicas.choose(_now(), failed)
        if choice is None:
            raise failure or WorkerError(
                f"{self._name} worker: none is asked, each failed {FAILURES} times in a row or does not answer its "
                "health probe; the first that is well again gets requests",
                retryable=True,
                worker=self._name.lower(),
            )
        # whoever failed a moment ago gets a moment; whoever said when to come again is not asked before
        wait_s = max(choice.wait_s, _MOMENT_S if choice.url == failed else 0.0)
        if wait_s > min(_LONGEST_WAIT_S, ends - _now()):
            self._replicas.undecided(choice.url)
            raise failure or self.error(
                choice.url + path, f"not asked for {choice.wait_s:.1f} s more, as it wished", True, 429
            )
        try:
            await asyncio.sleep(wait_s)
        except asyncio.CancelledError:
            self._replicas.undecided(choice.url)
            raise
        return choice.url

    # --- how requests went, and what is done about it ---

    def began(self, base: str, waited_s: float) -> None:
        self._replicas.began(base, _now(), slow=waited_s > self.limits.other_s)

    def answered(self, base: str) -> None:
        self._replicas.answered(base)

    def undecided(self, base: str) -> None:
        self._replicas.undecided(base)

    def failed(self, base: str, begun: float | None = None) -> None:
        opened = self._replicas.failed(base, _now(), begun)
        if opened:
            log.warning(
                "%s worker at %s failed %d times in a row and gets no requests", self._name, base, FAILURES
            )
        self._probe(base, _OPEN_S if opened else 0.0)

    def slow(self, base: str) -> None:
        self._replicas.slow(base, _now())
        self._probe(base, 0.0)

    def busy(self, base: str, retry_after_s: float | None) -> None:
        self._replicas.busy(base, _now(), _REST_S if retry_after_s is None else retry_after_s)

    def given_up(self, base: str, waited_s: float) -> None:
        """The caller cancelled the request."""
        if waited_s >= self.limits.late_s:
            self.failed(base)
        else:
            self._replicas.undecided(base)

    def _probe(self, base: str, after_s: float) -> None:
        if self._session and base not in self._probes:
            probe = asyncio.create_task(self._until_well(base, self._session, after_s))
            self._probes[base] = probe
            probe.add_done_callback(lambda ended: self._forget(base, ended))

    def _forget(self, base: str, ended: asyncio.Task[None]) -> None:
        if self._probes.get(base) is ended:
            del self._probes[base]

    async def _until_well(self, base: str, session: aiohttp.ClientSession, after_s: float) -> None:
        await asyncio.sleep(after_s)
        while not await takes_requests(session, base, api_key=self._api_key, timeout_s=_PROBE_S):
            if self._replicas.dead(base):
                log.warning(
                    "%s worker at %s does not answer its health probe and gets no requests", self._name, base
                )
            await asyncio.sleep(_PROBE_S)
        # before it is on trial: an older request that fails at just that moment needs a probe of its own
        self._probes.pop(base, None)
        if self._replicas.well(base):
            log.info("%s worker at %s is well again", self._name, base)

    async def post(
        self, url: str, arguments: Mapping[str, Any], headers: Mapping[str, str], left: float
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError(f"the {self._name} client is used outside of its `async with`")
        key = {"Authorization": f"Bearer {self._api_key.get_secret_value()}"} if self._api_key else {}
        timeout = aiohttp.ClientTimeout(
            total=max(left, 0.001), sock_connect=self.limits.connect_s, sock_read=self.limits.silence_s
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


def _now() -> float:
    return asyncio.get_running_loop().time()


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


def worker_session() -> aiohttp.ClientSession:
    """One for all clients of a process: no limit of connections, no cookies."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar())
