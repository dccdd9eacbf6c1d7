"""What no worker can serve: each gets its 4xx in OpenAI's shape, and the worker serves the next request as ever."""

import asyncio
import struct
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp
import pytest
from yarl import URL

from gpu_workers.status import Phase
from gpu_workers.stt.api import MAX_BODY
from gpu_workers.tts.api import MAX_BODY as MAX_TEXT
from tests.support.fake_models import sentence
from tests.support.worker_app import BEARER, Worker, a_ready_worker, wav

STT: Final = "/v1/audio/transcriptions"
TTS: Final = "/v1/audio/speech"
SECOND: Final = bytes(16_000)
HUGE: Final = 2 * 1024**3


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    async with a_ready_worker(max_body=MAX_BODY) as running:
        yield running
        await serves(running)


async def serves(worker: Worker) -> None:
    worker.model.may_end.release()
    assert await worker.post_wav(wav(), prompt="Hi.", language="en") == (200, {"text": "Hi."})
    assert (await worker.speech(input="One", response_format="pcm"))[:2] == (200, sentence())
    assert worker.status.phase is Phase.READY


async def refused(answer: aiohttp.ClientResponse) -> tuple[int, str | None, str | None]:
    """Status, code and param of an error in OpenAI's shape."""
    error = (await answer.json())["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert error["type"] == "invalid_request_error"
    return answer.status, error["code"], error["param"]


def head(rate: int = 8000, *, form: int = 1, said_bytes: int = 16_000) -> bytes:
    """A WAV header that says what it likes."""
    chunk = struct.pack("<HHIIHH", form, 1, rate, rate * 2, 2, 16)
    return b"".join(
        (b"RIFF", struct.pack("<I", min(0xFFFFFFFF, 36 + said_bytes)), b"WAVEfmt ", struct.pack("<I", 16), chunk,
         b"data", struct.pack("<I", said_bytes))
    )  # fmt: skip


NOT_SOUND: Final = (
    (b"", "not a PCM WAV file"),
    (b"GIF89a and so on", "not a PCM WAV file"),
    (b"\xff\xfb\x90\x00" * 500, "not a PCM WAV file"),  # MP3
    (wav(b""), "no sound"),
    (wav(b"\x01"), "no sound"),
    (wav(SECOND, channels=2), "2 channels"),
    (wav(SECOND, rate=44_100), "44100 samples a second"),
    (wav(SECOND, rate=48_000), "48000 samples a second"),
    (wav(SECOND, width=1), "8 bits"),
    (wav(SECOND[:15_999], width=3), "24 bits"),
    (head(form=7) + SECOND, "not a PCM WAV file"),  # mu-law
    (head(form=3) + SECOND, "not a PCM WAV file"),  # floats
    (head(rate=0) + SECOND, "0 samples a second"),
    (head()[:30], "not a PCM WAV file"),
)
WRONG_FIELDS: Final = (
    ("model", "whisper-large-v9", 404, "model_not_found"),
    ("model", "x" * 2000, 400, "invalid_value"),
    ("language", "xx", 400, "invalid_language"),
    ("language", "Klingonish", 400, "invalid_value"),
    ("response_format", "srt", 400, "invalid_value"),
    ("prompt", "a" * 3000, 400, "invalid_value"),
)
WRONG_HEADERS: Final = (
    ("X-Priority", "urgent"), ("X-Deadline-Ms", "0"), ("X-Deadline-Ms", "-5"), ("X-Deadline-Ms", "soon"),
    ("X-Deadline-Ms", "600001"), ("X-Deadline-Ms", "9" * 5000), ("X-Call-Id", "c" * 300),
    ("X-First-Words", "mm," * 400),
)  # fmt: skip
FORM: Final = "multipart/form-data; boundary=x"
NO_FORM: Final = (
    (b"", FORM),
    (b"--x\r\nnonsense", FORM),
    (b"--x\r\n" + b"A" * 100_000, FORM),
    (b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext\r\n--x--\r\n', FORM),
    (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 3000 + b"--x--\r\n", FORM),
    (b"anything", "multipart/form-data"),
    (b"{}", "application/json"),
    (b"file=text", "application/x-www-form-urlencoded"),
    (b"\xff\x00" * 5000, ""),
)


class TestSound:
    async def test_what_is_no_utterance(self, worker: Worker) -> None:
        for body, said in NOT_SOUND:
            status, answer = await worker.post_wav(body)
            error = answer["error"]
            assert (status, error["code"], error["param"]) == (400, "invalid_audio", "file"), body[:60]
            assert said in error["message"], body[:60]

    async def test_two_minutes_and_a_second(self, worker: Worker) -> None:
        status, answer = await worker.post_wav(wav(bytes(121 * 16_000)))
        assert (status, answer["error"]["code"]) == (413, "audio_too_long")

    async def test_an_hour(self, worker: Worker) -> None:
        """57 MB: the client reads why, although nobody wants most of what it sends."""
        status, answer = await worker.post_wav(wav(bytes(3600 * 16_000)))
        assert (status, answer["error"]["code"]) == (413, "request_too_large")

    async def test_a_length_that_is_not_there_is_what_is_there(self, worker: Worker) -> None:
        """A recorder that streams writes its header before it knows the length."""
        for said_bytes in (0xFFFFFFFF, 0x7FFFFFFF, 32_000):
            worker.model.may_end.release()
            status, answer = await worker.post_wav(
                head(said_bytes=said_bytes) + SECOND, response_format="verbose_json"
            )
            assert (status, answer.get("duration")) == (200, 1.0), said_bytes


class TestForm:
    async def test_a_field(self, worker: Worker) -> None:
        for param, value, status, code in WRONG_FIELDS:
            got, answer = await worker.post_wav(wav(), **{param: value})
            assert (got, answer["error"]["code"], answer["error"]["param"]) == (status, code, param)

    async def test_a_model_that_a_stock_client_names(self, worker: Worker) -> None:
        for model in ("", "fake-model", "whisper-1"):
            worker.model.may_end.release()
            assert await worker.post_wav(wav(), model=model, prompt="Hi.") == (200, {"text": "Hi."})

    async def test_a_language_that_is_to_be_recognised(self, worker: Worker) -> None:
        """The fake says `en` to what it is told nothing of; a worker's own language would be refused here."""
        worker.model.may_end.release()
        assert (await worker.post_wav(wav(), language="auto"))[0] == 200

    async def test_a_header(self, worker: Worker) -> None:
        for name, value in WRONG_HEADERS:
            form = aiohttp.FormData()
            form.add_field("file", wav(), filename="a.wav")
            headers = {**BEARER, name: value}
            async with worker.http.post(worker.url + STT, data=form, headers=headers) as answer:
                assert await refused(answer) == (400, "invalid_value", name.lower())

    async def test_a_body_that_is_no_form(self, worker: Worker) -> None:
        for body, kind in NO_FORM:
            headers = {**BEARER, "Content-Type": kind}
            async with worker.http.post(worker.url + STT, data=body, headers=headers) as answer:
                status, code, _ = await refused(answer)
            assert status == 400, body[:60]
            assert code in {"invalid_value", "http_error"}, body[:60]


WRONG_SPEECH: Final[tuple[tuple[dict[str, Any], int, str, str | None], ...]] = (
    ({"input": ""}, 400, "nothing_to_say", "input"),
    ({"input": " \n\t"}, 400, "nothing_to_say", "input"),
    ({"input": "\u0000"}, 400, "nothing_to_say", "input"),
    ({"input": None}, 400, "invalid_value", "input"),
    ({"input": ["a"]}, 400, "invalid_value", "input"),
    ({"input": "a" * 4097}, 400, "invalid_value", "input"),
    ({"input": "a" * 1_000_000}, 413, "request_too_large", None),
    ({"input": "a", "voice": "alloy"}, 400, "unknown_voice", "voice"),
    ({"input": "a", "voice": 7}, 400, "invalid_value", "voice"),
    ({"input": "a", "model": "tts-9"}, 404, "model_not_found", "model"),
    ({"input": "a", "speed": 0}, 400, "invalid_value", "speed"),
    ({"input": "a", "speed": -1}, 400, "invalid_value", "speed"),
    ({"input": "a", "speed": 4.01}, 400, "invalid_value", "speed"),
    ({"input": "a", "speed": float("nan")}, 400, "invalid_value", "speed"),
    ({"input": "a", "speed": float("inf")}, 400, "invalid_value", "speed"),
    ({"input": "a", "stream_format": "sse"}, 400, "invalid_value", "stream_format"),
)
NO_REQUEST: Final = (
    b"", b"\xff\xfe", b"null", b"[]", b'"text"', b"[" * 60_000, b'{"a":' * 12_000, b'{"input": "\\ud800"}',
    b'{"input": 1e999}', b'{"input": "a", "speed": 1e999}', b'{"input": "a", "speed": ' + b"9" * 5000 + b"}",
)  # fmt: skip


class TestText:
    async def test_speech_that_cannot_be_made(self) -> None:
        async with a_ready_worker(max_body=MAX_TEXT) as worker:
            for asked, *right in WRONG_SPEECH:
                async with worker.http.post(worker.url + TTS, json=asked, headers=BEARER) as answer:
                    assert [*await refused(answer)] == right, str(asked)[:60]
            assert worker.voice.made == 0
            await serves(worker)

    async def test_a_body_that_is_no_request(self, worker: Worker) -> None:
        headers = {**BEARER, "Content-Type": "application/json"}
        for body in NO_REQUEST:
            async with worker.http.post(worker.url + TTS, data=body, headers=headers) as answer:
                assert (await refused(answer))[0] == 400, body[:60]


class TestTwoGigabytes:
    async def test_a_stated_length_is_refused_before_a_byte_of_it(self, worker: Worker) -> None:
        url = URL(worker.url)
        for path, kind, more in ((STT, FORM, "Expect: 100-continue\r\n"), (TTS, "application/json", "")):
            reader, writer = await asyncio.open_connection(url.host, url.port)
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: {BEARER['Authorization']}\r\n"
                f"Content-Type: {kind}\r\n{more}Content-Length: {HUGE}\r\n\r\n".encode()
            )
            async with asyncio.timeout(5):
                # to its end: the worker closes, or else 2 GB of rubbish would follow
                answer = await reader.read()
            writer.close()
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert b'"code": "request_too_large"' in answer

    async def test_without_a_stated_length_it_is_cut_at_the_limit(self, worker: Worker) -> None:
        sent = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal sent
            yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
            while sent < HUGE:
                yield bytes(1 << 16)
                sent += 1 << 16

        headers = {**BEARER, "Content-Type": FORM}
        try:
            async with worker.http.post(worker.url + STT, data=endless(), headers=headers) as answer:
                assert await refused(answer) == (413, "request_too_large", None)
        except aiohttp.ClientOSError:
            pass  # it was still sending when the worker had waited long enough for its end
        assert MAX_BODY / 2 < sent < HUGE / 4
