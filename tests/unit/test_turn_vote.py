"""A vote on the sound is taken when it is there in time, and never waited for long."""

import asyncio

import pytest

from gpu_workers.stt.turn_end import in_time


async def test_a_vote_that_is_there() -> None:
    vote: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.01, vote.set_result, 0.7)
    assert await in_time(vote) == pytest.approx(0.7)


async def test_a_model_that_fails_costs_no_words() -> None:
    vote: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    vote.set_exception(RuntimeError("no memory"))
    assert await in_time(vote) is None


async def test_a_vote_that_never_comes_is_given_up() -> None:
    vote: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    assert await in_time(vote) is None
    assert vote.cancelled()
