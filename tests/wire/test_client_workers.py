"""The worker clients against servers on loopback, well and broken."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest
from pydantic import SecretStr

from gpu_workers.client import (
    Health,
    Limits,
    LlmClient,
    Message,
    SttClient,
    ToolCall,
    TtsClient,
    WorkerError,
    each_health,
    health,
    together,
    worker_session,
)
from tests.support.fake_workers import (
    FakeLlm,
    FakeStt,
    FakeToolCall,
    FakeWorkers,
    Fault,
    fake_workers,
    served,
    tone,
)
from tests.support.raw_http import raw_server

ASKED = [Message("system", "Be brief."), Message("user", "What does it cost?")]
PCM = tone(440, 0.5, 8000)
LLM_PATH = "/v1/chat/completions"


@pytest.fixture
async def fakes() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as started:
        yield started


async def _said(llm: LlmClient) -> list[str | ToolCall]:
    async with llm.stream(ASKED, max_tokens=50, temperature=0.2, call_id="c1") as answer:
        return [piece async for piece in answer]


async def _heard(stt: SttClient, deadline_ms: int | None = None) -> str:
    heard = await stt.transcribe(
        PCM, 8000, priority="final", deadline_ms=deadline_ms, call_id="c1", language="en"
    )
    return heard.text


async def _sound(tts: TtsClient, text: str = "Hello there.") -> tuple[bytes, int]:
    async with tts.speak(text, voice=None, call_id="c1") as speech:
        return b"".join([pcm async for pcm in speech]), speech.rate


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the other side is a server, with counters only
            await asyncio.sleep(0.005)


def _free_url() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


class TestStt:
    async def test_an_utterance_becomes_text(self, fakes: FakeWorkers) -> None:
        fakes.stt.answers = ["  Good morning. "]
        async with SttClient(fakes.stt_url) as stt:
            heard = await stt.transcribe(
                PCM, 8000, priority="eager", deadline_ms=900, call_id="c1", language="en", prompt="x"
            )
        assert (heard.text, heard.language, heard.seconds) == ("Good morning.", "en", 0.5)
        assert heard.no_speech_prob == pytest.approx(0.01)
        assert heard.avg_logprob == pytest.approx(-0.2)
        (asked,) = fakes.stt.requests
        assert (asked.pcm, asked.rate) == (PCM, 8000)
        assert (asked.priority, asked.deadline_ms, asked.call_id, asked.language) == (
            "eager",
            900,
            "c1",
            "en",
        )

    @pytest.mark.parametrize(
        ("sent", "understood"),
        [(None, None), (0.93, 0.93), (0, 0.0), (1.2, None), ("often", None), (True, None)],
    )
    async def test_how_a_turn_sounds_is_taken_where_a_server_says_it(
        self, fakes: FakeWorkers, sent: object, understood: float | None
    ) -> None:
        fakes.stt.turn_end_prob = sent
        async with SttClient(fakes.stt_url) as stt:
            heard = await stt.transcribe(
                PCM, 8000, priority="eager", deadline_ms=None, call_id="c1", language=None
            )
        assert heard.turn_end == understood

    @pytest.mark.parametrize(
        ("sent", "understood"), [(-3.4, -3.4), (None, None), ("few", None), (True, None)]
    )
    async def test_a_measure_of_the_first_words_is_taken_where_a_server_knows_them(
        self, fakes: FakeWorkers, sent: object, understood: float | None
    ) -> None:
        fakes.stt.first_words_logprob = sent
        async with SttClient(fakes.stt_url) as stt:
            heard = await stt.transcribe(
                PCM,
                8000,
                priority="final",
                deadline_ms=None,
                call_id="c1",
                language="en",
                first_words=("mm", "é"),
            )
        assert heard.first_words_logprob == understood
        assert [one.first_words for one in fakes.stt.requests] == ["mm,%C3%A9"]

    async def test_a_long_utterance_goes_without_a_warning(self, fakes: FakeWorkers) -> None:
        """aiohttp warns of a body of more than 1 MiB that is no file."""
        fakes.stt.answers = ["A long story."]
        async with SttClient(fakes.stt_url) as stt:
            heard = await stt.transcribe(
                bytes(2 * 8000 * 90), 8000, priority="final", deadline_ms=None, call_id="c1", language="en"
            )
        assert (heard.text, heard.seconds) == ("A long story.", 90.0)

    async def test_eager_and_final_of_one_utterance_get_one_answer(self, fakes: FakeWorkers) -> None:
        fakes.stt.answers = ["First.", "Second."]
        async with SttClient(fakes.stt_url) as stt:
            eager = await stt.transcribe(
                PCM, 8000, priority="eager", deadline_ms=None, call_id="c1", language=None
            )
            texts = [eager.text, await _heard(stt), await _heard(stt)]
        assert texts == ["First.", "First.", "Second."]

    async def test_cancelling_drops_the_request(self, fakes: FakeWorkers) -> None:
        fakes.stt.delay_s = 60
        async with SttClient(fakes.stt_url) as stt:
            task = asyncio.create_task(_heard(stt))
            await _until(lambda: fakes.stt.running == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await _until(lambda: fakes.stt.running == 0)
        assert fakes.stt.aborted == 1

    async def test_the_deadline_is_kept(self, fakes: FakeWorkers) -> None:
        fakes.stt.fault = Fault.hang()
        async with SttClient(fakes.stt_url) as stt:
            with pytest.raises(
                WorkerError, match=(r"STT worker at http://127.0.0.1:\d+/v1/audio/.*no answer in time")
            ) as caught:
                await _heard(stt, deadline_ms=100)
        assert caught.value.retryable
        assert len(fakes.stt.requests) == 1


class TestLlm:
    async def test_an_answer_comes_piece_by_piece(self, fakes: FakeWorkers) -> None:
        fakes.llm.replies = ["It costs $19."]
        async with LlmClient(fakes.llm_url, model="m") as llm:
            assert await _said(llm) == ["It", " costs", " $19."]
        (asked,) = fakes.llm.requests
        assert asked["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What does it cost?"},
        ]
        assert (asked["max_tokens"], asked["temperature"], asked["stream"], asked["model"]) == (
            50,
            0.2,
            True,
            "m",
        )
        assert (fakes.llm.finished, fakes.llm.aborted) == (1, 0)

    async def test_a_tool_call_comes_whole(self, fakes: FakeWorkers) -> None:
        fakes.llm.replies = [FakeToolCall("transfer", {"to": "workshop"})]
        async with (
            LlmClient(fakes.llm_url) as llm,
            llm.stream(
                ASKED, max_tokens=9, temperature=0, call_id="c", tools=[{"type": "function"}]
            ) as answer,
        ):
            assert [piece async for piece in answer] == [ToolCall("call_0", "transfer", '{"to": "workshop"}')]
            assert answer.finish_reason == "tool_calls"

    async def test_a_cut_answer_says_so(self, fakes: FakeWorkers) -> None:
        fakes.llm.finish_reason = "length"
        async with (
            LlmClient(fakes.llm_url) as llm,
            llm.stream(ASKED, max_tokens=1, temperature=0, call_id="c") as answer,
        ):
            assert [piece async for piece in answer]
            assert answer.finish_reason == "length"

    async def test_leaving_stops_the_model(self, fakes: FakeWorkers) -> None:
        fakes.llm.replies = [["word "] * 1000]
        fakes.llm.token_delay_s = 0.01
        async with LlmClient(fakes.llm_url) as llm:
            for _ in range(20):
                async with llm.stream(ASKED, max_tokens=9, temperature=0, call_id="c") as answer:
                    assert await anext(answer) == "word "
                await _until(lambda: fakes.llm.running == 0)
        assert fakes.llm.aborted == 20

    async def test_cancelling_while_waiting_stops_the_model(self, fakes: FakeWorkers) -> None:
        fakes.llm.delay_s = 60
        async with LlmClient(fakes.llm_url) as llm:
            task = asyncio.create_task(_said(llm))
            await _until(lambda: fakes.llm.running == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await _until(lambda: fakes.llm.running == 0)

    async def test_a_connection_cut_amid_the_answer(self, fakes: FakeWorkers) -> None:
        fakes.llm.faults = [Fault.die(after=2)]
        got = []
        async with (
            LlmClient(fakes.llm_url) as llm,
            llm.stream(ASKED, max_tokens=9, temperature=0, call_id="c") as answer,
        ):
            with pytest.raises(WorkerError, match="connection broke") as caught:
                async for piece in answer:
                    got.append(piece)  # noqa: PERF401
        assert got == ["Hello.", " How"]
        assert caught.value.retryable
        assert len(fakes.llm.requests) == 1

    async def test_a_model_that_falls_silent(self, fakes: FakeWorkers) -> None:
        fakes.llm.token_delay_s = 60
        async with (
            LlmClient(fakes.llm_url, limits=Limits(silence_s=0.1)) as llm,
            llm.stream(ASKED, max_tokens=9, temperature=0, call_id="c") as answer,
        ):
            assert await anext(answer) == "Hello."
            with pytest.raises(WorkerError, match="fell silent"):
                await anext(answer)


class TestTts:
    async def test_speech_is_heard_with_its_rate(self, fakes: FakeWorkers) -> None:
        fakes.tts.rate = 22050
        async with TtsClient(fakes.tts_url) as tts:
            pcm, rate = await _sound(tts, "Hello there.")
            await _sound(tts, "Again.")
        assert rate == 22050
        assert pcm == tone(500, 12 * 0.06, 22050)
        assert [(spoken.text, spoken.hz) for spoken in fakes.tts.spoken] == [
            ("Hello there.", 500),
            ("Again.", 600),
        ]

    async def test_the_first_chunk_does_not_wait_for_the_rest(self, fakes: FakeWorkers) -> None:
        fakes.tts.chunk_delay_s = 0.02
        async with TtsClient(fakes.tts_url) as tts, tts.speak("x" * 1000, voice="joe", call_id="c") as speech:
            assert len(await anext(speech)) >= 2
            assert fakes.tts.finished == 0
        await _until(lambda: fakes.tts.running == 0)
        assert fakes.tts.aborted == 1
        assert fakes.tts.spoken[0].voice == "joe"

    async def test_a_worker_that_dies_amid_a_sentence(self, fakes: FakeWorkers) -> None:
        fakes.tts.faults = [Fault.die(after=2)]
        async with TtsClient(fakes.tts_url) as tts:
            with pytest.raises(WorkerError, match=r"TTS worker at .*the connection broke") as caught:
                await _sound(tts)
        assert caught.value.retryable


class TestFaults:
    @pytest.mark.parametrize(
        ("status", "tries"), [(500, 2), (502, 2), (408, 2), (429, 2), (503, 2), (400, 1), (404, 1), (413, 1)]
    )
    async def test_a_status(self, fakes: FakeWorkers, status: int, tries: int) -> None:
        fakes.llm.fault = Fault.status(status)
        async with LlmClient(fakes.llm_url) as llm:
            with pytest.raises(
                WorkerError, match=(rf"LLM worker at http://.*status {status}, scripted {status}")
            ) as caught:
                await _said(llm)
        assert caught.value.status == status
        assert caught.value.retryable is (status in {408, 429} or status >= 500)
        assert fakes.llm.finished == tries

    @pytest.mark.parametrize("fault", [Fault.status(500), Fault.die()])
    async def test_one_failure_is_not_noticed(self, fakes: FakeWorkers, fault: Fault) -> None:
        fakes.stt.faults, fakes.llm.faults, fakes.tts.faults = [fault], [fault], [fault]
        async with (
            SttClient(fakes.stt_url) as stt,
            LlmClient(fakes.llm_url) as llm,
            TtsClient(fakes.tts_url) as tts,
        ):
            assert await _heard(stt) == "Hello."
            assert await _said(llm)
            assert (await _sound(tts))[0]

    async def test_a_full_worker_is_left_for_another(self, fakes: FakeWorkers) -> None:
        other = FakeLlm(replies=["From the other."])
        fakes.llm.fault = Fault.status(429)
        async with served(other, LLM_PATH) as url, LlmClient([fakes.llm_url, url]) as llm:
            for _ in range(3):
                assert "".join(map(str, await _said(llm))) == "From the other."
        assert fakes.llm.finished == 1

    async def test_replicas_share_the_work(self) -> None:
        one, two = FakeStt(), FakeStt()
        path = "/v1/audio/transcriptions"
        async with served(one, path) as a, served(two, path) as b, SttClient([a, b + "/v1"]) as stt:
            for _ in range(6):
                await _heard(stt)
        assert (one.finished, two.finished) == (3, 3)

    async def test_a_server_without_that_page_is_asked_for_its_models(self) -> None:
        """Ray Serve's of vLLM, and OpenAI's own."""
        asked: list[str] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            asked.append(path)
            status = b"200 OK" if path == "/llm/v1/models" else b"404 Not Found"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            writer.close()
            await writer.wait_closed()

        async with raw_server(answer) as url, worker_session() as session:
            assert (await health(session, f"{url}/llm")).ready
            assert asked == ["/llm/health", "/llm/v1/models"]
            assert (await health(session, f"{url}/nothing")).detail == "status 404"

    async def test_nobody_listens(self) -> None:
        url = _free_url()
        async with LlmClient(url) as llm:
            with pytest.raises(
                WorkerError,
                match=(rf"LLM worker at {url}/v1/chat/completions: cannot connect.*is it running"),
            ):
                await _said(llm)

    async def test_a_dead_replica_is_passed_over(self, fakes: FakeWorkers) -> None:
        async with LlmClient([_free_url(), fakes.llm_url]) as llm:
            for _ in range(4):
                assert await _said(llm)

    @pytest.mark.parametrize(
        "url", ["nonsense", "http://", "http://[::1", "ftp://127.0.0.1", "http://me:secret@127.0.0.1"]
    )
    def test_a_url_that_is_none(self, url: str) -> None:
        with pytest.raises(ValueError, match="the LLM worker's url") as caught:
            LlmClient(url)
        assert "secret" not in str(caught.value)

    async def test_use_outside_of_its_session(self) -> None:
        with pytest.raises(RuntimeError, match="async with"):
            await _said(LlmClient("http://127.0.0.1:1"))


class TestSecrets:
    async def test_the_key_is_sent(self, fakes: FakeWorkers) -> None:
        fakes.llm.api_key = "k-123"
        async with LlmClient(fakes.llm_url, api_key=SecretStr("k-123")) as llm:
            assert await _said(llm)

    async def test_the_key_is_in_no_error(self) -> None:
        async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            body = b'{"error": {"message": "wrong key k-123"}}'
            writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        async with raw_server(repeat) as url, LlmClient(url, api_key=SecretStr("k-123")) as llm:
            with pytest.raises(WorkerError, match="api_key") as caught:
                await _said(llm)
        assert "k-123" not in str(caught.value)


class TestHealth:
    async def test_ready_and_not(self, fakes: FakeWorkers) -> None:
        async with worker_session() as session:
            assert await health(session, fakes.stt_url + "/v1") == Health(True, "FakeStt", "cpu")
            fakes.stt.ready = False
            assert (await health(session, fakes.stt_url)).ready is False

    async def test_of_equal_workers_one_that_is_ready_is_enough(self, fakes: FakeWorkers) -> None:
        fakes.stt.ready = False
        async with worker_session() as session:
            found = together(await each_health(session, [fakes.stt_url, fakes.tts_url]))
            assert found == Health(True, "FakeTts", "cpu")
            fakes.tts.ready = False
            found = together(await each_health(session, [fakes.stt_url, fakes.tts_url]))
            assert (found.ready, found.model) == (False, "FakeStt")

    @pytest.mark.parametrize(
        ("rooms", "sum_of_them"), [((20, 5), 25), ((20, None), None), ((None, None), None)]
    )
    async def test_equal_workers_have_room_together(
        self, fakes: FakeWorkers, rooms: tuple[int | None, int | None], sum_of_them: int | None
    ) -> None:
        fakes.stt.max_calls, fakes.tts.max_calls = rooms
        async with worker_session() as session:
            found = together(await each_health(session, [fakes.stt_url, fakes.tts_url]))
            assert (found.model, found.max_calls) == ("FakeStt", sum_of_them)
            fakes.stt.ready = False
            found = together(await each_health(session, [fakes.stt_url, fakes.tts_url]))
            assert (found.model, found.max_calls) == ("FakeTts", rooms[1]), "who is away has room for none"

    async def test_nobody_listens(self) -> None:
        async with worker_session() as session:
            found = await health(session, _free_url())
        assert not found.ready
        assert "cannot connect" in found.detail

    async def test_no_answer(self) -> None:
        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            await writer.wait_closed()

        async with raw_server(hang) as url, worker_session() as session:
            assert await health(session, url, timeout_s=0.05) == Health(False, detail="no answer in time")


async def test_one_session_for_all(fakes: FakeWorkers) -> None:
    async with worker_session() as session:
        async with (
            LlmClient(fakes.llm_url, session=session) as llm,
            TtsClient(fakes.tts_url, session=session) as tts,
        ):
            assert await _said(llm)
            assert (await _sound(tts))[0]
        assert not session.closed
