"""STT, LLM and TTS servers that say what the test tells them, as late and as broken as it wants.

    async with fake_workers() as fw:
        fw.stt.answers = ["What does it cost?"]
        fw.llm.replies = ["Nineteen dollars. Anything else?"]
        fw.tts.chunk_delay_s = 0.05
        fw.llm.faults = [Fault.status(500)]     # one request, then well again; fw.llm.fault = ... for all
        ... SttClient(fw.stt_url), LlmClient(fw.llm_url), TtsClient(fw.tts_url) ...
        assert fw.llm.running == 0 and fw.llm.aborted == 1

The TTS speaks one pure tone a request (500, 600, ... 1900 Hz, then 500 again),
so that a capture of the call shows with
Goertzel which sentence was heard and for how long: 60 ms of tone a character.
"""

import asyncio
import json
import re
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from aiohttp import web


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request. `after`: so many pieces of the answer get out before it dies."""

    kind: Literal["status", "quote", "hang", "die"]
    code: int = 500
    after: int = 0
    retry_after_s: int = 1

    @classmethod
    def status(cls, code: int, *, retry_after_s: int = 1) -> Self:
        """`retry_after_s` goes out with 429 and 503."""
        return cls("status", code=code, retry_after_s=retry_after_s)

    @classmethod
    def quote(cls, code: int) -> Self:
        """The refusal repeats what was asked, as that of many servers does."""
        return cls("quote", code=code)

    @classmethod
    def hang(cls) -> Self:
        """No byte ever comes."""
        return cls("hang")

    @classmethod
    def die(cls, after: int = 0) -> Self:
        """The connection is cut, like that of a crashed worker."""
        return cls("die", after=after)


@dataclass
class FakeWorker:
    """What the three share. Latencies are seconds and may be changed at any time.

    `wants`: fields without which a request is refused. `model`: what /health says it serves; with `listed`, the entries
    of /v1/models, there is no /health, as of OpenAI's own server.
    """

    delay_s: float = 0.0
    fault: Fault | None = None
    faults: list[Fault] = field(default_factory=list)
    ready: bool = True
    max_calls: int | None = None
    api_key: str | None = None
    wants: tuple[str, ...] = ()
    model: str | None = None
    listed: list[dict[str, str]] | None = None
    running: int = 0
    finished: int = 0
    aborted: int = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Counts a request, then lets it fail or be answered."""
        fault = self.faults.pop(0) if self.faults else self.fault
        self.running += 1
        try:
            if self.api_key and request.headers.get("Authorization") != f"Bearer {self.api_key}":
                return _refusal(401)
            body = await self.read(request)
            for field in self.wants:
                if not (body.get(field) if isinstance(body, dict) else getattr(body, field)):
                    return _refusal(400, message=f"you must provide a {field} parameter")
            await asyncio.sleep(self.delay_s)
            answer = await self._answer(request, body, fault)
        except (asyncio.CancelledError, ConnectionError):
            self.aborted += 1
            raise
        finally:
            self.running -= 1
        self.finished += 1
        return answer

    async def _answer(self, request: web.Request, body: Any, fault: Fault | None) -> web.StreamResponse:
        match fault:
            case Fault(kind="status", code=code, retry_after_s=wait_s):
                return _refusal(code, wait_s)
            case Fault(kind="quote", code=code):
                return _refusal(code, message=f"cannot use {body!r}")
            case Fault(kind="hang"):
                await asyncio.Event().wait()
            case Fault(kind="die", after=0):
                _cut(request)
        return await self.answer(request, body, fault.after if fault else None)

    async def read(self, request: web.Request) -> Any:
        return await request.json()

    async def answer(self, request: web.Request, body: Any, dies_after: int | None) -> web.StreamResponse:
        raise NotImplementedError

    async def stream(
        self,
        request: web.Request,
        headers: Mapping[str, str],
        pieces: AsyncIterator[bytes],
        dies_after: int | None,
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        sent = 0
        async for piece in pieces:
            await response.write(piece)
            sent += 1
            if sent == dies_after:
                _cut(request)
        await response.write_eof()
        return response

    async def models(self, _: web.Request) -> web.Response:
        if self.listed is None:
            return _refusal(404)
        return web.json_response({"object": "list", "data": self.listed})

    async def health(self, _: web.Request) -> web.Response:
        if self.listed is not None:
            return _refusal(404)
        said = {
            "live": True,
            "ready": self.ready,
            "model": self.model or type(self).__name__,
            "device": "cpu",
            "queue": self.running,
            "max_calls": self.max_calls,
        }
        return web.json_response(said, status=200 if self.ready else 503)


@dataclass(frozen=True)
class SttRequest:
    call_id: str
    priority: str
    deadline_ms: int | None
    language: str | None
    pcm: bytes = field(repr=False)
    rate: int
    first_words: str = ""
    model: str | None = None

    @property
    def seconds(self) -> float:
        return len(self.pcm) / 2 / self.rate


@dataclass
class FakeStt(FakeWorker):
    """Answers one of `answers` an utterance, the last one for ever; `choose` overrules them.

    Requests of a call that begin with the same sound are one utterance until its "final" is answered, so
    an eager and a final request get the same text.
    """

    answers: list[str] = field(default_factory=lambda: ["Hello."])
    choose: Callable[[SttRequest], str] | None = None
    no_speech_prob: float = 0.01
    avg_logprob: float = -0.2
    turn_end_prob: object = None
    first_words_logprob: object = None
    requests: list[SttRequest] = field(default_factory=list)
    _open: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    _at_work: dict[int, str] = field(default_factory=dict)

    def at_work(self, priority: str) -> int:
        """How many requests of this priority run."""
        return list(self._at_work.values()).count(priority)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        try:
            return await super().serve(request)
        finally:
            self._at_work.pop(id(request), None)

    async def read(self, request: web.Request) -> SttRequest:
        form = await request.post()
        upload = form["file"]
        assert isinstance(upload, web.FileField)
        with upload.file as file:
            wav = file.read()
        assert wav[:4] == b"RIFF" and wav[36:40] == b"data"
        deadline = request.headers.get("X-Deadline-Ms")
        heard = SttRequest(
            call_id=request.headers.get("X-Call-Id", ""),
            priority=request.headers.get("X-Priority", "final"),
            deadline_ms=int(deadline) if deadline else None,
            language=str(form["language"]) if "language" in form else None,
            pcm=wav[44:],
            rate=struct.unpack_from("<I", wav, 24)[0],
            first_words=request.headers.get("X-First-Words", ""),
            model=str(form["model"]) if "model" in form else None,
        )
        self.requests.append(heard)
        self._at_work[id(request)] = heard.priority
        return heard

    async def answer(
        self, request: web.Request, body: SttRequest, dies_after: int | None
    ) -> web.StreamResponse:
        text = self.choose(body) if self.choose else self._next_answer(body)
        segment = {"start": 0.0, "end": body.seconds, "text": text}
        measures = {"no_speech_prob": self.no_speech_prob, "avg_logprob": self.avg_logprob}
        answer = {"text": text, "language": body.language or "en", "duration": body.seconds}
        if self.turn_end_prob is not None:
            answer["turn_end_prob"] = self.turn_end_prob
        if body.first_words and self.first_words_logprob is not None:
            answer["first_words_logprob"] = self.first_words_logprob
        return web.json_response({**answer, "segments": [{**segment, **measures}]})

    def _next_answer(self, heard: SttRequest) -> str:
        start, text = self._open.pop(heard.call_id, (b"", ""))
        if not start or not heard.pcm.startswith(start):
            text = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if heard.priority != "final":
            self._open[heard.call_id] = (heard.pcm[:3200], text)
        return text


@dataclass(frozen=True)
class FakeToolCall:
    """`arguments` may be text that is no JSON; `said` is written before the call, `more` are made with it."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    said: str = ""
    more: "tuple[FakeToolCall, ...]" = ()


Reply = str | list[str] | FakeToolCall
_PROMPTS_CACHED = 8
_SSE = {"Content-Type": "text/event-stream"}


@dataclass
class FakeLlm(FakeWorker):
    """Streams one of `replies` a request, the last one for ever; `choose` overrules them. A list gives the tokens.

    Requests for a single token are reading ahead: they take none of the replies and are kept apart.
    """

    replies: list[Reply] = field(default_factory=lambda: ["Hello. How can I help you?"])
    choose: Callable[[list[dict[str, Any]]], Reply] | None = None
    token_delay_s: float = 0.0
    message_delay_s: float = 0.0
    """To read a message takes so long, unless it and all before it were in an earlier prompt: a prefix cache."""
    messages_read: int = 0
    """By that measure."""
    finish_reason: str = "stop"
    read_ahead: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    _cached: list[list[Any]] = field(default_factory=list)

    async def answer(
        self, request: web.Request, body: dict[str, Any], dies_after: int | None
    ) -> web.StreamResponse:
        await self._read_prompt(body["messages"])
        if body.get("max_tokens") == 1:
            self.read_ahead.append(body)
            reply: Reply = "."
            return await self.stream(request, _SSE, self._events(reply), dies_after)
        self.requests.append(body)
        if self.choose:
            reply = self.choose(body["messages"])
        else:
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return await self.stream(request, _SSE, self._events(reply), dies_after)

    async def _read_prompt(self, messages: list[Any]) -> None:
        known = max((_common(messages, earlier) for earlier in self._cached), default=0)
        await asyncio.sleep(self.message_delay_s * (len(messages) - known))
        self.messages_read += len(messages) - known
        self._cached = [*self._cached, messages][-_PROMPTS_CACHED:]

    async def _events(self, reply: Reply) -> AsyncIterator[bytes]:
        for delta in _deltas(reply):
            yield _event({"delta": delta, "finish_reason": None})
            await asyncio.sleep(self.token_delay_s)
        reason = "tool_calls" if isinstance(reply, FakeToolCall) else self.finish_reason
        yield _event({"delta": {}, "finish_reason": reason}) + b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Spoken:
    """One request to the TTS and the tone it got."""

    text: str
    voice: str | None
    call_id: str
    hz: int
    seconds: float
    left_ms: int | None = None


@dataclass
class FakeTts(FakeWorker):
    """Speaks a tone. `chunk_delay_s` is waited before each 100 ms of it; with 0.2 it is slower than real time.

    `choose_fault` is asked what goes wrong with a text.
    """

    rate: int = 8000
    chunk_delay_s: float = 0.0
    seconds_per_char: float = 0.06
    choose_fault: Callable[[str], Fault | None] = lambda _: None
    spoken: list[Spoken] = field(default_factory=list)

    async def _answer(self, request: web.Request, body: Any, fault: Fault | None) -> web.StreamResponse:
        return await super()._answer(request, body, fault or self.choose_fault(body["input"]))

    async def answer(
        self, request: web.Request, body: dict[str, Any], dies_after: int | None
    ) -> web.StreamResponse:
        spoken = Spoken(
            text=body["input"],
            voice=body.get("voice"),
            call_id=request.headers.get("X-Call-Id", ""),
            hz=500 + 100 * (len(self.spoken) % 15),
            seconds=len(body["input"]) * self.seconds_per_char,
            left_ms=int(left) if (left := request.headers.get("X-Deadline-Ms")) else None,
        )
        self.spoken.append(spoken)
        headers = {"Content-Type": "audio/pcm", "X-Sample-Rate": str(self.rate)}
        return await self.stream(request, headers, self._chunks(spoken), dies_after)

    def sound(self, text: str, hz: int, seconds: float) -> bytes:
        """What is said, as pcm of `rate`."""
        return tone(hz, seconds, self.rate)

    async def _chunks(self, spoken: Spoken) -> AsyncIterator[bytes]:
        pcm = self.sound(spoken.text, spoken.hz, spoken.seconds)
        size = self.rate // 10 * 2
        for start in range(0, len(pcm), size):
            await asyncio.sleep(self.chunk_delay_s)
            yield pcm[start : start + size]


def tone(hz: float, seconds: float, rate: int) -> bytes:
    """A sine at half of full scale, mono s16le."""
    at = np.arange(int(seconds * rate)) / rate
    return bytes((16384 * np.sin(2 * np.pi * hz * at)).astype("<i2"))


@dataclass
class FakeWorkers:
    stt: FakeStt
    llm: FakeLlm
    tts: FakeTts
    stt_url: str = ""
    llm_url: str = ""
    tts_url: str = ""


@asynccontextmanager
async def fake_workers(tts: FakeTts | None = None) -> AsyncIterator[FakeWorkers]:
    """All three on loopback, each on a port of its own."""
    fakes = FakeWorkers(FakeStt(), FakeLlm(), tts or FakeTts())
    async with (
        served(fakes.stt, "/v1/audio/transcriptions") as fakes.stt_url,
        served(fakes.llm, "/v1/chat/completions") as fakes.llm_url,
        served(fakes.tts, "/v1/audio/speech") as fakes.tts_url,
    ):
        yield fakes


@asynccontextmanager
async def served(worker: FakeWorker, path: str, port: int = 0) -> AsyncIterator[str]:
    """The base URL of one fake. Closing it cuts what is open, like a worker that is killed."""
    handlers: list[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = [
        ("POST", path, worker.serve),
        ("GET", "/health", worker.health),
        ("GET", "/v1/models", worker.models),
    ]
    app = web.Application(client_max_size=64 * 1024 * 1024)
    for method, route, handler in handlers:
        app.router.add_route(method, route, handler)
    # a handler whose client left is cancelled, as in our own workers and in vLLM
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.01, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, bound = runner.addresses[0][:2]
        yield f"http://{host}:{bound}"
    finally:
        await runner.cleanup()


def _refusal(status: int, retry_after_s: int = 1, message: str = "") -> web.Response:
    headers = {"Retry-After": str(retry_after_s)} if status in {429, 503} else {}
    error = {"message": message or f"scripted {status}", "type": "server_error", "code": status}
    return web.json_response({"error": error}, status=status, headers=headers)


def _cut(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()
    raise ConnectionResetError("scripted")


def _deltas(reply: Reply) -> list[dict[str, Any]]:
    if isinstance(reply, FakeToolCall):
        calls = [reply, *reply.more]
        return _deltas(reply.said) + [one for at, call in enumerate(calls) for one in _call_deltas(at, call)]
    tokens = re.findall(r"\s*\S+\s*$|\s*\S+", reply) if isinstance(reply, str) else reply
    return [{"content": token} for token in tokens]


def _common(one: list[Any], other: list[Any]) -> int:
    """How many messages both begin with."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _call_deltas(at: int, call: FakeToolCall) -> list[dict[str, Any]]:
    function = {"name": call.name, "arguments": ""}
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    halves = (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :])
    return [
        {
            "role": "assistant",
            "tool_calls": [{"index": at, "id": f"call_{at}", "type": "function", "function": function}],
        },
        *({"tool_calls": [{"index": at, "function": {"arguments": half}}]} for half in halves),
    ]


def _event(choice: Mapping[str, Any]) -> bytes:
    event = {"object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
    return b"data: " + json.dumps(event).encode() + b"\n\n"
