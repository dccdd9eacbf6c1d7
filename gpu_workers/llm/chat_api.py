"""`POST /v1/chat/completions` and `GET /v1/models`, as the OpenAI API has them, before llama.cpp's own server.

That one runs a request to its end when its client leaves before the first token, or wants no stream (measured with
xllamacpp 2026.10: 9 s of prompt, 27 s of answer). So it is asked for a stream with progress whatever the client wants:
it then writes after every piece of the prompt, and stops where it cannot.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Final, Protocol

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from gpu_workers.errors import RequestError
from gpu_workers.llm.chat_answer import DONE, Completion, event_failure, event_of, is_progress, is_usage
from gpu_workers.llm.chat_request import ChatRequest, check, engine_request
from gpu_workers.llm.line import Line
from gpu_workers.model_name import HOSTED, check_model
from gpu_workers.serving import while_connected

_STREAM_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
# before OpenAPI 3.2 the schema is that of each event
_EVENT: Final = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
_STREAM: Final = {"schema": _EVENT, "description": "With `stream`: events, ended by [DONE]"}


class Engine(Protocol):
    """What the route needs: the data of the engine's events, as they come. Leaving them stops the engine."""

    def events(self, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]: ...


Event = tuple[str, Mapping[str, Any]]


def routes(line: Line, engine: Engine, own_model: str, context_tokens: int) -> APIRouter:
    router = APIRouter()

    @router.post(
        "/v1/chat/completions",
        response_model=None,
        responses={
            200: {
                "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": _STREAM},
                "description": "The answer",
            }
        },
    )
    async def completions(request: Request, asked: ChatRequest) -> Response:
        """An answer, whole or with `stream` as it is written. Closing the connection stops the model."""
        check_model(asked.model or "", own_model, HOSTED["llm"])
        check(asked, context_tokens)
        events = _events(line, engine, engine_request(asked))
        if not asked.streamed:
            return JSONResponse(await while_connected(request, _whole(events)))
        first = await while_connected(request, _first(events))
        return _EventStream(_forwarded(first, events, asked.usage_wanted), events)

    @router.get("/v1/models")
    async def models() -> dict[str, Any]:
        """The one there is."""
        one = {"id": own_model, "object": "model", "created": 0, "owned_by": "voicebot"}
        return {"object": "list", "data": [one]}

    return router


class _EventStream(StreamingResponse):
    """Closes what it forwards also when it ends before its first byte."""

    def __init__(self, forwarded: AsyncIterator[str], events: AsyncGenerator[Event, None]) -> None:
        super().__init__(forwarded, media_type="text/event-stream", headers=_STREAM_HEADERS)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


async def _events(line: Line, engine: Engine, asked: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
    """From its turn on, less those that only tell of progress. Raises RequestError."""
    async with line.turn(), aclosing(engine.events(asked)) as incoming:
        async for data in incoming:
            event = event_of(data)
            if event is None:
                return
            failure = event_failure(event)
            if failure:
                raise failure
            if not is_progress(event):
                yield data, event


async def _first(events: AsyncGenerator[Event, None]) -> Event:
    first = await anext(events, None)
    if first is None:
        raise RequestError(500, "llama.cpp failed: its answer is empty", code="engine_failed")
    return first


async def _whole(events: AsyncGenerator[Event, None]) -> Mapping[str, Any]:
    answer = Completion()
    async with aclosing(events):
        async for _, event in events:
            answer.add(event)
    return answer.body()


async def _forwarded(
    first: Event, events: AsyncGenerator[Event, None], usage_wanted: bool
) -> AsyncIterator[str]:
    """What fails behind the first event can be told in the stream only, which then has no [DONE]."""
    yield f"data: {first[0]}\n\n"
    try:
        async for data, event in events:
            if usage_wanted or not is_usage(event):
                yield f"data: {data}\n\n"
    except RequestError as error:
        yield f"data: {json.dumps(error.body())}\n\n"
        return
    yield f"data: {DONE}\n\n"
