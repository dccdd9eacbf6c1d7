"""How a model brings a talk to its end: it puts the caller through, with consent where that is wanted, or hangs up."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stasis_app.settings import Phrases
from tests.support.fake_ari import answers
from tests.support.fake_workers import FakeToolCall, Fault
from tests.support.talk import CALLER, talk
from tests.support.talk_tools import (
    ANNOUNCED,
    ASKED,
    FRONT_DESK,
    QUESTION,
    TARGETS,
    TO_WORKSHOP,
    WANTS_PERSON,
    WORKSHOP,
    another_call,
    counted,
    profile,
    results,
)

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


class TestTransfer:
    def test_the_caller_is_put_through_once_the_last_word_was_heard(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                scene.ari.places = {WORKSHOP}
                said = "The workshop will help you with that."
                await scene.ask(WANTS_PERSON, FakeToolCall("transfer", {"target": "workshop"}, said=said))
                await scene.until(lambda: not scene.is_up)
                assert scene.heard_s(said) == pytest.approx(scene.whole_s(said), abs=0.05)
                assert scene.ari.onward == {CALLER: ("phones", "2001", "3")}
                told = {"VOICEBOT_REASON": "transfer", "VOICEBOT_TRANSFER": "workshop"}
                assert scene.ari.variables == {CALLER: told}
                assert "hangup" not in [*scene.ari.steps[scene.ari.steps.index("continue") :]]
                await scene.until(lambda: not scene.ari.bridges and not scene.ari.channels)
                assert scene.said()[-1] == ("answer", said, False)
                assert await scene.metric("voicebot_calls_ended_total", cause="transferred") == 1
                assert await counted(scene, "transfer", "ok") == 1

        virtual_time(main())

    def test_last_words_that_break_off_keep_nobody(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                scene.ari.places = {WORKSHOP}
                said = "The workshop will help you with that."
                scene.workers.tts.choose_fault = lambda text: Fault.die(after=9) if text == said else None
                await scene.ask(WANTS_PERSON, FakeToolCall("transfer", {"target": "workshop"}, said=said))
                await scene.until(lambda: not scene.is_up)
                assert scene.ari.onward == {CALLER: ("phones", "2001", "3")}

        virtual_time(main())

    def test_a_model_that_says_nothing_is_spoken_for(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                scene.ari.places = {FRONT_DESK}
                await scene.ask(WANTS_PERSON, FakeToolCall("transfer", {"target": "front_desk"}))
                await scene.until(lambda: not scene.is_up)
                assert scene.said()[-1] == ("answer", ANNOUNCED, False)
                assert scene.ari.onward == {CALLER: ("voicebot-transfer", "2000", "1")}

        virtual_time(main())

    def test_a_caller_who_wants_to_go_on_stays(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                scene.ari.places = {WORKSHOP}
                said = "The workshop will help you with that and with all the rest of it, I am sure of that."
                await scene.ask(WANTS_PERSON, FakeToolCall("transfer", {"target": "workshop"}, said=said))
                await scene.until_heard(said, for_s=0.5)
                scene.workers.llm.replies = ["Sixty-five dollars."]
                await scene.say("price01.wav", "No, wait, how much is it?")
                await scene.until_said("Sixty-five dollars.")
                assert scene.is_up
                assert "continue" not in scene.ari.steps
                assert await counted(scene, "transfer", "ok") == 0

        virtual_time(main())

    def test_a_cough_over_the_last_words_changes_nothing(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                scene.ari.places = {WORKSHOP}
                said = "The workshop will help you with that."
                await scene.ask(WANTS_PERSON, FakeToolCall("transfer", {"target": "workshop"}, said=said))
                await scene.until_heard(said, for_s=scene.whole_s(said) - 0.2)
                await scene.say("short01.wav", "Mm-hm.")
                await scene.until(lambda: not scene.is_up)
                assert scene.heard_s(said) == pytest.approx(scene.whole_s(said), abs=0.05)
                assert scene.ari.onward == {CALLER: ("phones", "2001", "3")}

        virtual_time(main())

    def test_a_place_that_is_not_there_loses_nobody(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                await scene.ask(WANTS_PERSON, TO_WORKSHOP, "Nobody is there now, sorry.")
                await scene.until_said("Nobody is there now, sorry.")
                assert "nobody can be reached there" in results(scene)[0]["error"]
                await scene.ask(QUESTION, "Sixty-five dollars.")
                await scene.until_said("Sixty-five dollars.")
                assert scene.is_up
                assert await counted(scene, "transfer", "failed") == 1

        virtual_time(main())

    def test_asterisk_that_does_not_take_the_caller_gets_them_back_behind_stasis(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                scene.ari.places = {WORKSHOP}
                scene.ari.faults["continue"] = [answers(500)]
                await scene.ask(WANTS_PERSON, TO_WORKSHOP)
                await scene.until(lambda: not scene.is_up)
                assert scene.ari.onward == {CALLER: ()}
                assert scene.ari.variables[CALLER]["VOICEBOT_REASON"] == "transfer_failed"
                await scene.until(lambda: not scene.ari.channels)
                for cause, times in {"transfer_failed": 1, "transferred": 0}.items():
                    assert await scene.metric("voicebot_calls_ended_total", cause=cause) == times
                assert [await counted(scene, "transfer", outcome) for outcome in ("ok", "failed")] == [0, 1]

        virtual_time(main())

    def test_no_more_than_so_many_an_hour_in_all_calls(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS, "per_hour": 1})) as scene:
                scene.ari.places = {WORKSHOP}
                await scene.ask(WANTS_PERSON, TO_WORKSHOP)
                await scene.until(lambda: not scene.is_up)
                async with another_call(scene) as second:
                    await second.ask(WANTS_PERSON, TO_WORKSHOP, "Nobody is free.")
                    await second.until_said("Nobody is free.")
                    assert "at the moment" in results(second)[0]["error"]
                    assert second.is_up
                assert await counted(scene, "transfer", "ok") == 1
                assert await counted(scene, "transfer", "limited") == 1

        virtual_time(main())

    @pytest.mark.parametrize(
        "target", ["cellar", "2001", "phones,2001,3", "workshop&PJSIP/0900", "", None, 2001]
    )
    def test_what_is_not_listed_is_never_called(self, virtual_time: RunVirtual, target: object) -> None:
        async def main() -> None:
            async with talk(profile(transfer={"targets": TARGETS})) as scene:
                scene.ari.places = {WORKSHOP, FRONT_DESK}
                call = FakeToolCall("transfer", {"target": target})
                await scene.ask(WANTS_PERSON, call, "Who do you want?")
                await scene.until_said("Who do you want?")
                assert "wrong arguments" in results(scene)[0]["error"]
                assert not {"continue", "variable", "get_variable"} & set(scene.ari.steps)
                assert await counted(scene, "transfer", "refused") == 1

        virtual_time(main())


class TestConfirming:
    CONFIRM = profile(transfer={"targets": TARGETS, "confirm": True})

    def test_the_bot_asks_and_a_yes_is_enough(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(self.CONFIRM) as scene:
                scene.ari.places = {WORKSHOP}
                await scene.ask(WANTS_PERSON, TO_WORKSHOP)
                await scene.until_said(ASKED)
                asked = len(scene.workers.llm.requests)
                await scene.ask("Yes, please.", "This is never asked for.")
                await scene.until(lambda: not scene.is_up)
                assert scene.ari.onward == {CALLER: ("phones", "2001", "3")}
                assert len(scene.workers.llm.requests) == asked, "no model decides over it"
                assert await counted(scene, "transfer", "asked") == 1

        virtual_time(main())

    @pytest.mark.parametrize("words", ["No, thank you.", "Yes, but how much is it?", "Who is that?"])
    def test_without_a_yes_nobody_is_put_through_whatever_the_model_calls(
        self, virtual_time: RunVirtual, words: str
    ) -> None:
        async def main() -> None:
            async with talk(self.CONFIRM) as scene:
                scene.ari.places = {WORKSHOP}
                await scene.ask(WANTS_PERSON, TO_WORKSHOP)
                await scene.until_said(ASKED)
                await scene.ask(words, TO_WORKSHOP)
                await scene.until(lambda: len(scene.said()) == 3)
                assert scene.said()[-1] == ("answer", ASKED, False)
                assert scene.is_up
                assert "continue" not in scene.ari.steps

        virtual_time(main())

    def test_a_yes_behind_a_no_whose_answer_was_not_heard_is_none(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(self.CONFIRM) as scene:
                scene.ari.places = {WORKSHOP}
                await scene.ask(WANTS_PERSON, TO_WORKSHOP)
                await scene.until_said(ASKED)
                scene.workers.llm.delay_s, scene.workers.llm.replies = 4.0, ["What would you like?"]
                await scene.quiet()
                await scene.say("price01.wav", "No, wait.")
                await asyncio.sleep(1.5)
                scene.workers.llm.delay_s = 0.0
                await scene.say("price01.wav", "Sure, go ahead.")
                await scene.until_said("What would you like?")
                assert scene.asked()[-1] == {"role": "user", "content": "No, wait. Sure, go ahead."}
                assert scene.is_up
                assert "continue" not in scene.ari.steps

        virtual_time(main())

    def test_a_yes_to_something_else_is_none(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(self.CONFIRM) as scene:
                scene.ari.places = {WORKSHOP}
                await scene.ask(QUESTION, "Sixty-five dollars. Do you want to book one?")
                await scene.until_said("Do you want to book one?")
                await scene.ask("Yes, please.", TO_WORKSHOP)
                await scene.until_said(ASKED)
                assert scene.is_up

        virtual_time(main())

    def test_a_model_that_has_asked_itself_is_not_asked_over(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(self.CONFIRM) as scene:
                scene.ari.places = {WORKSHOP}
                own = "Do you want me to connect you with the workshop?"
                await scene.ask(WANTS_PERSON, FakeToolCall("transfer", {"target": "workshop"}, said=own))
                await scene.until_said(own)
                assert scene.said()[-1] == ("answer", own, False)
                await scene.ask("Yeah, sure.", "Not asked for.")
                await scene.until(lambda: not scene.is_up)
                assert scene.ari.onward == {CALLER: ("phones", "2001", "3")}

        virtual_time(main())


class TestHangUp:
    def test_the_call_ends_when_the_last_word_was_heard(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(hang_up=True)) as scene:
                said = "Your bike is ready on Thursday. Goodbye."
                await scene.ask("That is all I wanted.", FakeToolCall("hang_up", said=said))
                await scene.until(lambda: not scene.is_up)
                assert scene.heard_s(said) == pytest.approx(scene.whole_s(said), abs=0.05)
                assert scene.ari.causes[CALLER] == "16"
                assert scene.said()[-1] == ("answer", said, False)
                assert await scene.metric("voicebot_calls_ended_total", cause="model_hung_up") == 1
                assert await counted(scene, "hang_up", "ok") == 1

        virtual_time(main())

    def test_who_wants_to_go_on_is_not_counted_as_hung_up_on(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(hang_up=True)) as scene:
                said = "Your bike is ready on Thursday and you can pick it up then. Goodbye."
                await scene.ask("That is all I wanted.", FakeToolCall("hang_up", said=said))
                await scene.until_heard(said, for_s=0.5)
                scene.workers.llm.replies = ["Sixty-five dollars."]
                await scene.say("price01.wav", "No, wait, how much is it?")
                await scene.until_said("Sixty-five dollars.")
                assert scene.is_up
                assert await counted(scene, "hang_up", "ok") == 0

        virtual_time(main())

    def test_without_words_of_its_own_the_goodbye_is_said(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with talk(profile(hang_up=True)) as scene:
                await scene.ask("That is all I wanted.", FakeToolCall("hang_up"))
                await scene.until(lambda: not scene.is_up)
                assert scene.said()[-1] == ("answer", Phrases().goodbye, False)

        virtual_time(main())
