"""Whole talks while workers fail, in virtual time: what the caller hears (W2, W9, W11, W13, W14)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest

from stasis_app.settings import Phrases
from tests.support.fake_workers import FakeStt, FakeTts, Fault, Spoken, served
from tests.support.talk import PROFILE, Scene, talk
from tests.support.talk_lines import RtpLine

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

QUESTION = "What does it cost?"
PHRASES = Phrases()
LONG = "This is a rather long sentence about very many bikes and all that can be done with them. "


def break_all(scene: Scene, fault: Fault | None) -> None:
    scene.workers.stt.fault = scene.workers.llm.fault = scene.workers.tts.fault = fault


@pytest.mark.parametrize("fault", [Fault.die(), Fault.status(503), Fault.status(500)])
def test_with_every_worker_down_the_caller_is_greeted_consoled_and_let_go(
    virtual_time: RunVirtual, fault: Fault
) -> None:
    """W13: all of it is on disk."""

    async def main() -> None:
        async with talk() as scene:
            break_all(scene, fault)
            await scene.quiet()
            # P2; one that is full and says when to come again is asked again then
            within_s = 2.5 if fault.code == 503 else 1.5
            for phrase in (PHRASES.apology, PHRASES.trouble):
                said = await scene.say("price01.wav", QUESTION)
                await scene.until_heard(phrase)
                assert scene.now - said < within_s
                await scene.quiet()
            await scene.until(lambda: not scene.is_up)
            assert [saying for saying, _, _ in scene.said()] == ["greeting", "apology", "trouble"]

    virtual_time(main())


def test_once_a_recogniser_hangs_no_later_turn_waits_for_it(
    virtual_time: RunVirtual,
) -> None:
    """W2: the first ones wait four seconds, and nobody does after that."""

    async def main() -> None:
        async with talk() as first:
            stt = first.workers.stt
            await first.quiet()
            stt.fault, stt.ready = Fault.hang(), False
            said = await first.say("price01.wav", "")
            await first.until(lambda: first.heard_s(PHRASES.apology) > 0)
            assert 4.0 < first.now - said < 5.0
            await first.quiet()
            said, asked = await first.say("price01.wav", ""), len(stt.requests)
            await first.until(lambda: first.heard_s(PHRASES.trouble) > 0)
            assert first.now - said < 2.0
            assert len(stt.requests) == asked, "nothing was sent to it"

    virtual_time(main())


def test_a_worker_that_is_well_again_answers_the_same_caller(virtual_time: RunVirtual) -> None:
    """W11."""

    async def main() -> None:
        async with talk() as scene:
            break_all(scene, Fault.die())
            await scene.quiet()
            await scene.say("price01.wav", QUESTION)
            await scene.until_said(PHRASES.apology)
            break_all(scene, None)
            await asyncio.sleep(2.5)
            await scene.ask(QUESTION, "Nineteen dollars.")
            await scene.until_said("Nineteen dollars.")

    virtual_time(main())


def test_twenty_interruptions_in_a_row_leave_no_request_behind(virtual_time: RunVirtual) -> None:
    """W14, P4."""

    async def main() -> None:
        async with talk() as scene:
            workers = scene.workers
            workers.llm.token_delay_s, workers.tts.chunk_delay_s = 0.05, 0.02
            await scene.ask("Tell me about bikes.", LONG * 20)
            for number in range(20):
                before = scene.heard_s(LONG)
                await scene.until_heard(LONG, for_s=before + 0.3)
                if number == 19:
                    workers.llm.replies = ["That was the last one."]
                await scene.say("no01.wav", f"No, number {number}.")
            await scene.until_said("That was the last one.", within_s=60)
            await scene.until(lambda: workers.llm.running == workers.tts.running == workers.stt.running == 0)
            assert workers.llm.aborted >= 10
            asked = scene.asked()
            assert asked[-1]["content"].endswith("No, number 19.")
            assert sum(LONG * 2 in message["content"] for message in asked) == 0, "only what was heard"

    virtual_time(main())


def test_speech_in_which_no_word_was_heard_asks_the_model_nothing(virtual_time: RunVirtual) -> None:
    """W3: and the caller is asked when they say nothing else."""

    async def main() -> None:
        async with talk() as scene:
            await scene.quiet()
            said = await scene.say("price01.wav", "")
            assert scene.workers.stt.requests
            await scene.until(lambda: scene.heard_s(PHRASES.still_there) > 0)
            assert scene.now - said < 8.2
            assert not scene.workers.llm.requests
            assert [saying for saying, _, _ in scene.said()] == ["greeting"]

    virtual_time(main())


class TestTheVoice:
    def test_slower_than_speech_it_leaves_silence_and_loses_nothing(self, virtual_time: RunVirtual) -> None:
        """W9."""

        async def main() -> None:
            async with talk() as scene:
                scene.workers.tts.chunk_delay_s = 0.15
                await scene.ask(QUESTION, "It costs nineteen dollars a month.")
                await scene.until_said("It costs nineteen dollars a month.")
                text = "It costs nineteen dollars a month."
                assert scene.heard_s(text) == pytest.approx(len(text) * 0.06, abs=0.2)
                sent = [spurt for spurt in scene.spurts() if spurt.seconds < 0.5]
                assert sent, "there were pauses in it"
                assert isinstance(scene.line, RtpLine)
                heard = [at for at, _ in scene.line.heard]
                assert max(b - a for a, b in pairwise(heard)) < 0.025, "of silence, not of packets"

        virtual_time(main())

    def test_a_minute_of_sound_at_once_is_taken_as_it_is_played(self, virtual_time: RunVirtual) -> None:
        """W9: two seconds ahead at most are kept of it."""

        async def main() -> None:
            async with talk() as scene:
                scene.workers.tts.seconds_per_char = 3.0
                await scene.ask(QUESTION, "Nineteen dollars now.")
                await scene.until_heard("Nineteen dollars now.", for_s=10)
                scene.workers.tts.seconds_per_char = 0.06
                scene.workers.llm.replies = ["All right."]
                await scene.say("no01.wav", "Stop, please.")
                await scene.until_said("All right.")
                assert scene.heard_s("Nineteen dollars now.") < 14, "and all of it can be stopped"

        virtual_time(main())

    def test_an_odd_number_of_bytes_and_another_rate_are_heard_as_speech(
        self, virtual_time: RunVirtual
    ) -> None:
        """W9."""

        class Odd(FakeTts):
            def sound(self, text: str, hz: int, seconds: float) -> bytes:
                return super().sound(text, hz, seconds) + b"\x01"

        async def main() -> None:
            async with talk() as scene:
                scene.workers.tts.__class__ = Odd
                scene.workers.tts.rate = 22050
                await scene.ask(QUESTION, "Nineteen dollars. ", "Is that all?")
                await scene.until_said("Nineteen dollars.")
                assert scene.heard_s("Nineteen dollars.") == pytest.approx(17 * 0.06, abs=0.1)

        virtual_time(main())

    def test_a_voice_that_sends_no_sound_is_an_apology(self, virtual_time: RunVirtual) -> None:
        """W9."""

        async def main() -> None:
            async with talk() as scene:
                await scene.quiet()
                scene.workers.tts.seconds_per_char = 0.0
                await scene.ask(QUESTION, "Nineteen dollars.")
                took_s = await scene.until(lambda: scene.heard_s(PHRASES.apology) > 0)
                assert took_s < 1.5

        virtual_time(main())

    @pytest.mark.parametrize("all_of_them", [False, True])
    def test_one_that_stops_in_mid_sentence_is_broken_off_and_bridged(
        self, virtual_time: RunVirtual, all_of_them: bool
    ) -> None:
        """W8, W9: nobody waits for the rest of it longer than for a sentence; two in a row are the apology."""
        first, second = "Nineteen dollars for a month.", "That is for the small bikes only."

        class Stalling(FakeTts):
            async def _chunks(self, spoken: Spoken) -> AsyncIterator[bytes]:
                async for chunk in super()._chunks(spoken):
                    yield chunk
                    if heard(spoken) == 10 and (all_of_them or spoken.text == first):
                        await asyncio.Event().wait()

        sent: Counter[str] = Counter()

        def heard(spoken: Spoken) -> int:
            sent[spoken.text] += 1
            return sent[spoken.text]

        async def main() -> None:
            async with talk() as scene:
                await scene.quiet()
                scene.workers.tts.__class__, scene.workers.tts.delay_s = Stalling, 1.0
                await scene.ask(QUESTION, f"{first} {second}")
                await scene.until_heard(first)
                await scene.until_said("Nineteen")
                assert scene.heard_s(first) == pytest.approx(1.0, abs=0.05)
                spurts = [spurt for spurt in scene.spurts() if spurt.seconds > 0.1][1:]
                gaps = [after.start - before.end for before, after in pairwise(spurts)]
                assert max(gaps) < PROFILE.filler_s + 0.5
                assert scene.heard_s(PHRASES.filler) == pytest.approx(scene.whole_s(PHRASES.filler), abs=0.1)
                _, text, _ = scene.said()[-1]
                assert text.startswith("Nineteen")
                assert not text.startswith(first)
                if all_of_them:
                    await scene.until_said(PHRASES.apology)
                else:
                    assert text.endswith(f"... {second}")
                await scene.quiet()
                assert scene.workers.tts.running == 0

        virtual_time(main())


def test_a_second_recogniser_takes_over_from_one_that_froze_before_the_caller_notices(
    virtual_time: RunVirtual,
) -> None:
    """W1, with `more_urls` as the admin writes it."""

    async def main() -> None:
        other = FakeStt(answers=[QUESTION])
        async with (
            served(other, "/v1/audio/transcriptions") as url,
            talk(more_workers={"stt": (url,)}) as scene,
        ):
            scene.workers.stt.fault = Fault.hang()
            scene.workers.llm.replies = ["Nineteen dollars."]
            await scene.quiet()
            for _ in range(2):
                said = await scene.say("price01.wav", QUESTION)
                await scene.until_heard("Nineteen dollars.")
                assert scene.now - said < 3.0
                await scene.quiet()
            assert all(saying != "apology" for saying, _, _ in scene.said())

    virtual_time(main())
