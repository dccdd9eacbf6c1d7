"""Long stretches of a call, in virtual time on real UDP: nothing drifts, whatever holds the loop or the network up."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from media_bridge.events import MediaEvent, PlayoutFinished, PlayoutStarted, SpeechStarted
from media_bridge.rtp import RtpPacket
from media_bridge.stats import MediaStats
from tests.support.media_call import one_call, settle, silence, speech, steps, tone
from tests.support.relay import Impairment, Network
from tests.support.rtp_rewrite import NumberedFrom
from tests.support.virtual_time import VirtualTimeLoop

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


async def stall_each_second(seed: int) -> None:
    """For ever: the loop is held up for 10 to 25 ms, at a random moment of each second."""
    draw, loop = random.Random(seed), asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    while True:
        at = draw.uniform(0, 0.95)
        await asyncio.sleep(at)
        loop.freeze(draw.uniform(0.010, 0.025))
        await asyncio.sleep(0.97 - at)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stalls_move_no_packet_for_good(virtual_time: RunVirtual, seed: int) -> None:
    """D14: 30 s of voice, then 60 s in which the bot only listens."""

    async def main() -> tuple[list[RtpPacket], MediaStats, float, list[float]]:
        loop = asyncio.get_running_loop()
        async with one_call() as call:
            began, sent_at = loop.time(), []
            stalls = asyncio.create_task(stall_each_second(seed))
            await call.bot_says(1, tone(30.0))
            while loop.time() < began + 90:
                before = call.session.stats().packets_out
                await asyncio.sleep(0.005)
                sent_at += [loop.time()] * (call.session.stats().packets_out - before)
            stalls.cancel()
            await asyncio.wait([stalls])
            stats, lasted_s = call.session.stats(), loop.time() - began
            return settle(call.peer, stats.packets_out), stats, lasted_s, sent_at

    packets, stats, lasted_s, sent_at = virtual_time(main())
    assert set(steps(packets)) == {(1, 160)}
    assert abs(len(packets) * 0.02 - lasted_s) < 0.02 + 0.007
    assert (stats.underruns, stats.skipped) == (0, 0)
    # what a stall held up leaves with the next one, and no more of it at once
    assert max(later - first for first, later in pairwise(sent_at)) <= 0.05
    assert all(later - first > 0.02 for first, later in zip(sent_at, sent_at[3:], strict=False))


def test_a_greeting_of_22_seconds_takes_22_seconds_and_the_caller_is_heard_straight_after(
    virtual_time: RunVirtual,
) -> None:
    """D19."""

    async def main() -> list[MediaEvent]:
        async with one_call() as call:
            listening = asyncio.create_task(call.say(silence(22.4)))
            await call.bot_says(1, tone(22.0))
            await listening
            await call.say(speech("price01.wav") + silence(1.5))
            return call.events

    events = virtual_time(main())
    started, finished, heard, *_ = events
    assert isinstance(started, PlayoutStarted)
    assert isinstance(finished, PlayoutFinished)
    assert isinstance(heard, SpeechStarted)
    assert finished.at - started.at == pytest.approx(22.0, abs=0.021)
    assert heard.at - finished.at < 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_loss_swaps_doubles_and_a_wrap_leave_the_time_as_it_was(virtual_time: RunVirtual, seed: int) -> None:
    """D16: 5 % lost, neighbours swapped, some doubled, the numbers wrap; what is late is counted and not played."""
    said_s = 6.0
    bad = Impairment(
        loss=0.05, duplicate=0.1, reorder_every=7, reorder_by=1, rewrite=NumberedFrom(65_400, 2**32 - 20_000)
    )

    async def main() -> tuple[bytes, MediaStats]:
        async with one_call() as call:
            await call.say(silence(1.0) + tone(said_s) + silence(1.0), Network(bad, seed))
            return call.caller_pcm, call.session.stats()

    pcm, stats = virtual_time(main())
    frames = np.frombuffer(pcm[: len(pcm) // 320 * 320], "<i2").reshape(-1, 160).astype(float)
    loud = np.flatnonzero(np.sqrt(np.square(frames).mean(axis=1)) > 300)
    assert (loud[-1] - loud[0] + 1) * 0.02 == pytest.approx(said_s, abs=0.041)
    assert len(loud) == loud[-1] - loud[0] + 1, "no gap"
    assert stats.lost > 0
