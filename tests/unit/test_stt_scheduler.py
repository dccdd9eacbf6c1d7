"""Many callers, one model: order, replacement, cancelling, refusing. The model is a fake that waits for the test."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import numpy as np
import pytest

from gpu_workers.errors import RequestError
from gpu_workers.stt.line import Priority
from gpu_workers.stt.scheduler import Scheduler, Transcript, Utterance
from tests.support.fake_models import FakeRecogniser

FINAL, EAGER, PARTIAL = Priority


def utterance(name: str, length_s: float = 2.0) -> Utterance:
    return Utterance(np.zeros(int(length_s * 16000), np.float32), "en", name)


class Desk:
    """A scheduler whose only decoder is held by a first request, so that what follows has to wait."""

    def __init__(self, scheduler: Scheduler, model: FakeRecogniser, group: asyncio.TaskGroup) -> None:
        self.scheduler, self.model, self._group = scheduler, model, group

    async def ask(
        self,
        name: str,
        priority: Priority = FINAL,
        deadline_s: float | None = None,
        call_id: str | None = None,
        length_s: float = 2.0,
    ) -> asyncio.Task[Transcript | RequestError]:
        task = self._group.create_task(self.outcome(name, priority, deadline_s, call_id, length_s))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task

    async def outcome(
        self,
        name: str,
        priority: Priority = FINAL,
        deadline_s: float | None = None,
        call_id: str | None = None,
        length_s: float = 2.0,
    ) -> Transcript | RequestError:
        try:
            return await self.scheduler.submit(utterance(name, length_s), priority, deadline_s, call_id)
        except RequestError as error:
            return error


@asynccontextmanager
async def busy_desk(batch_limit: int = 1, line_limit: int = 10) -> AsyncIterator[Desk]:
    model, scheduler = FakeRecogniser(batch_limit), Scheduler(line_limit)
    async with asyncio.TaskGroup() as group, scheduler.running(model, 1):
        desk = Desk(scheduler, model, group)
        await desk.ask("first")
        assert await model.next_batch() == ["first"]
        yield desk


def refused(outcome: Transcript | RequestError) -> tuple[int, str]:
    assert isinstance(outcome, RequestError)
    return outcome.status, outcome.code


def text(outcome: Transcript | RequestError) -> str:
    assert isinstance(outcome, Transcript)
    return outcome.text


async def test_an_idle_model_decodes_at_once() -> None:
    model, scheduler = FakeRecogniser(), Scheduler(4)
    async with scheduler.running(model, 1):
        model.may_end.release()
        assert (await scheduler.submit(utterance("hello"), FINAL, None, None)).text == "hello"


async def test_what_waits_is_taken_by_priority_and_deadline() -> None:
    async with busy_desk() as desk:
        await desk.ask("partial", PARTIAL, 0.5)
        await desk.ask("eager", EAGER, 5)
        await desk.ask("late final", FINAL, 9)
        await desk.ask("final", FINAL, 3)
        assert desk.scheduler.waiting == 4
        desk.model.may_end.release()
        assert await desk.model.batches(4) == [["final"], ["late final"], ["eager"], ["partial"]]


async def test_what_waits_of_one_window_is_one_batch() -> None:
    async with busy_desk(batch_limit=8) as desk:
        await desk.ask("a")
        await desk.ask("long", length_s=8.0)
        tasks = [await desk.ask(name) for name in ("b", "c")]
        desk.model.may_end.release()
        assert await desk.model.batches(2) == [["a", "b", "c"], ["long"]]
        assert [text(await task) for task in tasks] == ["b", "c"]


async def test_two_copies_decode_side_by_side() -> None:
    model, scheduler = FakeRecogniser(), Scheduler(4)
    async with asyncio.TaskGroup() as group, scheduler.running(model, 2):
        desk = Desk(scheduler, model, group)
        await desk.ask("a")
        await desk.ask("b")
        assert {*await model.next_batch(), *await model.next_batch()} == {"a", "b"}
        model.may_end.release(2)


async def test_a_newer_partial_of_the_call_replaces_the_older() -> None:
    async with busy_desk() as desk:
        older = await desk.ask("older", PARTIAL, call_id="c1")
        newer = await desk.ask("newer", PARTIAL, call_id="c1")
        assert refused(await older) == (409, "superseded")
        desk.model.may_end.release()
        assert await desk.model.batches(1) == [["newer"]]
        assert text(await newer) == "newer"


async def test_a_client_that_left_costs_nothing() -> None:
    async with busy_desk() as desk:
        gone = await desk.ask("gone")
        await desk.ask("stays")
        gone.cancel()
        await asyncio.wait({gone})
        assert desk.scheduler.waiting == 1
        desk.model.may_end.release()
        assert await desk.model.batches(1) == [["stays"]]


async def test_a_full_line_is_429_with_retry_after_and_a_final_displaces_a_partial() -> None:
    async with busy_desk(line_limit=2) as desk:
        await desk.ask("one")
        partial = await desk.ask("two", PARTIAL)
        outcome = await (await desk.ask("three", PARTIAL))
        assert refused(outcome) == (429, "queue_full")
        assert isinstance(outcome, RequestError)
        assert outcome.retry_after_s == 1
        await desk.ask("four", FINAL)
        assert refused(await partial) == (429, "queue_full")
        desk.model.may_end.release()
        assert await desk.model.batches(2) == [["one"], ["four"]]


async def test_a_partial_past_its_deadline_is_not_decoded() -> None:
    async with busy_desk() as desk:
        late = await desk.ask("late", PARTIAL, deadline_s=0.01)
        await desk.ask("final", FINAL, deadline_s=0.01)
        await asyncio.sleep(0.05)
        desk.model.may_end.release()
        assert await desk.model.batches(1) == [["final"]]
        assert refused(await late) == (408, "deadline_passed")


class LibraryError(Exception):
    """As the tokenizer's: of no base but `Exception`."""


@pytest.mark.parametrize("kind", [RuntimeError, LibraryError])
async def test_a_model_that_fails_once_serves_the_next(kind: type[Exception]) -> None:
    async with busy_desk() as desk:
        desk.model.error = kind("CUDA out of memory")
        desk.model.may_end.release()
        failed = await desk.ask("failed")
        await desk.model.batches(1)
        outcome = await failed
        assert refused(outcome) == (500, "decoding_failed")
        assert "CUDA out of memory" in str(outcome)
        desk.model.error = None
        good = await desk.ask("good")
        await desk.model.batches(1)
        assert text(await good) == "good"


class Fragile:
    """No memory for two at once, and none at all for one of them."""

    batch_limit = 4

    def __init__(self) -> None:
        self.tried: list[list[str]] = []

    def window_s(self, length_s: float) -> float:
        return 10.0

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]:
        self.tried.append([one.prompt for one in batch])
        if len(batch) > 1 or batch[0].prompt == "bad":
            raise RuntimeError("CUDA out of memory")
        return [Transcript(one.prompt, "en", one.length_s, 0, 0) for one in batch]


async def test_one_that_cannot_be_decoded_costs_the_others_nothing() -> None:
    model, scheduler = Fragile(), Scheduler(4)
    async with asyncio.TaskGroup() as group, scheduler.running(model, 1):
        desk = Desk(scheduler, FakeRecogniser(), group)
        tasks = [group.create_task(desk.outcome(name)) for name in ("a", "bad", "b")]
        outcomes = [await task for task in tasks]
    assert refused(outcomes[1]) == (500, "decoding_failed")
    assert [text(outcomes[0]), text(outcomes[2])] == ["a", "b"]
    assert model.tried == [["a", "bad", "b"], ["a"], ["bad"], ["b"]]


async def test_nothing_is_begun_for_who_left_or_was_replaced() -> None:
    model, sizes, begun = FakeRecogniser(4), list[int](), list[str]()
    scheduler = Scheduler(10, sizes.append)
    async with asyncio.TaskGroup() as group, scheduler.running(model, 1):

        async def ask(name: str, priority: Priority = FINAL) -> None:
            with suppress(RequestError):
                await scheduler.submit(utterance(name), priority, None, "c1", lambda: begun.append(name))

        tasks = {}
        for name, priority in (("first", FINAL), ("gone", FINAL), ("stale", PARTIAL), ("last", FINAL)):
            tasks[name] = group.create_task(ask(name, priority))
            if name == "first":
                assert await model.next_batch() == ["first"]
        await asyncio.sleep(0.01)
        tasks["gone"].cancel()
        await asyncio.wait({tasks["gone"]})
        model.may_end.release()
        assert await model.batches(1) == [["last"]]
    assert begun == ["first", "last"]
    assert sizes == [1, 1]


async def test_who_still_waits_at_the_end_is_told() -> None:
    model, scheduler = FakeRecogniser(), Scheduler(4)
    async with asyncio.TaskGroup() as group:
        async with scheduler.running(model, 1):
            desk = Desk(scheduler, model, group)
            await desk.ask("first")
            await model.next_batch()
            waits = await desk.ask("waits")
            model.may_end.release(2)
        assert refused(await waits) == (503, "draining")


async def test_before_the_model_is_there_it_is_503() -> None:
    with pytest.raises(RequestError) as caught:
        await Scheduler(4).submit(utterance("early"), FINAL, None, None)
    assert caught.value.status == 503
