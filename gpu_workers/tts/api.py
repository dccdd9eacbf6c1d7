"""`POST /v1/audio/speech`, as the OpenAI API has it; the rate of the sound is in `X-Sample-Rate`."""

import struct
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from gpu_workers.errors import RequestError
from gpu_workers.model_name import HOSTED, check_model
from gpu_workers.serving import while_connected
from gpu_workers.tts.speaker import Speaker

MAX_BODY: Final = 64 * 1024
_MAX_INPUT: Final = 4096
_MAX_MODEL: Final = 1000
_UNKNOWN_LENGTH: Final = 0xFFFFFFFF


class SpeechRequest(BaseModel):
    """Fields of the OpenAI API that we do not know are ignored."""

    model_config = ConfigDict(strict=True)

    input: Annotated[str, Field(max_length=_MAX_INPUT)]
    model: Annotated[str, Field(max_length=_MAX_MODEL)] = ""
    voice: str | None = None
    response_format: Literal["pcm", "wav"] = "wav"
    stream_format: Literal["audio"] = "audio"
    speed: Annotated[float, Field(ge=0.25, le=4)] = 1.0


def routes(speaker: Speaker) -> APIRouter:
    router = APIRouter()

    @router.post(
        "/v1/audio/speech",
        response_class=StreamingResponse,
        responses={200: {"content": {"audio/wav": {}, "audio/pcm": {}}, "description": "The sound"}},
    )
    async def speech(
        request: Request,
        asked: SpeechRequest,
        x_deadline_ms: Annotated[
            int, Header(ge=0, le=600_000, description="How long the listener still has something to hear")
        ] = 0,
    ) -> StreamingResponse:
        """Mono 16-bit sound, sent while it is made, a sentence at a time; who runs dry first is served first."""
        voices = speaker.voices
        voice = voices.named(asked.voice)
        check_model(asked.model, voice.name, (*HOSTED["tts"], *voices.names))
        speakable = _is_speakable(asked.input)
        chunks = speaker.speak(voice, asked.input, asked.speed, x_deadline_ms / 1000) if speakable else None
        first = await while_connected(request, _first(chunks)) if chunks else b""
        if not chunks or not first:
            raise RequestError(400, "the input holds nothing to say", code="nothing_to_say", param="input")
        head = _wav_head(voice.rate) if asked.response_format == "wav" else b""
        return StreamingResponse(
            _sound(head + first, chunks),
            media_type="audio/wav" if head else f"audio/pcm;rate={voice.rate};channels=1",
            headers={"X-Sample-Rate": str(voice.rate), "X-Channels": "1"},
        )

    return router


def _is_speakable(text: str) -> bool:
    return any(character.isalnum() for character in text)


async def _first(chunks: AsyncGenerator[bytes, None]) -> bytes:
    return await anext(chunks, b"")


async def _sound(first: bytes, chunks: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(chunks):
        yield first
        async for chunk in chunks:
            yield chunk


def _wav_head(rate: int) -> bytes:
    """A RIFF header for a sound whose length is not known yet."""
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    return b"".join(
        (b"RIFF", struct.pack("<I", _UNKNOWN_LENGTH), b"WAVEfmt ", struct.pack("<I", len(form)), form,
         b"data", struct.pack("<I", _UNKNOWN_LENGTH))
    )  # fmt: skip
