"""Tools while the caller speaks or interrupts, and several tools at once (D22, D23)."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from stasis_app.settings import Phrases
from tests.support.fake_workers import FakeToolCall
from tests.support.shop import shop
from tests.support.talk import talk
from tests.support.talk_tools import (
    ORDER,
    QUESTION,
    WHERE_IS_IT,
    profile,
    requests,
    results,
    shop_talk,
)
from tests.wire.test_talk_eager import PARTS, says_in_parts

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


class TestWhileTheCallerSpeaks:
    """D22, D23."""

    def test_a_result_that_comes_while_the_caller_interrupts_is_kept_and_used(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with shop_talk(method="POST") as (scene, open_shop):
                open_shop.delay_s = 3.0
                call = FakeToolCall("repair_status", ORDER, said="Let me look at that for you right now.")
                await scene.ask(WHERE_IS_IT, call)
                await scene.until(lambda: open_shop.running)
                scene.workers.llm.replies = ["It is ready."]
                await scene.say("price01.wav", "And what does it cost?")
                await scene.until_said("It is ready.")
                assert open_shop.finished == 1, "it went on"
                await scene.ask(QUESTION, "Sixty-five dollars.")
                await scene.until_said("Sixty-five dollars.")
                assert [json.loads(one["data"])["state"] for one in results(scene)] == ["ready"]
                calls = [message for message in scene.asked() if message.get("tool_calls")]
                assert len(calls) == len(results(scene)) == 1, "none is in progress"
                assert len(open_shop.requests) == 1

        virtual_time(main())

    def test_the_same_call_again_gets_the_kept_result(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with shop_talk(method="POST") as (scene, open_shop):
                open_shop.delay_s = 3.0
                call = FakeToolCall("repair_status", ORDER, said="Let me look at that for you right now.")
                await scene.ask(WHERE_IS_IT, call)
                await scene.until(lambda: open_shop.running)
                again = FakeToolCall("repair_status", ORDER)
                scene.workers.llm.replies = [again, "It is ready."]
                await scene.say("price01.wav", "Hello, are you there?")
                await scene.until_said("It is ready.")
                assert len(open_shop.requests) == 1
                assert "not done again" in results(scene)[-1]["note"]

        virtual_time(main())

    def test_the_same_wish_in_other_words_is_not_sent_while_the_first_is_under_way(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with shop_talk(method="POST") as (scene, open_shop):
                open_shop.delay_s = 4.0
                call = FakeToolCall("repair_status", ORDER, said="Let me look at that for you right now.")
                await scene.ask(WHERE_IS_IT, call)
                await scene.until(lambda: open_shop.running)
                other = {"number": "471109"}
                scene.workers.llm.replies = [FakeToolCall("repair_status", other), "It is ready."]
                await scene.say("price01.wav", "Hello, are you there?")
                await scene.until_said("It is ready.")
                assert open_shop.requests == [("POST", "/repairs/471108", {})]
                assert "not done again" in results(scene)[-1]["note"]
                assert results(scene)[-1]["arguments"] == ORDER
                scene.workers.llm.choose = lambda said: (
                    "Done." if said[-1]["role"] == "tool" else FakeToolCall("repair_status", other)
                )
                await scene.say("price01.wav", "And the other one?")
                await scene.until_said("Done.")
                assert [path for _, path, _ in open_shop.requests] == ["/repairs/471108", "/repairs/471109"]

        virtual_time(main())

    def test_what_changes_something_is_done_once_and_only_for_the_last_words(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with shop_talk(method="POST") as (scene, open_shop):
                await scene.quiet()
                begun: list[float] = []
                scene.workers.llm.choose = lambda said: (
                    "You are down for eleven."
                    if said[-1]["role"] == "tool"
                    else FakeToolCall("repair_status", ORDER)
                )
                speaking = asyncio.create_task(says_in_parts(scene, *PARTS))
                while not speaking.done():
                    begun += [scene.now for _ in open_shop.requests]
                    await asyncio.sleep(0.02)
                await scene.until_said("You are down for eleven.")
                assert not begun, "while the caller still spoke"
                assert len(scene.workers.llm.requests) > 2, "answers were begun early"
                assert open_shop.requests == [("POST", "/repairs/471108", {})]
                assert len(results(scene)) == 1

        virtual_time(main())

    def test_what_only_reads_is_begun_early_and_once(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with shop_talk(reads=True) as (scene, open_shop):
                await scene.quiet()
                scene.workers.llm.choose = lambda said: (
                    "You are down for eleven."
                    if said[-1]["role"] == "tool"
                    else FakeToolCall("repair_status", ORDER)
                )
                speaking = asyncio.create_task(says_in_parts(scene, *PARTS))
                await scene.until(lambda: open_shop.requests)
                assert not speaking.done(), "in the caller's first pause"
                await scene.until_said("You are down for eleven.")
                await speaking
                assert len(open_shop.requests) == 1
                assert len(results(scene)) == 1

        virtual_time(main())

    def test_what_changes_something_is_brought_to_its_end_when_the_caller_has_left(
        self, virtual_time: RunVirtual
    ) -> None:
        async def main() -> None:
            async with shop_talk(method="POST") as (scene, open_shop):
                open_shop.delay_s = 3.0
                await scene.ask(WHERE_IS_IT, FakeToolCall("repair_status", ORDER))
                await scene.until(lambda: open_shop.running)
                scene.hang_up()
                await scene.until(lambda: not scene.ari.channels)
                await scene.until(lambda: open_shop.finished)
                assert await scene.metric("voicebot_defects_total") == 0

        virtual_time(main())

    def test_what_only_reads_ends_with_the_call(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with shop_talk(reads=True) as (scene, open_shop):
                open_shop.delay_s = 4.0
                await scene.ask(WHERE_IS_IT, FakeToolCall("repair_status", ORDER))
                await scene.until(lambda: open_shop.running)
                scene.hang_up()
                await scene.until(lambda: not open_shop.running, within_s=1.0)
                assert open_shop.finished == 0

        virtual_time(main())


class TestSeveralAtOnce:
    def test_all_are_run_and_each_result_stands_behind_its_call(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with shop_talk(reads=True) as (scene, open_shop):
                open_shop.delay_s = 1.0
                other = FakeToolCall("repair_status", {"number": "1234567"})
                more = (FakeToolCall("repair_status", {"number": 222222}), other)
                call = FakeToolCall("repair_status", ORDER, more=more)
                await scene.ask(WHERE_IS_IT, call, "Both are ready.")
                began = await scene.until(lambda: open_shop.finished == 2)
                assert began < 4
                await scene.until_said("Both are ready.")
                paths = {path for _, path, _ in open_shop.requests}
                assert paths == {"/repairs/471108", "/repairs/222222"}
                first, second, wrong = results(scene)
                assert first["data"] == second["data"]
                assert "number does not look" in wrong["error"]
                ids = [call["id"] for message in scene.asked() for call in message.get("tool_calls", [])]
                assert ids == [one["tool_call_id"] for one in scene.asked() if one["role"] == "tool"]

        virtual_time(main())

    def test_several_that_change_something_are_waited_for_one_by_one(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with shop_talk(method="POST") as (scene, open_shop):
                open_shop.delay_s = 4.5
                more = tuple(FakeToolCall("repair_status", {"number": str(n)}) for n in (222222, 333333))
                call = FakeToolCall("repair_status", ORDER, more=more)
                await scene.ask(WHERE_IS_IT, call, "All three are ready.")
                await scene.until_said("All three are ready.")
                assert scene.said()[-1] == ("answer", "All three are ready.", False)
                assert open_shop.finished == 3

        virtual_time(main())

    def test_nobody_leaves_while_something_else_is_to_be_done(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with shop() as open_shop:
                both = profile(hang_up=True, http=requests(open_shop.url))
                async with talk(both) as scene:
                    call = FakeToolCall("repair_status", ORDER, more=(FakeToolCall("hang_up"),))
                    await scene.ask(WHERE_IS_IT, call, "It is ready.")
                    await scene.until_said("It is ready.")
                    assert scene.is_up
                    assert "call it alone" in results(scene)[1]["error"]

        virtual_time(main())

    def test_a_model_that_does_not_stop_calling_is_stopped(self, virtual_time: RunVirtual) -> None:
        async def main() -> None:
            async with shop_talk(reads=True) as (scene, open_shop):
                numbers = iter(range(100_000, 100_100))
                scene.workers.llm.choose = lambda _: FakeToolCall(
                    "repair_status", {"number": str(next(numbers))}
                )
                await scene.quiet()
                await scene.say("price01.wav", WHERE_IS_IT)
                await scene.until_said(Phrases().apology)
                answers_begun = sum(request.priority == "eager" for request in scene.workers.stt.requests) + 1
                assert len(open_shop.requests) <= 4 * answers_begun

        virtual_time(main())
