"""The media benchmark's two processes: what they say to each other, and that its figures mean what they say."""

import asyncio
import sys
from pathlib import Path

import pytest

from benchmarks.media_load.subject import SubjectError, cpu_s, family, rss_mib, started

ROOT = Path(__file__).parents[2]
CALLERS = [sys.executable, "-m", "benchmarks.media_load.callers"]
OURS = [sys.executable, "-m", "benchmarks.media_load.ours"]


async def test_two_calls_are_answered_and_counted() -> None:
    async with started("ours", OURS, ROOT) as subject, started("callers", CALLERS, ROOT) as callers:
        await callers.tell({"streams": 2})
        peers = (await callers.hear("listening"))["listening"]
        await subject.tell({"open": 2, "peers": peers, "codec": "ulaw"})
        listening = (await subject.hear("listening"))["listening"]
        assert len({tuple(address) for address in listening}) == 2
        before = cpu_s(subject.pid)
        await callers.tell({"send_to": listening, "seconds": 1.5, "skip": 0.5})
        sent = await callers.hear("sent")
        assert 0 < cpu_s(subject.pid) - before < 60
        assert rss_mib(subject.pid) > 10
        await subject.tell({"close": True})
        said = await subject.hear("heard")
    assert sent["sent"] == 150
    assert 100 <= said["heard"] <= 150
    assert (sent["missing"], sent["mute"]) == (0, 0)
    assert said["underruns"] >= 0
    assert sent["received"] >= 30
    assert sent["gap_ms"]["p50"] == pytest.approx(20, abs=10)


PARENT = (
    "import subprocess, sys; print('{\"ready\": true}', flush=True); "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
    "sys.stdin.readline(); child.kill(); child.wait()"
)


async def child_of(pid: int) -> int:
    async with asyncio.timeout(20):
        while len(family(pid)) < 2:  # noqa: ASYNC110 - another process has no Event
            await asyncio.sleep(0.02)
    return family(pid)[1]


async def test_children_are_counted_too() -> None:
    async with started("parent", [sys.executable, "-c", PARENT]) as subject:
        await child_of(subject.pid)
        await subject.tell({})
    assert family(subject.pid) == [subject.pid]


async def test_a_subject_that_is_killed_leaves_no_child() -> None:
    child = 0
    with pytest.raises(ZeroDivisionError):
        async with started("parent", [sys.executable, "-c", PARENT]) as subject:
            child = await child_of(subject.pid)
            raise ZeroDivisionError
    async with asyncio.timeout(20):
        # nobody may be there to reap it
        while is_running(child):  # noqa: ASYNC110 - another process has no Event
            await asyncio.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("print('hello')", "wrote b'hello"),
        ("print('[1]')", "instead of 'ready'"),
        ("pass", "wrote b'' instead"),
        ("print('{\"ready\": true}'); raise SystemExit(3)", "ended with status 3"),
    ],
)
async def test_a_subject_that_does_not_keep_to_it_is_named(code: str, says: str) -> None:
    with pytest.raises(SubjectError, match=f"^odd .*{says}"):
        async with started("odd", [sys.executable, "-c", code]):
            pass
