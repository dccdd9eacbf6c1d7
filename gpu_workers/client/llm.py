"""The language model: `POST /v1/chat/completions`, streamed."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from pydantic import SecretStr

from gpu_workers.client.chat import ChatDeltas, Message, ToolCall
from gpu_workers.client.exchange import Exchange
from gpu_workers.client.link import Limits, WorkerLink
from gpu_workers.client.sse import SseError, SseParser
from gpu_workers.errors import WorkerError

_PATH: Final = "/v1/chat/completions"


class LlmClient:
    """One for all calls; `async with` opens a session of its own where none is passed."""

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        model: str | None = None,
        api_key: SecretStr | None = None,
        session: aiohttp.ClientSession | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._link = WorkerLink("LLM", urls, api_key=api_key, session=session, limits=limits)
        self._model = model

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._link.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        call_id: str,
        tools: Sequence[Mapping[str, Any]] | None = None,
        awaited: bool = True,
    ) -> AsyncIterator["LlmStream"]:
        """The answer as it is written. Leaving closes the connection at once, which stops the model.

        `awaited`: somebody waits for it, and if they give it up after long the worker let them down.
        Raises WorkerError on entering and while iterating.
        """
        asked: dict[str, Any] = {
            "messages": [message.as_json() for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "stream": True,
        }
        if self._model is not None:
            asked["model"] = self._model
        if tools:
            asked["tools"] = list(tools)
        # llama.cpp promises keep-alive but closes after a streamed answer, so no connection is used twice
        headers = {"X-Call-Id": call_id, "Accept": "text/event-stream", "Connection": "close"}
        async with (
            self._link.exchange(
                _PATH, body=lambda: {"json": asked}, headers=headers, awaited=awaited
            ) as exchange,
            aclosing(exchange.chunks()) as chunks,
        ):
            yield LlmStream(exchange, chunks)

    async def read_ahead(
        self, messages: Sequence[Message], *, call_id: str, tools: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Let the server read this beginning of a talk, so that an answer to more of it starts sooner.

        One token is written and thrown away. Raises WorkerError; cancel it as soon as an answer is wanted.
        """
        async with self.stream(
            messages, max_tokens=1, temperature=0.0, call_id=call_id, tools=tools, awaited=False
        ) as answer:
            async for _ in answer:
                pass


class LlmStream:
    """Pieces of text, and whole tool calls, as they come.

    `finish_reason` is known at the end: "length" is an answer cut at max_tokens.
    """

    def __init__(self, exchange: Exchange, chunks: AsyncGenerator[bytes, None]) -> None:
        self._exchange = exchange
        self._chunks = chunks
        self._events = SseParser()
        self._deltas = ChatDeltas()
        self._ready: deque[str | ToolCall] = deque()
        self._given = False

    @property
    def finish_reason(self) -> str | None:
        return self._deltas.finish_reason

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str | ToolCall:
        while not self._ready:
            if self._deltas.done:
                raise StopAsyncIteration
            await self._more()
        return self._ready.popleft()

    async def _more(self) -> None:
        chunk = await anext(self._chunks, None)
        if chunk is None:
            if self._deltas.finish_reason is None:
                raise self._stopped()
            self._deltas.done = True
            return
        try:
            for data in self._events.feed(chunk):
                self._ready.extend(self._deltas.feed(data))
        except SseError as error:
            raise self._exchange.error(str(error), retryable=False) from error
        except WorkerError as error:
            raise self._exchange.error(
                str(error), retryable=error.retryable, status=error.status, received=self._deltas.said()
            ) from error
        self._given = self._given or bool(self._ready)
        if self._deltas.done and self._deltas.finish_reason is None and not self._given:
            raise self._stopped()  # so ends an answer that an engine aborts, as vLLM's does while it drains

    def _stopped(self) -> WorkerError:
        return self._exchange.error("the answer stopped before its end", retryable=True)
