"""Ctrl-C and SIGTERM, sent to real processes."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0

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


AS_UP = """
import asyncio, sys
from pathlib import Path
from voicebot.interrupts import run_until_interrupted
from voicebot.supervise import Backoff, Child, supervised
from voicebot.terminal import complain, say

async def main(hurry):
    # a part that ends again and again: each time it is said
    code = f"open({sys.argv[1]!r}, 'a').write('x')"
    child = Child("part", (sys.executable, "-c", code), Path(sys.argv[1] + ".log"))
    async with supervised([child], say, hurry, Backoff(first_s=0.01, longest_s=0.02)) as (part,):
        part.was_ready = True
        say("up")
        await asyncio.Event().wait()

status = run_until_interrupted(main, lambda: complain("stopping"))
say("All stopped.")
sys.exit(status)
"""
NOHUP = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
"""
HANGS_UP = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
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


class TestNobodyListens:
    """`voicebot up` whose terminal or pipe is gone: the parts go on, and it can still be stopped."""

    def test_a_terminal_that_hangs_up_ends_it(self, tmp_path: Path) -> None:
        ours, its = pty.openpty()
        with started(HANGS_UP + AS_UP, tmp_path, its, stdin=its) as process:
            goes_on(tmp_path)
            os.close(ours)
            assert process.wait(PATIENCE_S) == 0

    def test_below_nohup_a_terminal_that_hangs_up_does_not(self, tmp_path: Path) -> None:
        ours, its = pty.openpty()
        with started(NOHUP + HANGS_UP + AS_UP, tmp_path, its, stdin=its) as process:
            goes_on(tmp_path)
            os.close(ours)
            goes_on(tmp_path)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0

    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
    def test_a_pipe_without_a_reader_ends_nothing(
        self, number: signal.Signals, status: int, tmp_path: Path
    ) -> None:
        read_end, write_end = os.pipe()
        with started(AS_UP, tmp_path, write_end) as process:
            goes_on(tmp_path)
            os.close(read_end)
            goes_on(tmp_path)
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == status


@contextmanager
def started(
    code: str, folder: Path, output: int, stdin: int | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """With `output`, which is closed here, as its standard output and error."""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "starts")],
        stdin=stdin,
        stdout=output,
        stderr=output,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        os.close(output)
        try:
            yield process
        finally:
            process.kill()


def goes_on(folder: Path) -> None:
    """It has said of two ends more that there is one."""
    counter = folder / "starts"

    def starts() -> int:
        return counter.stat().st_size if counter.exists() else 0

    until, give_up_at = starts() + 3, time.monotonic() + PATIENCE_S
    while starts() < until:
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def test_what_comes_first_may_fail() -> None:
    with program(CANCELLED.replace('print("stopping", flush=True)', "1 / 0")) as process:
        process.send_signal(signal.SIGTERM)
        assert lines_until(process, "") == ["cleaning", "clean"]
        assert process.wait(10) == 0


def test_a_hang_up_that_is_ignored_from_the_start_stays_ignored() -> None:
    ignored = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    with program(ignored + CANCELLED) as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert lines_until(process, "") == ["stopping", "cleaning", "clean"]
        assert process.wait(10) == 0, "the first signal was the second one sent"
