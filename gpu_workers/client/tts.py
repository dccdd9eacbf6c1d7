"""Text to speech: `POST /v1/audio/speech`, played while it is made."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import Final, Self

import aiohttp
from pydantic import SecretStr

from gpu_workers.client.exchange import Exchange
from gpu_workers.client.link import Limits, WorkerLink
from gpu_workers.client.pcm import PcmError, PcmStream

_PATH: Final = "/v1/audio/speech"
_OPENAI_RATE: Final = 24000
_MOST_LEFT_MS: Final = 600_000


class TtsClient:
    """One for all calls; `async with` opens a session of its own where none is passed.

    `default_rate` holds for a server that names none: OpenAI's own and most others send 24 kHz. `voice` is asked for
    where a request names none.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        model: str | None = None,
        voice: str | None = None,
        default_rate: int = _OPENAI_RATE,
        api_key: SecretStr | None = None,
        session: aiohttp.ClientSession | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._link = WorkerLink("TTS", urls, api_key=api_key, session=session, limits=limits)
        self._model = model
        self._voice = voice
        self._default_rate = default_rate

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._link.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def speak(
        self, text: str, *, voice: str | None, call_id: str, left_ms: int = 0
    ) -> AsyncIterator["Speech"]:
        """The sound of `text`; entering waits for its first sample, leaving closes the connection.

        `left_ms`: how long the listener still has something to hear; who runs dry first is served first.
        Raises WorkerError on entering and while iterating.
        """
        named = {"model": self._model, "voice": voice or self._voice}
        asked = {"input": text, "response_format": "pcm", "stream_format": "audio"}
        asked |= {name: value for name, value in named.items() if value is not None}
        headers = {"X-Call-Id": call_id, "X-Deadline-Ms": str(min(max(left_ms, 0), _MOST_LEFT_MS))}
        async with (
            self._link.exchange(_PATH, body=lambda: {"json": asked}, headers=headers) as exchange,
            aclosing(exchange.chunks()) as chunks,
        ):
            speech = Speech(exchange, chunks, self._default_rate)
            await speech.start()
            yield speech


class Speech:
    """Mono s16le in whole samples, `rate` of them a second."""

    def __init__(self, exchange: Exchange, chunks: AsyncGenerator[bytes, None], default_rate: int) -> None:
        self._exchange = exchange
        self._chunks = chunks
        self._first = b""
        self._ended = False
        try:
            self._pcm = PcmStream(*_form(exchange.headers, default_rate))
        except PcmError as error:
            raise exchange.error(str(error), retryable=False) from error

    @property
    def rate(self) -> int:
        return self._pcm.rate

    async def start(self) -> None:
        """Waits until the form of the sound is known."""
        while not self._first and not self._ended:
            self._first = await self._more()
        if not self._first:
            raise self._exchange.error("it sent no sound", retryable=True)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        pcm, self._first = self._first, b""
        while not pcm:
            if self._ended:
                raise StopAsyncIteration
            pcm = await self._more()
        return pcm

    async def _more(self) -> bytes:
        chunk = await anext(self._chunks, None)
        self._ended = chunk is None
        try:
            return self._pcm.feed(chunk or b"", last=chunk is None)
        except PcmError as error:
            raise self._exchange.error(str(error), retryable=False) from error


def _form(headers: Mapping[str, str], default_rate: int) -> tuple[int, int]:
    """Rate and channels, from our header, from `audio/L16; rate=8000; channels=1` (RFC 2586), else the default."""
    kind = headers.get("Content-Type", "")
    if kind.startswith(("application/json", "text/", "audio/mpeg", "audio/ogg", "audio/aac", "audio/flac")):
        raise PcmError(f"it answered {kind.split(';')[0]} where pcm was asked for")
    found = re.search(r"rate=(\d{4,6})", kind)
    named = headers.get("X-Sample-Rate") or (found[1] if found else str(default_rate))
    if not named.isdecimal() or len(named) > 6:
        raise PcmError("X-Sample-Rate is not a number")
    channels = re.search(r"channels=([12])\b", kind)
    return int(named), int(channels[1]) if channels else 1
