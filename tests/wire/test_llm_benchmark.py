"""What `benchmarks.llm` measures, of a server whose times are known, in virtual time."""

import argparse
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from benchmarks.llm import Server, figures, measure
from tests.support.fake_workers import FakeLlm, Fault, served
from voicebot.config import parse

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]

PROFILE = parse("", "defaults", {}).profiles["default"]


def chosen(**changed: object) -> argparse.Namespace:
    return argparse.Namespace(**{"callers": (2,), "each": 2, "limit_s": 10.0, **changed})


async def measured(worker: FakeLlm, options: argparse.Namespace) -> dict[str, str]:
    async with served(worker, "/v1/chat/completions") as url:
        found = await measure(Server("fake", "fake", url, "m", None, None), PROFILE, options)
    return figures([found])[1]


def test_first_token_and_first_words_are_those_of_the_stream(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        worker = FakeLlm(
            replies=["It costs nineteen dollars. Anything else?"], delay_s=0.2, token_delay_s=0.1
        )
        found = await measured(worker, chosen())
        assert float(found["ttft_p50_ms_fake_2"]) == pytest.approx(200, abs=20)
        # the fifth token shows that the sentence is over
        assert float(found["words_p50_ms_fake_2"]) == pytest.approx(600, abs=60)
        assert worker.requests[0]["messages"][0]["content"] == PROFILE.instructions

    virtual_time(main())


def test_whoever_waits_in_vain_counts_as_longer_than_the_limit(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        worker = FakeLlm(replies=["Hello."], faults=[])
        worker.choose = lambda _: "Hello."
        asked = 0

        def hang_after_the_first(_: object) -> str:
            nonlocal asked
            asked += 1
            if asked == 1:
                worker.fault = Fault.hang()
            return "Hello."

        worker.choose = hang_after_the_first
        found = await measured(worker, chosen(limit_s=2.0))
        assert found["ttft_p50_ms_fake_2"] == found["words_p50_ms_fake_2"] == ">2000"

    virtual_time(main())


def test_a_limit_ends_answers_that_are_not_whole_and_counts_them(virtual_time: RunVirtual) -> None:
    async def main() -> None:
        worker = FakeLlm(replies=["word " * 1000], token_delay_s=0.1)
        async with served(worker, "/v1/chat/completions") as url:
            server = Server("fake", "fake", url, "m", None, None)
            short = PROFILE.model_copy(update={"answer_timeout_s": 5})
            found = await measure(server, short, chosen(limit_s=3.0, callers=(3,)))
        rows, result = figures([found])
        assert rows[0][:5] == ("fake", 3, 0, 3, 0)
        assert float(result["tokens_s_fake_3"]) == pytest.approx(30, rel=0.2)

    virtual_time(main())
