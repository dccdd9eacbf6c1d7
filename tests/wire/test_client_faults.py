"""Workers that hang, crash, are full or come back, and what their clients do (W1, W2, W4, W11), in virtual time."""

import asyncio
import logging
import resource
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from gpu_workers.client import Limits, LlmClient, Message, SttClient, WorkerError
from gpu_workers.client.replicas import FAILURES
from tests.support.fake_workers import FakeLlm, FakeStt, Fault, served, tone
from tests.support.raw_http import raw_server

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

STT_PATH, LLM_PATH = "/v1/audio/transcriptions", "/v1/chat/completions"
PCM = tone(440, 0.5, 8000)
PATIENCE_S = 4.0


async def heard(stt: SttClient, deadline_ms: int | None = 6000) -> str:
    found = await stt.transcribe(
        PCM, 8000, priority="final", deadline_ms=deadline_ms, call_id="c", language=None
    )
    return found.text


async def said(llm: LlmClient) -> str:
    asked = [Message("user", "What does it cost?")]
    async with llm.stream(asked, max_tokens=50, temperature=0, call_id="c") as answer:
        return "".join([piece async for piece in answer if isinstance(piece, str)])


async def with_patience(stt: SttClient) -> str:
    """As a call asks: whoever gives up cancels the request."""
    async with asyncio.timeout(PATIENCE_S):
        return await heard(stt)


def now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def two(**limits: float) -> AsyncIterator[tuple[FakeStt, FakeStt, SttClient]]:
    one, other = FakeStt(answers=["one"]), FakeStt(answers=["other"])
    async with (
        served(one, STT_PATH) as a,
        served(other, STT_PATH) as b,
        SttClient([a, b], limits=Limits(**limits)) as stt,
    ):
        yield one, other, stt


class TestTwoReplicas:
    @pytest.mark.parametrize("fault", [Fault.die(), Fault.hang(), Fault.status(500), Fault.status(429)])
    def test_whatever_one_does_the_other_answers_within_the_deadline(
        self, virtual_time: RunVirtual, fault: Fault
    ) -> None:
        """W1."""

        async def main() -> None:
            async with two() as (one, other, stt):
                one.fault = fault
                for _ in range(4):
                    began = now()
                    assert await heard(stt) == "other"
                    assert now() - began <= 1.7
                assert other.finished == 4

        virtual_time(main())

    def test_the_second_try_is_the_last(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with two() as (one, other, stt):
                one.fault = other.fault = Fault.status(500)
                with pytest.raises(WorkerError, match="status 500"):
                    await heard(stt)
                assert (one.finished, other.finished) == (1, 1)

        virtual_time(main())

    def test_no_try_is_begun_after_the_deadline(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with two(silence_s=60) as (one, other, stt):
                one.fault = Fault.hang()
                with pytest.raises(WorkerError, match="no answer in time"):
                    await heard(stt, deadline_ms=1000)
                assert now() == pytest.approx(1.0, abs=0.1)
                assert not other.requests

        virtual_time(main())

    def test_where_both_are_slow_both_keep_their_callers(self, virtual_time: RunVirtual) -> None:
        """Overload is no fault: leaving workers for being slow would leave all of them."""

        async def main() -> None:
            async with two() as (one, other, stt):
                one.delay_s = other.delay_s = 2.5
                for _ in range(8):
                    await heard(stt)
                assert one.finished + other.finished == 8
                assert one.aborted + other.aborted <= 3

        virtual_time(main())


class TestTheOnlyOne:
    def test_one_that_hangs_is_asked_by_no_fourth_caller_until_it_is_well(
        self, virtual_time: RunVirtual, caplog: pytest.LogCaptureFixture
    ) -> None:
        """W2: open after three in 30 s; a health probe, and a request that goes well, close it."""

        async def main() -> None:
            worker = FakeStt(fault=Fault.hang())
            async with served(worker, STT_PATH) as url, SttClient(url) as stt:
                for _ in range(3):
                    with pytest.raises(TimeoutError):
                        await with_patience(stt)
                worker.ready = False
                began = now()
                for _ in range(20):
                    with pytest.raises(WorkerError, match="STT worker: none is asked") as caught:
                        await heard(stt)
                    assert caught.value.retryable
                    await asyncio.sleep(0.3)
                assert now() - began < 6.1, "nobody waited for it"
                assert len(worker.requests) == 3
                worker.fault, worker.ready = None, True
                await asyncio.sleep(2.5)
                assert await heard(stt) == "Hello."

        with caplog.at_level(logging.INFO, "gpu_workers.client"):
            virtual_time(main())
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"], "no flood of lines"

    def test_a_model_that_hangs_behind_a_good_health_is_tried_by_one_caller_at_a_time(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            worker = FakeStt(fault=Fault.hang())
            async with served(worker, STT_PATH) as url, SttClient(url) as stt:
                for _ in range(3):
                    with suppress(TimeoutError):
                        await with_patience(stt)
                await asyncio.sleep(4)
                asked = await asyncio.gather(*(with_patience(stt) for _ in range(10)), return_exceptions=True)
                assert sum(isinstance(one, TimeoutError) for one in asked) == 1
                assert sum(isinstance(one, WorkerError) for one in asked) == 9
                worker.fault = None
                await asyncio.sleep(4)
                assert await heard(stt) == "Hello."
                assert await heard(stt) == "Hello."

        virtual_time(main())

    def test_impatient_callers_do_not_make_it_a_bad_one(self, virtual_time: RunVirtual) -> None:
        """Interruptions, and partials with their short deadlines, cancel requests all the time."""

        async def main() -> None:
            worker = FakeStt(delay_s=0.8)
            async with served(worker, STT_PATH) as url, SttClient(url) as stt:
                for _ in range(5):
                    with pytest.raises(WorkerError, match="no answer in time"):
                        await heard(stt, deadline_ms=300)
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(0.5):
                            await heard(stt)
                assert await heard(stt) == "Hello."

        virtual_time(main())

    def test_a_request_that_fails_in_the_moment_it_is_well_again_is_no_end_for_good(
        self, virtual_time: RunVirtual, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def main() -> None:
            worker = FakeStt(fault=Fault.die())
            async with served(worker, STT_PATH) as url, SttClient(url) as stt:
                link = stt._link
                well, late = link._replicas.well, [link.failed]

                def well_and_an_old_one_fails(base: str) -> bool:
                    if late:
                        asyncio.get_running_loop().call_soon(late.pop(), base)
                    return well(base)

                with suppress(WorkerError):
                    await heard(stt)
                with suppress(WorkerError):
                    await heard(stt)
                worker.fault = None
                monkeypatch.setattr(link._replicas, "well", well_and_an_old_one_fails)
                await asyncio.sleep(10)
                assert not late
                assert await heard(stt) == "Hello."

        virtual_time(main())

    def test_what_was_read_ahead_in_vain_does_not_make_it_a_bad_one(self, virtual_time: RunVirtual) -> None:
        """Four callers on a CPU: a talk takes longer to read than its caller to speak. Nobody waited for that."""

        async def main() -> None:
            worker = FakeLlm(delay_s=PATIENCE_S + 1)
            async with served(worker, LLM_PATH) as url, LlmClient(url) as llm:
                for _ in range(4):
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(PATIENCE_S):
                            await llm.read_ahead([Message("user", "Hello.")], call_id="c")
                worker.delay_s = 0.0
                assert await said(llm) == "Hello. How can I help you?"

        virtual_time(main())

    def test_requests_that_are_wrong_do_not_make_it_a_bad_one(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            worker = FakeStt(fault=Fault.status(400))
            async with served(worker, STT_PATH) as url, SttClient(url) as stt:
                for _ in range(5):
                    with pytest.raises(WorkerError, match="status 400"):
                        await heard(stt)
                worker.fault = None
                assert await heard(stt) == "Hello."

        virtual_time(main())

    def test_answers_that_break_off_make_it_a_bad_one(self, virtual_time: RunVirtual) -> None:
        """W4: it answers each time, and never to the end."""

        async def main() -> None:
            worker = FakeLlm(fault=Fault.die(after=1))
            async with served(worker, LLM_PATH) as url, LlmClient(url) as llm:
                for _ in range(3):
                    with pytest.raises(WorkerError, match="connection broke"):
                        await said(llm)
                with pytest.raises(WorkerError, match="none is asked"):
                    await said(llm)
                assert len(worker.requests) == 3

        virtual_time(main())

    def test_one_that_falls_silent_in_mid_answer_makes_it_a_bad_one(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            worker = FakeLlm(token_delay_s=60.0)
            async with served(worker, LLM_PATH) as url, LlmClient(url) as llm:
                for _ in range(3):
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(PATIENCE_S):
                            await said(llm)
                with pytest.raises(WorkerError, match="none is asked"):
                    await said(llm)

        virtual_time(main())


class TestItIsFull:
    def test_it_is_asked_again_once_and_not_before_it_said(self, virtual_time: RunVirtual) -> None:
        """W4: a 429 is not hammered."""

        async def main() -> None:
            worker = FakeLlm(faults=[Fault.status(429)])
            async with served(worker, LLM_PATH) as url, LlmClient(url) as llm:
                assert await said(llm)
                assert now() == pytest.approx(1.0, abs=0.1), "Retry-After: 1"

        virtual_time(main())

    def test_who_says_later_than_a_caller_can_wait_is_not_asked_at_all(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            worker = FakeLlm(faults=[Fault.status(503, retry_after_s=5)])
            async with served(worker, LLM_PATH) as url, LlmClient(url) as llm:
                with pytest.raises(WorkerError, match="status 503"):
                    await said(llm)
                for _ in range(10):
                    with pytest.raises(WorkerError, match=r"not asked for .* s more, as it wished") as caught:
                        await said(llm)
                    assert caught.value.retryable
                assert worker.finished == 1
                await asyncio.sleep(4.5)
                assert await said(llm)

        virtual_time(main())


class TestOursIsTheFault:
    def test_what_this_process_lacks_is_not_held_against_the_worker(self, virtual_time: RunVirtual) -> None:
        """Else its breaker would open, and every caller hear apologies."""

        async def main() -> None:
            async with served(FakeLlm(), LLM_PATH) as url, LlmClient(url) as llm:
                soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
                try:
                    for _ in range(FAILURES + 1):
                        with pytest.raises(
                            WorkerError, match="Too many open files in this process"
                        ) as caught:
                            await said(llm)
                        assert caught.value.retryable
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                assert await said(llm)

        virtual_time(main())


class TestItComesBack:
    def test_within_a_probe_of_its_new_start(self, virtual_time: RunVirtual) -> None:
        """W11: nobody waits for one that is down, and nobody is sent away after it is back."""

        async def main() -> None:
            async with served(FakeLlm(), LLM_PATH) as url:
                port = int(url.rpartition(":")[2])
            async with LlmClient(url) as llm:
                with pytest.raises(WorkerError, match="cannot connect"):
                    await said(llm)
                await asyncio.sleep(0.5)
                with pytest.raises(WorkerError, match="none is asked"):
                    await said(llm)
                again = FakeLlm(ready=False)
                async with served(again, LLM_PATH, port):
                    await asyncio.sleep(3)
                    with pytest.raises(WorkerError, match="none is asked"):
                        await said(llm)
                    assert not again.requests, "it loads its model"
                    again.ready = True
                    await asyncio.sleep(1.5)
                    assert await said(llm)

        virtual_time(main())

    def test_a_server_without_a_health_page_comes_back_too(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            failing = True

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                head = await reader.readuntil(b"\r\n\r\n")
                body = b'{"text": "Hi."}' if b"POST" in head and not failing else b"{}"
                status = b"404 Not Found" if b"GET" in head else b"500 No" if failing else b"200 OK"
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
                await writer.drain()
                writer.close()
                with suppress(ConnectionError):
                    await writer.wait_closed()

            async with raw_server(serve) as url, SttClient(url) as stt:
                for _ in range(2):
                    with pytest.raises(WorkerError, match="status 500"):
                        await heard(stt)
                with pytest.raises(WorkerError, match="none is asked"):
                    await heard(stt)
                failing = False
                await asyncio.sleep(2.5)
                assert await heard(stt) == "Hi."

        virtual_time(main())
