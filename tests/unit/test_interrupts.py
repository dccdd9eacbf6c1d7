"""Ctrl-C and SIGTERM, sent to real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CANCELLED = """
import asyncio, sys
from voicebot.interrupts import run_until_interrupted

async def main(hurry):
    print("up", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("cleaning", flush=True)
        await asyncio.wait_for(hurry.wait(), 30) if "slow" in sys.argv else None
        print("clean", flush=True)

sys.exit(run_until_interrupted(main, lambda: print("stopping", flush=True)))
"""
TOLD = """
import asyncio, sys
from voicebot.interrupts import run_until_told

async def main(stop):
    print("up", flush=True)
    await stop.wait()
    print("draining", flush=True)
    await asyncio.sleep(0 if "idle" in sys.argv else 30)
    print("drained", flush=True)

sys.exit(run_until_told(main))
"""


@contextmanager
def program(code: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


def lines_until(process: "subprocess.Popen[str]", last: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if lines[-1] == last:
            break
    return lines


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)]
)
def test_the_first_signal_cancels(number: signal.Signals, status: int) -> None:
    with program(CANCELLED) as process:
        process.send_signal(number)
        assert lines_until(process, "") == ["stopping", "cleaning", "clean"]
        assert process.wait(10) == status


def test_the_second_hurries_the_clean_up() -> None:
    with program(CANCELLED, "slow") as process:
        process.send_signal(signal.SIGINT)
        assert lines_until(process, "cleaning") == ["stopping", "cleaning"]
        process.send_signal(signal.SIGINT)
        assert lines_until(process, "") == ["clean"]
        assert process.wait(10) == 130


def test_told_once_it_ends_by_itself() -> None:
    with program(TOLD, "idle") as process:
        process.send_signal(signal.SIGTERM)
        assert lines_until(process, "") == ["draining", "drained"]
        assert process.wait(10) == 0


def test_told_twice_it_is_cancelled() -> None:
    with program(TOLD) as process:
        process.send_signal(signal.SIGINT)
        assert lines_until(process, "draining") == ["draining"]
        process.send_signal(signal.SIGINT)
        assert lines_until(process, "") == []
        assert process.wait(10) == 130
