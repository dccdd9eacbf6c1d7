"""The STT and TTS workers over HTTP on loopback; only the models are fakes."""

import asyncio
import io
import socket
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Literal

import aiohttp
import pytest
from fastapi import APIRouter, FastAPI

from gpu_workers.client import SttClient, TtsClient, health
from gpu_workers.errors import ModelError
from gpu_workers.guard import Guard
from gpu_workers.serving import create_app, run_app
from gpu_workers.settings import SttSettings
from gpu_workers.status import Metrics, Phase, Status
from gpu_workers.stt import api as stt_api
from gpu_workers.stt.scheduler import Transcript
from tests.support.fake_models import VOICE_RATE, sentence
from tests.support.worker_app import BEARER, KEY, PCM, Worker, a_ready_worker, a_worker, eventually, wav

SLOW = b"GET /health HTTP/1.1\r\nX-Slow: "

Living = Callable[[], AbstractAsyncContextManager[None]]


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    async with a_ready_worker() as running:
        yield running


async def test_it_listens_while_the_model_loads_and_says_so() -> None:
    loaded = asyncio.Event()
    async with a_worker(loaded) as worker:
        worker.status.say("fetching: 40 %")
        told = await health(worker.http, worker.url)
        assert not told.ready
        async with worker.http.get(f"{worker.url}/health") as answer:
            assert answer.status == 503
            said = await answer.json()
        assert (said["live"], said["status"], said["detail"]) == (True, "loading", "fetching: 40 %")
        async with worker.http.post(
            f"{worker.url}/v1/audio/speech", json={"input": "a"}, headers=BEARER
        ) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
            assert (await answer.json())["error"]["type"] == "unavailable_error"
        loaded.set()
        await eventually(lambda: worker.status.phase is Phase.READY)
        told = await health(worker.http, worker.url)
        assert (told.ready, told.model, told.device) == (True, "fake-model", "cpu")


async def test_a_draining_worker_takes_nothing_new(worker: Worker) -> None:
    worker.status.enter(Phase.DRAINING)
    status, body = await worker.post_wav(wav())
    assert (status, body["error"]["code"]) == (503, "draining")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret-key"}])
async def test_the_key_is_asked_for(worker: Worker, headers: dict[str, str]) -> None:
    async with worker.http.post(
        f"{worker.url}/v1/audio/speech", json={"input": "a"}, headers=headers
    ) as answer:
        assert answer.status == 401
        error = (await answer.json())["error"]
    assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")
    async with worker.http.get(f"{worker.url}/metrics") as answer:
        assert 'voicebot_stt_requests_total{status="401"} 1.0' in await answer.text()


@pytest.mark.parametrize("root_path", ["", "/stt", "/stt/"])
async def test_the_key_is_asked_for_behind_a_proxys_prefix(root_path: str) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it got through")

    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    async def nothing_comes() -> Any:
        return {"type": "http.disconnect"}

    guard = Guard(app, refusal=lambda: None, api_key=KEY, max_body=10, answered=lambda *_: None)
    path = root_path.rstrip("/") + "/v1/audio/transcriptions"
    await guard({"type": "http", "path": path, "root_path": root_path, "headers": []}, nothing_comes, send)
    assert statuses[0] == 401


async def test_a_transcript_in_each_form(worker: Worker) -> None:
    worker.model.may_end.release(2)
    status, body = await worker.post_wav(wav(), prompt="Two people.", response_format="verbose_json")
    assert status == 200
    assert (body["text"], body["language"], body["duration"]) == ("Two people.", "en", 1.0)
    assert body["segments"][0]["end"] == 1.0
    assert await worker.post_wav(wav(), prompt="Hi.") == (200, {"text": "Hi."})


@pytest.mark.parametrize(("priority", "draft"), [("final", False), ("eager", False), ("partial", True)])
async def test_only_a_partial_is_a_draft(
    worker: Worker, priority: Literal["final", "eager", "partial"], draft: bool
) -> None:
    worker.model.may_end.release()
    async with SttClient(worker.url, api_key=KEY) as stt:
        await stt.transcribe(PCM, 8000, priority=priority, deadline_ms=None, call_id="c1", language="en")
    assert worker.model.drafts == [draft]


@pytest.mark.parametrize(
    ("asked", "measured"), [((), None), (("Mm", "OK"), -2.5), (("ça", "d'accord", "50 %"), -2.5)]
)
async def test_first_words_go_with_the_request_and_come_back_as_a_measure(
    worker: Worker, asked: tuple[str, ...], measured: float | None
) -> None:
    worker.model.may_end.release()
    async with SttClient(worker.url, api_key=KEY) as stt:
        heard = await stt.transcribe(
            PCM, 8000, priority="final", deadline_ms=None, call_id="c1", language="en", first_words=asked
        )
    assert worker.model.first_words == [asked]
    assert heard.first_words_logprob == measured


def test_how_a_turn_sounds_stands_in_the_answer_only_where_it_is_known() -> None:
    heard = Transcript("Hi.", "en", 1.0, 0.0, -0.1)
    assert "turn_end_prob" not in stt_api.verbose(heard)
    assert stt_api.verbose(replace(heard, turn_end=0.91234))["turn_end_prob"] == 0.9123


async def test_our_client_and_our_worker_understand_each_other(worker: Worker) -> None:
    worker.model.may_end.release()
    async with SttClient(worker.url, api_key=KEY) as stt:
        heard = await stt.transcribe(
            PCM, 8000, priority="eager", deadline_ms=4000, call_id="c1", language="en", prompt="Hello."
        )
    assert (heard.text, heard.seconds, heard.no_speech_prob) == ("Hello.", 1.0, 0.0)
    async with (
        TtsClient(worker.url, api_key=KEY) as tts,
        tts.speak("One. Two", voice=None, call_id="c1") as speech,
    ):
        assert speech.rate == VOICE_RATE
        assert b"".join([pcm async for pcm in speech]) == sentence() * 2


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": "srt"}, "response_format"),
        ({"language": "xx"}, "language"),
        ({"prompt": "a" * 3000}, "prompt"),
    ],
)
async def test_what_is_wrong_with_a_request_is_named(
    worker: Worker, fields: dict[str, str], param: str
) -> None:
    status, body = await worker.post_wav(wav(), **fields)
    assert (status, body["error"]["param"]) == (400, param)
    assert body["error"]["type"] == "invalid_request_error"


async def test_wrong_sound_is_400(worker: Worker) -> None:
    status, body = await worker.post_wav(b"no sound")
    assert (status, body["error"]["code"]) == (400, "invalid_audio")


@pytest.mark.parametrize("stated", [True, False])
async def test_too_large_is_413_with_and_without_a_stated_length(stated: bool) -> None:
    async with a_ready_worker(max_body=10_000) as worker:

        async def parts() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield bytes(1000)

        async with worker.http.post(
            f"{worker.url}/v1/audio/speech", data=bytes(20_000) if stated else parts(), headers=BEARER
        ) as answer:
            assert answer.status == 413
            assert (await answer.json())["error"]["code"] == "request_too_large"


async def test_a_client_that_hangs_up_leaves_the_line(worker: Worker) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(worker.post_wav(wav(), prompt="first"))
        assert await worker.model.next_batch() == ["first"]
        gone = group.create_task(worker.post_wav(wav(), prompt="gone"))
        await eventually(lambda: worker.scheduler.waiting == 1)
        gone.cancel()
        await eventually(lambda: worker.scheduler.waiting == 0)
        worker.model.may_end.release()
        assert await first == (200, {"text": "first"})
    assert worker.model.began.empty()


async def test_speech_as_pcm_and_as_wav(worker: Worker) -> None:
    status, pcm, headers = await worker.speech(input="One. Two", response_format="pcm")
    assert (status, pcm) == (200, sentence() * 2)
    assert (headers["X-Sample-Rate"], headers["X-Channels"]) == (str(VOICE_RATE), "1")
    _, body, _ = await worker.speech(input="One", speed=2.0)
    with wave.open(io.BytesIO(body)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (VOICE_RATE, 1, 2)
    assert body[44:] == sentence(2.0)


async def test_the_first_sentence_is_sent_before_the_second_is_made(worker: Worker) -> None:
    while worker.voice.may_begin.acquire(blocking=False):
        pass
    worker.voice.may_begin.release()
    async with worker.http.post(
        f"{worker.url}/v1/audio/speech", json={"input": "One. Two", "response_format": "pcm"}, headers=BEARER
    ) as answer:
        assert await answer.content.readexactly(len(sentence())) == sentence()
        assert worker.voice.made == 1
        worker.voice.may_begin.release()
        assert await answer.read() == sentence()


async def test_a_listener_that_hangs_up_ends_the_synthesis(worker: Worker) -> None:
    while worker.voice.may_begin.acquire(blocking=False):
        pass
    worker.voice.may_begin.release()
    running = asyncio.all_tasks()
    text = "a." * 50
    async with worker.http.post(
        f"{worker.url}/v1/audio/speech", json={"input": text, "response_format": "pcm"}, headers=BEARER
    ) as answer:
        await answer.content.readexactly(len(sentence()))
        answer.close()
    await eventually(lambda: asyncio.all_tasks() <= running)
    worker.voice.may_begin.release(100)
    assert (await worker.speech(input="Next", response_format="pcm"))[0] == 200
    # the one that was begun when the client left may still be made
    assert 1 <= worker.voice.said.count(text) <= 2


@pytest.mark.parametrize(
    ("asked", "code", "param"),
    [
        ({"input": ""}, "nothing_to_say", "input"),
        ({"input": "... — !"}, "nothing_to_say", "input"),
        ({"input": "a", "voice": "alloy"}, "unknown_voice", "voice"),
        ({"input": "a", "response_format": "mp3"}, "invalid_value", "response_format"),
        ({"input": "a", "speed": 9}, "invalid_value", "speed"),
        ({"input": "a", "speed": True}, "invalid_value", "speed"),
        ({"input": "a", "speed": "1"}, "invalid_value", "speed"),
        ({"input": "a" * 5000}, "invalid_value", "input"),
        ({}, "invalid_value", "input"),
    ],
)
async def test_speech_that_cannot_be_made(
    worker: Worker, asked: dict[str, Any], code: str, param: str
) -> None:
    async with worker.http.post(f"{worker.url}/v1/audio/speech", json=asked, headers=BEARER) as answer:
        assert answer.status == 400
        error = (await answer.json())["error"]
    assert (error["code"], error["param"]) == (code, param)


async def test_junk_json_and_a_wrong_method_are_told_in_the_same_shape(worker: Worker) -> None:
    url = f"{worker.url}/v1/audio/speech"
    headers = {**BEARER, "Content-Type": "application/json"}
    async with worker.http.post(url, data=b'{"input":', headers=headers) as answer:
        assert answer.status == 400
        assert (await answer.json())["error"]["message"] == "the body is not JSON"
    async with worker.http.delete(url, headers=BEARER) as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert (await answer.json())["error"]["code"] == "http_error"


async def test_a_voice_is_chosen_by_name_and_an_unknown_one_is_told_which_there_are(worker: Worker) -> None:
    for named in (None, "", "default", "fake", "other", "/opt/voices/other.onnx"):
        status, _, _ = await worker.speech(input="One", response_format="pcm", voice=named)
        assert status == 200
    assert worker.voice.made == 4
    _, body, _ = await worker.speech(input="One", voice="/etc/passwd")
    assert "unknown voice '/etc/passwd': this worker has 'fake', 'other'" in body.decode()


async def test_the_listener_who_runs_dry_first_is_served_first(worker: Worker) -> None:
    while worker.voice.may_begin.acquire(blocking=False):
        pass
    url, left = (
        f"{worker.url}/v1/audio/speech",
        {"first": 0, "talks": 9000, "hears nothing": 0, "nearly": 300},
    )
    async with asyncio.TaskGroup() as group:
        for number, (text, left_ms) in enumerate(left.items()):
            asked = {"input": text, "response_format": "pcm"}
            headers = {**BEARER, "X-Deadline-Ms": str(left_ms)}
            group.create_task(_read(worker.http.post(url, json=asked, headers=headers)))
            await eventually(lambda number=number: worker.speaker.waiting == number)  # type: ignore[misc]
        worker.voice.may_begin.release(10)
    assert worker.voice.said == ["first", "hears nothing", "nearly", "talks"]


async def _read(answer: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> None:
    async with answer as opened:
        assert opened.status == 200
        await opened.read()


class LibraryError(Exception):
    """As ONNX runtime's and the tokenizer's: of no base but `Exception`."""


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), LibraryError("out of memory")])
async def test_a_voice_that_fails_is_500_and_serves_the_next(worker: Worker, error: Exception) -> None:
    worker.voice.error = error
    status, body, _ = await worker.speech(input="One")
    assert (status, b"out of memory" in body) == (500, True)
    worker.voice.error = None
    assert (await worker.speech(input="One", response_format="pcm"))[0] == 200


async def test_too_many_sentences_are_429() -> None:
    async with a_ready_worker(queue_limit=1) as worker, asyncio.TaskGroup() as group:
        while worker.voice.may_begin.acquire(blocking=False):
            pass
        held = [group.create_task(worker.speech(input="One", response_format="pcm")) for _ in range(2)]
        await eventually(lambda: worker.speaker.waiting == 1)
        status, _, headers = await worker.speech(input="One")
        assert (status, headers["Retry-After"]) == (429, "1")
        worker.voice.may_begin.release(2)
        assert [(await task)[0] for task in held] == [200, 200]


async def test_any_other_path_is_an_openai_error(worker: Worker) -> None:
    async with worker.http.get(f"{worker.url}/v1/models/x", headers=BEARER) as answer:
        assert answer.status == 404
        assert (await answer.json())["error"]["type"] == "invalid_request_error"


async def _connected(worker: Worker, begins: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(worker.url.rpartition(":")[2]))
    writer.write(begins)
    return reader, writer


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _is_cut(reader: asyncio.StreamReader) -> bool:
    """Waits for it."""
    try:
        while await reader.read(1000):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("begins", [b"", SLOW])
async def test_who_holds_connections_open_keeps_nobody_out(
    worker: Worker, begins: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_workers.door.MOST_SILENT", 8)
    async with AsyncExitStack() as stack:
        held = [await _connected(worker, begins) for _ in range(20)]
        for _, writer in held:
            stack.push_async_callback(_closed, writer)
        worker.model.may_end.release()
        assert (await worker.post_wav(wav()))[0] == 200
        # the oldest made room for the newest
        assert all([await _is_cut(reader) for reader, _ in held[:12]])
        assert not any(reader.at_eof() for reader, _ in held[-7:])


@pytest.mark.parametrize(("is_first", "begins"), [(True, b""), (True, SLOW), (False, SLOW)])
async def test_a_request_has_its_time_to_be_asked(
    worker: Worker, begins: bytes, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_workers.door.ASK_S", 0.2)
    reader, writer = await _connected(worker, b"" if is_first else b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    if not is_first:
        await reader.readuntil(b"}")
    writer.write(begins)
    async with asyncio.timeout(30):
        assert await _is_cut(reader)
    await _closed(writer)


async def test_an_answer_that_takes_longer_is_none_of_that(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_workers.door.ASK_S", 0.05)
    asking = asyncio.create_task(worker.post_wav(wav()))
    await asyncio.to_thread(worker.model.began.get)
    await asyncio.sleep(0.3)
    worker.model.may_end.release()
    assert (await asking)[0] == 200


def _app(status: Status, living: Living) -> FastAPI:
    return create_app(status, Metrics(status), APIRouter(), living, None, 1000)


def _status() -> Status:
    return Status("stt", "m", "cpu", lambda: 0)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def test_a_model_that_cannot_be_loaded_ends_the_worker() -> None:
    def living() -> AbstractAsyncContextManager[None]:
        raise ModelError("no such model")

    status = _status()
    with pytest.raises(ModelError, match="no such model"):
        run_app(_app(status, living), SttSettings(port=_free_port()), status)


def test_an_engine_that_fails_in_a_way_of_its_own_ends_the_worker_and_says_how(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def living() -> AbstractAsyncContextManager[None]:
        raise LibraryError("no such graph")

    status = _status()
    with pytest.raises(ModelError, match="ended by itself with LibraryError, see the log"):
        run_app(_app(status, living), SttSettings(port=_free_port()), status)
    (told,) = [record for record in caplog.records if record.exc_info]
    assert "the stt worker's engine failed" in told.getMessage()


def test_a_port_in_use_is_named() -> None:
    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        yield

    status = _status()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        with pytest.raises(ModelError, match=rf"127\.0\.0\.1:{port}.*workers\.stt\.port"):
            run_app(_app(status, living), SttSettings(port=port), status)
