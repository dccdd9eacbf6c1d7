"""Many callers, one worker: order, leaving, refusing, draining. The voice is a fake that waits for the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_workers.errors import ModelError, RequestError
from gpu_workers.tts.pieces import LONGEST, pieces
from gpu_workers.tts.speaker import Speaker
from gpu_workers.tts.voices import Voices, named_settings
from tests.support.fake_models import FakeVoice


class Desk:
    """A speaker with one thread, which makes a first sentence until the test lets it go."""

    def __init__(self, speaker: Speaker, voice: FakeVoice, group: asyncio.TaskGroup) -> None:
        self.speaker, self.voice, self._group = speaker, voice, group

    async def ask(self, text: str, left_s: float = 0.0) -> asyncio.Task[int]:
        """The task gives how many pieces came, or the status of the refusal."""

        async def listen() -> int:
            try:
                async with aclosing(self.speaker.speak(self.voice, text, 1.0, left_s)) as chunks:
                    return len([chunk async for chunk in chunks])
            except RequestError as error:
                return error.status

        task = self._group.create_task(listen())
        await asyncio.sleep(0)
        return task

    async def until_said(self, count: int) -> list[str]:
        async with asyncio.timeout(5):
            while len(self.voice.said) < count:  # noqa: ASYNC110 - it happens in a thread
                await asyncio.sleep(0.002)
        return self.voice.said


@asynccontextmanager
async def busy_desk(limit: int = 10) -> AsyncIterator[Desk]:
    voice, speaker = FakeVoice(0), Speaker(limit)
    async with asyncio.TaskGroup() as group, speaker.running(Voices([voice]), 1):
        desk = Desk(speaker, voice, group)
        await desk.ask("first")
        yield desk
        voice.may_begin.release(1000)
        async with asyncio.timeout(5):
            while speaker.waiting:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.002)


async def test_who_runs_dry_first_goes_first_and_a_second_sentence_waits_for_those_in_silence() -> None:
    async with busy_desk() as desk:
        await desk.ask("talks.on", 0.0)
        await desk.ask("far", 5.0)
        await desk.ask("near", 0.05)
        desk.voice.may_begin.release(1000)
        # a tenth of a second of "talks" is heard by then, so "near" runs dry before it
        assert await desk.until_said(5) == ["first", "talks.on", "near", "talks.on", "far"]


async def test_a_listener_who_leaves_costs_nothing_and_frees_its_place() -> None:
    async with busy_desk(limit=2) as desk:
        gone = await desk.ask("gone")
        stays = await desk.ask("stays", 1.0)
        gone.cancel()
        await asyncio.wait({gone})
        assert desk.speaker.waiting == 1
        desk.voice.may_begin.release(1000)
        assert await stays == 1
        assert desk.voice.said == ["first", "stays"]


async def test_one_who_leaves_while_its_sentence_is_made_gives_the_thread_back_only_then() -> None:
    async with busy_desk() as desk:
        waits = await desk.ask("waits")
        desk.voice.may_begin.release()
        await desk.until_said(1)
        waits.cancel()  # its sentence is in the thread
        await asyncio.wait({waits})
        after = await desk.ask("after")
        await asyncio.sleep(0.02)
        assert desk.voice.said == ["first"]
        desk.voice.may_begin.release(1000)
        assert await after == 1


async def test_a_full_line_refuses_the_one_with_most_sound_left() -> None:
    async with busy_desk(limit=2) as desk:
        early, late = await desk.ask("early", 1.0), await desk.ask("late", 9.0)
        assert await (await desk.ask("later", 10.0)) == 429
        sooner = await desk.ask("sooner", 0.0)
        assert await late == 429
        desk.voice.may_begin.release(1000)
        assert (await early, await sooner) == (1, 1)


async def test_what_is_begun_is_never_refused() -> None:
    async with busy_desk(limit=1) as desk:
        long = await desk.ask("one.two.three", 0.0)
        desk.voice.may_begin.release(2)
        await desk.until_said(2)
        refused = await desk.ask("x", 0.0)
        assert await (await desk.ask("y", 50.0)) == 429
        desk.voice.may_begin.release(1000)
        assert (await long, await refused) == (3, 1)


async def test_leaving_refuses_those_who_wait() -> None:
    voice, speaker = FakeVoice(0), Speaker(4)
    async with asyncio.TaskGroup() as group:
        async with speaker.running(Voices([voice]), 1):
            desk = Desk(speaker, voice, group)
            first = await desk.ask("first")
            waits = await desk.ask("waits")
            voice.may_begin.release(1)
        assert await waits == 503
        assert await first in {1, 503}


async def test_a_voice_that_fails_gives_its_thread_back() -> None:
    voice, speaker = FakeVoice(), Speaker(4)
    async with speaker.running(Voices([voice]), 1):
        voice.error = RuntimeError("no memory")
        for _ in range(3):
            with pytest.raises(RequestError, match="no memory"):
                await anext(speaker.speak(voice, "a", 1.0))
        voice.error = None
        assert len([chunk async for chunk in speaker.speak(voice, "a", 1.0)]) == 1


@given(st.text(alphabet=st.sampled_from("ab ,.;!?\n—。é"), max_size=900))
def test_pieces_are_the_text_and_none_is_long(text: str) -> None:
    cut = list(pieces(text))
    assert "".join("".join(cut).split()) == "".join(text.split())
    assert all(0 < len(piece) <= LONGEST and piece == piece.strip() for piece in cut)


def test_pieces_end_where_a_sentence_else_a_clause_else_a_word_ends() -> None:
    words = "word " * 30
    assert next(pieces(f"{words}end. {words}, {words}")) == f"{words}end."
    assert next(pieces(f"{words}end, {words}{words}")) == f"{words}end,"
    assert next(pieces(words * 3)).endswith("word")
    assert len(next(pieces("x" * 900))) == LONGEST
    assert list(pieces("Short. And sweet.")) == ["Short. And sweet."]


def test_two_files_of_one_name_are_refused() -> None:
    assert named_settings(["joe", "joe", "/a/anna.onnx"]) == {"joe": "joe", "anna": "/a/anna.onnx"}
    with pytest.raises(ModelError, match="rename a file"):
        named_settings(["/a/anna.onnx", "/b/anna.onnx"])
