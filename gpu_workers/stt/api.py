"""`POST /v1/audio/transcriptions`, as the OpenAI API has it, with our four optional headers."""

from typing import Annotated, Any, Final, Literal, Protocol
from urllib.parse import unquote

from fastapi import APIRouter, File, Form, Header, Request, Response, UploadFile
from fastapi.responses import JSONResponse, PlainTextResponse

from gpu_workers.model_name import HOSTED, check_model
from gpu_workers.serving import while_connected
from gpu_workers.stt.audio import samples_of
from gpu_workers.stt.line import Priority
from gpu_workers.stt.scheduler import Transcript, Utterance

MAX_BODY: Final = 8 * 1024 * 1024
_MAX_PROMPT: Final = 2000
_MAX_MODEL: Final = 1000
_MAX_FIRST_WORDS: Final = 1000
_RECOGNISED: Final = "auto"

_FIRST_WORDS: Final = (
    "Words with commas between them, percent-encoded where they are not ASCII. verbose_json then has "
    "first_words_logprob for a text of at most four words that begins with none of them: how likely the sound begins "
    "with one of them all the same (natural logarithm)."
)

ResponseFormat = Literal["json", "verbose_json", "text"]


class Service(Protocol):
    """What the route needs: where requests wait, and which languages are known."""

    async def submit(
        self, utterance: Utterance, priority: Priority, deadline_s: float | None, call_id: str | None
    ) -> Transcript: ...

    def check_language(self, language: str | None) -> None: ...


def routes(service: Service, own_model: str, default_language: str | None) -> APIRouter:
    """The router; `default_language` holds where a request names none (None: recognised)."""
    router = APIRouter()

    @router.post(
        "/v1/audio/transcriptions",
        response_model=None,
        responses={200: {"content": {"text/plain": {}}, "description": "In the form asked for"}},
    )
    async def transcriptions(
        request: Request,
        file: Annotated[UploadFile, File(description="WAV, mono, 16 bit, 8 or 16 kHz")],
        model: Annotated[str, Form(max_length=_MAX_MODEL, description="A worker has one")] = "",
        language: Annotated[str, Form(max_length=8, description="A code, or auto: recognised")] = "",
        prompt: Annotated[str, Form(max_length=_MAX_PROMPT)] = "",
        response_format: Annotated[ResponseFormat, Form()] = "json",
        x_priority: Annotated[Literal["final", "eager", "partial"], Header()] = "final",
        x_deadline_ms: Annotated[int | None, Header(ge=1, le=600_000)] = None,
        x_call_id: Annotated[str | None, Header(max_length=200)] = None,
        x_first_words: Annotated[str, Header(max_length=_MAX_FIRST_WORDS, description=_FIRST_WORDS)] = "",
    ) -> Response:
        """Text of one utterance. Silence and noise give an empty text."""
        check_model(model, own_model, HOSTED["stt"])
        spoken = None if language == _RECOGNISED else language or default_language
        service.check_language(spoken)
        first_words = tuple(filter(None, map(str.strip, unquote(x_first_words).split(","))))
        draft = x_priority == "partial"
        utterance = Utterance(samples_of(await file.read()), spoken, prompt, draft, first_words)
        deadline = None if x_deadline_ms is None else x_deadline_ms / 1000
        work = service.submit(utterance, Priority[x_priority.upper()], deadline, x_call_id)
        return _answer(await while_connected(request, work), response_format)

    return router


def _answer(transcript: Transcript, form: ResponseFormat) -> Response:
    match form:
        case "text":
            return PlainTextResponse(transcript.text + "\n")
        case "json":
            return JSONResponse({"text": transcript.text})
        case "verbose_json":
            return JSONResponse(verbose(transcript))


def verbose(transcript: Transcript) -> dict[str, Any]:
    """OpenAI's form of a transcript, and where they are known `first_words_logprob` and `turn_end_prob`: does the turn
    sound finished, 0 to 1.
    """
    segment = {
        "id": 0,
        "start": 0.0,
        "end": round(transcript.length_s, 3),
        "text": transcript.text,
        "avg_logprob": round(transcript.avg_logprob, 4),
        "no_speech_prob": round(transcript.no_speech_prob, 4),
    }
    measured = {"turn_end_prob": transcript.turn_end, "first_words_logprob": transcript.first_words_logprob}
    heard = {name: round(value, 4) for name, value in measured.items() if value is not None}
    return {
        **heard,
        "task": "transcribe",
        "language": transcript.language,
        "duration": round(transcript.length_s, 3),
        "text": transcript.text,
        "segments": [segment],
    }
