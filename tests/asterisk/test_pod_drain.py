"""What Kubernetes does to a pod of the call processes, done to the process itself, on a real Asterisk (P10).

No kubelet is to be had from a package registry: tests/support/pod.py runs the manifests' own command, probes, `preStop`
and grace period.
"""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest_asyncio

from caller_phone.call import Call
from caller_phone.phone import Phone
from caller_phone.script import Say, WaitAnswer, run_script
from tests.support.bot import nothing_left
from tests.support.callers import dial, until
from tests.support.fake_workers import FakeWorkers, fake_workers
from tests.support.pod import WORKERS_KEY, Pod, Site, logs, manifest, pod
from tests.support.rig import private_asterisk, two_ports
from tests.support.speech import QUESTION
from voicebot.asterisk import AsteriskProcess


@pytest_asyncio.fixture
async def asterisk() -> AsyncIterator[AsteriskProcess]:
    """With the dialplan told how many pods there are."""
    async with private_asterisk(bot_processes=manifest("StatefulSet")["spec"]["replicas"]) as process:
        yield process


@pytest_asyncio.fixture
async def workers() -> AsyncIterator[FakeWorkers]:
    async with fake_workers() as fakes:
        for fake in (fakes.stt, fakes.tts):
            fake.api_key = WORKERS_KEY
        fakes.stt.answers = ["How much is the walrus?"]
        fakes.llm.replies = ["The walrus is nineteen dollars."]
        yield fakes


async def ready(one: Pod) -> bool:
    return await one.passes("readinessProbe")


async def idle(one: Pod) -> bool:
    return await one.calls() == 0


async def gone(one: Pod) -> bool:
    return not await one.passes("readinessProbe")


async def answered(call: Call) -> bool:
    (turn,) = (await run_script(call, [Say(QUESTION), WaitAnswer()])).turns
    return turn.answered


async def test_a_pod_that_is_deleted_takes_calls_until_sigterm_and_finishes_its_own(
    asterisk: AsteriskProcess, workers: FakeWorkers, tmp_path: Path
) -> None:
    site = Site(asterisk, workers, tmp_path, two_ports())
    site.write_config()
    async with (
        Phone() as phone,
        AsyncExitStack() as stack,
        pod(site, 0) as first,
        pod(site, 1) as second,
    ):
        for one in (first, second):
            await until(lambda one=one: one.passes("startupProbe"))  # type: ignore[misc]
            await until(lambda one=one: ready(one))  # type: ignore[misc]
        # which pod has a call is drawn by lot
        others: list[Call] = []
        while not await second.calls():
            others += await dial(stack, phone, asterisk, 1)
        its = others.pop()
        async with second.deleted() as end:
            assert await ready(second), "preStop: still as ever"
            await until(lambda: gone(second))
            assert await second.passes("livenessProbe"), "one that drains is not restarted"
            # the other one takes whoever comes now
            later = await dial(stack, phone, asterisk, 3)
            assert await second.calls() == 1
            assert await first.calls() == len(others) + len(later)
            assert await answered(its)
            assert not end.done()
            await its.hang_up()
            # long before the grace period is over
            await until(end.done)
            assert end.result() == 0
        async with pod(site, 1) as new:
            await until(lambda: ready(new))
            # the other one can go now; no caller has noticed anything
            for call in (*others, *later):
                assert call.is_up
                await call.hang_up()
            await until(lambda: idle(first))
    await nothing_left(asterisk)
    told = "".join(logs(site))
    ended = re.findall(r'"cause": ?"(\w+)"', told)
    assert ended == ["caller_hung_up"] * (len(others) + 4), "nobody was cut off"
    assert "Traceback" not in told
