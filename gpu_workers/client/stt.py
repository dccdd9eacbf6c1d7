"""Speech to text: `POST /v1/audio/transcriptions`."""

import io
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import quote

import aiohttp
from pydantic import SecretStr

from gpu_workers.client.answer import AnswerError
from gpu_workers.client.link import Limits, WorkerLink

Priority = Literal["final", "eager", "partial"]
_PATH: Final = "/v1/audio/transcriptions"


@dataclass(frozen=True)
class Transcript:
    """What was heard. The two measures are means over the segments, weighed by their length; None: not given.

    Our own worker adds to its answer: `turn_end`, the probability that the turn sounds finished, and where first words
    were given and the text is short `first_words_logprob`, that the sound begins with one of them.
    """

    text: str = field(repr=False)
    language: str | None
    no_speech_prob: float | None
    avg_logprob: float | None
    seconds: float
    turn_end: float | None = None
    first_words_logprob: float | None = None


class SttClient:
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
        self._link = WorkerLink("STT", urls, api_key=api_key, session=session, limits=limits)
        self._model = model

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._link.__aexit__(kind, error, trace)

    async def transcribe(
        self,
        pcm: bytes,
        rate: int,
        *,
        priority: Priority,
        deadline_ms: int | None,
        call_id: str,
        language: str | None,
        prompt: str | None = None,
        first_words: Sequence[str] = (),
    ) -> Transcript:
        """`pcm` is mono s16le of `rate` samples per second. Raises WorkerError; cancel it to drop the request."""
        wav = wav_file(pcm, rate)

        def form() -> Mapping[str, Any]:
            data = aiohttp.FormData()
            # a file, for aiohttp warns of large bytes
            data.add_field("file", io.BytesIO(wav), filename="utterance.wav", content_type="audio/wav")
            data.add_field("response_format", "verbose_json")
            fields = {"model": self._model, "language": language, "prompt": prompt}
            for name, value in fields.items():
                if value is not None:
                    data.add_field(name, value)
            return {"data": data}

        headers = {"X-Priority": priority, "X-Call-Id": call_id}
        if deadline_ms is not None:
            headers["X-Deadline-Ms"] = str(deadline_ms)
        if first_words:
            # a header: servers refuse fields of a form that they do not know
            headers["X-First-Words"] = quote(",".join(first_words), safe=",")
        total_s = None if deadline_ms is None else deadline_ms / 1000
        async with self._link.exchange(_PATH, body=form, headers=headers, total_s=total_s) as exchange:
            try:
                return transcript_of(await exchange.whole(), len(pcm) / 2 / rate)
            except AnswerError as error:
                raise exchange.error(f"the answer {error}", retryable=False) from error


def wav_file(pcm: bytes, rate: int) -> bytes:
    """Mono s16le `pcm` with a RIFF header before it."""
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    return b"".join(
        (b"RIFF", struct.pack("<I", 36 + len(pcm)), b"WAVEfmt ", struct.pack("<I", len(form)), form, b"data",
         struct.pack("<I", len(pcm)), pcm)
    )  # fmt: skip


def transcript_of(answer: Mapping[str, Any], seconds: float) -> Transcript:
    """What `answer` says of `seconds` of sound. Raises AnswerError when there is no text in it."""
    text = answer.get("text")
    if not isinstance(text, str):
        raise AnswerError("has no text")
    given = answer.get("segments")
    segments = (
        [segment for segment in given if isinstance(segment, Mapping)] if isinstance(given, list) else []
    )
    language = answer.get("language")
    return Transcript(
        text=text.strip(),
        language=language if isinstance(language, str) else None,
        no_speech_prob=_mean(segments, "no_speech_prob"),
        avg_logprob=_mean(segments, "avg_logprob"),
        seconds=_number(answer.get("duration")) or seconds,
        turn_end=_probability(answer.get("turn_end_prob")),
        first_words_logprob=_number(answer.get("first_words_logprob")),
    )


def _mean(segments: Sequence[Mapping[str, Any]], name: str) -> float | None:
    weighed = [
        (value, max(0.01, (_number(segment.get("end")) or 0.0) - (_number(segment.get("start")) or 0.0)))
        for segment in segments
        if (value := _number(segment.get(name))) is not None
    ]
    if not weighed:
        return None
    return sum(value * length for value, length in weighed) / sum(length for _, length in weighed)


def _probability(value: object) -> float | None:
    number = _number(value)
    return number if number is not None and 0 <= number <= 1 else None


def _number(value: object) -> float | None:
    # OpenAI's own server sends duration as a string
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
